"""Reads the configuration: command line over environment over file over defaults."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from runtime.config_errors import ConfigError
from runtime.settings.environment import CONFIG, read_environment
from runtime.settings.explain import explain
from runtime.settings.secrets import ENVIRONMENT
from runtime.settings.tree import SOURCES, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_settings(
    path: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings; with no file and no variables the defaults, on profile mainnet.

    `path` is a TOML file, else `WAYPOST_CONFIG` names it; `environ` defaults to the process's environment;
    `overrides` are nested values that win over both (command-line options). Raises ConfigError with every
    mistake found.
    """
    environ = os.environ if environ is None else environ
    file = path if path is not None else environ.get(CONFIG) or None
    table = read_file(file) if file is not None else {}
    variables, origins = read_environment(environ)
    sources: list[dict[str, Any]] = [dict(overrides or {}), variables, table]

    def origin(key: str) -> str:
        whole = key.split("[", maxsplit=1)[0]
        if _has(sources[0], whole):
            return "the command line"
        if whole in origins:
            return f"environment variable {origins[whole]}"
        return str(file) if _has(table, whole) else ""

    reset_environment, reset_sources = ENVIRONMENT.set(environ), SOURCES.set(sources)
    try:
        return Settings()
    except ValidationError as error:
        raise explain(error, sources, origin) from None
    finally:
        SOURCES.reset(reset_sources)
        ENVIRONMENT.reset(reset_environment)


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the tables of a TOML file; raises ConfigError when it cannot be read or parsed."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        fix = f"the configuration file cannot be read ({error.strerror}): give the path of a TOML file"
        raise ConfigError("config", str(path), fix) from None
    except UnicodeDecodeError:
        raise ConfigError("config", str(path), "the file is not UTF-8 text: save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        # The parser names the place, never the text there.
        raise ConfigError("config", str(path), f"the file is not TOML: {error}") from None


def _has(values: Mapping[str, Any], key: str) -> bool:
    node: Any = values
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True
