"""Configuration from environment variables: `WAYPOST_<SECTION>__<KEY>` and a few short names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from runtime.config_errors import ConfigError, did_you_mean
from runtime.settings.secrets import Section
from runtime.settings.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "WAYPOST_"
CONFIG = "WAYPOST_CONFIG"

# Short names of what is set most often.
SHORT: dict[str, str] = {"WAYPOST_HTTP_PORT": "http.port", "WAYPOST_GRPC_PORT": "grpc.port"}
# Read by the commands, not part of the settings.
OTHERS = (CONFIG, "WAYPOST_KEY")


def variable_of(key: str) -> str:
    """Return the environment variable of a dotted key: `http.port` is `WAYPOST_HTTP__PORT`."""
    return PREFIX + key.replace(".", "__").upper()


def read_environment(environ: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that the environment holds, nested, and the variable of each dotted key.

    Empty variables count as unset. Raises ConfigError for a variable that names no setting: one with `__` whose
    section does not exist, a whole section, or one so near to a known name that it must be a slip. Others beginning
    with `WAYPOST_` are left alone: they may be named by `*_env` members or set by a container platform.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or not environ[name]:
            continue
        key = _key_of(name)
        if key is None:
            continue
        if key in origins and environ[origins[key]] != environ[name]:
            raise ConfigError(key, name, f"{origins[key]} says something else: set only one of the two")
        origins[key] = name
        _put(values, key.split("."), environ[name], name)
    return values, origins


def _key_of(name: str) -> str | None:
    if name in SHORT:
        return SHORT[name]
    head, *rest = name.removeprefix(PREFIX).lower().split("__")
    field = Settings.model_fields.get(head)
    if field is not None and (rest or not _is_section(head)):
        return ".".join([head, *rest])
    if rest:
        known = [variable_of(section) for section in Settings.model_fields]
        guess = did_you_mean(PREFIX + head.upper(), known)
        raise ConfigError(name, "", f"there is no section [{head}]{guess}", origin="the environment")
    if field is not None:
        first = next(iter(_section_fields(head)), "<slug>")
        fix = f"a section is set key by key: set variables such as {variable_of(f'{head}.{first}')}"
        raise ConfigError(name, "", fix, origin="the environment")
    plain = [variable_of(field) for field in Settings.model_fields if not _is_section(field)]
    if name not in OTHERS:
        slips = difflib.get_close_matches(name, [*plain, *SHORT, *OTHERS], n=1, cutoff=0.9)
        if slips:
            raise ConfigError(name, "", f'nothing has this name (did you mean "{slips[0]}"?)', origin="the environment")
    return None


def _is_section(name: str) -> bool:
    return name not in ("profile", "workers")


def _section_fields(name: str) -> list[str]:
    annotation = Settings.model_fields[name].annotation
    return list(annotation.model_fields) if isinstance(annotation, type) and issubclass(annotation, Section) else []


def _put(values: dict[str, Any], path: list[str], value: str, variable: str) -> None:
    for part in path[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            raise ConfigError(variable, "", "another variable sets what holds this one: set only one of the two")
    if isinstance(values.get(path[-1]), dict):
        raise ConfigError(variable, "", "another variable sets a part of this one: set only one of the two")
    values[path[-1]] = value
