"""Reads the configuration: command line over environment over file over defaults; mistakes become ConfigErrors."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError

from runtime.config_errors import ConfigError, Refusal, did_you_mean
from runtime.logs import redact_text
from runtime.settings.secrets import ENVIRONMENT, Section
from runtime.settings.tree import SOURCES, Settings
from runtime.settings.values import parse_json, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_core import ErrorDetails


PREFIX = "WAYPOST_"
CONFIG = "WAYPOST_CONFIG"

# Short names of what is set most often.
SHORT: dict[str, str] = {"WAYPOST_HTTP_PORT": "http.port", "WAYPOST_GRPC_PORT": "grpc.port"}
# Read by the commands, not part of the settings.
OTHERS = (CONFIG, "WAYPOST_KEY", "WAYPOST_RUNTIME_DIR")


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


# A key that TOML takes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]{1,64}")

Location = tuple[int | str, ...]

# The fix of every kind of mistake that pydantic itself finds.
FIXES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "this is required: add it",
    "bool_parsing": lambda _: "give true or false",
    "bool_type": lambda _: "give true or false",
    "int_parsing": lambda _: "give a whole number",
    "int_type": lambda _: "give a whole number",
    "int_from_float": lambda _: "give a whole number",
    "float_parsing": lambda _: "give a number",
    "float_type": lambda _: "give a number",
    "finite_number": lambda _: "give a finite number",
    "string_type": lambda _: "give text, in quotes",
    "path_type": lambda _: "give a path as text, in quotes",
    "dict_type": lambda _: "give a table",
    "model_type": lambda _: "give a table",
    "tuple_type": lambda _: "give a list",
    "literal_error": lambda found: f"choose {found['expected']}",
    "greater_than": lambda found: f"give a number greater than {found['gt']:g}",
    "greater_than_equal": lambda found: f"give a number not below {found['ge']:g}",
    "less_than": lambda found: f"give a number less than {found['lt']:g}",
    "less_than_equal": lambda found: f"give a number not above {found['le']:g}",
}


def explain(error: ValidationError, sources: Sequence[Mapping[str, Any]], origin: Callable[[str], str]) -> ConfigError:
    """Return the first mistake as ConfigError with the others attached.

    `sources` are the nested values that were validated, strongest first; `origin` returns where the value of a dotted
    key came from.
    """
    found = [_explain_one(details, sources, origin) for details in error.errors(include_url=False)]
    return ConfigError(found[0].key, found[0].value, found[0].fix, origin=found[0].origin, others=found[1:])


def dotted(location: Location) -> str:
    """Return `("chains", "base", "endpoints", 0, "url")` as `chains.base.endpoints[0].url`."""
    key = ""
    for part in location:
        if isinstance(part, int):
            key += f"[{part}]"
        else:
            name = redact_text(part)
            name = name if _BARE.fullmatch(name) else shown(name)
            key += f".{name}" if key else name
    return key


def _explain_one(
    details: ErrorDetails, sources: Sequence[Mapping[str, Any]], origin: Callable[[str], str]
) -> ConfigError:
    location = details["loc"]
    refusal = details.get("ctx", {}).get("error")
    key, value = dotted(location), _shown(location, details["input"])
    if isinstance(refusal, Refusal):
        if refusal.member:
            key = f"{key}.{refusal.member}" if key else refusal.member
            value = redact_text(shown(_given(_input_member(details["input"], refusal.member))))
        value = value if refusal.value is None else redact_text(refusal.value)
        fix = refusal.fix
    elif details["type"] == "extra_forbidden":
        fix = f"there is no such key{did_you_mean(str(location[-1]), _known(location[:-1]))}: remove or rename it"
    else:
        describe = FIXES.get(details["type"])
        fix = describe(details.get("ctx", {})) if describe else details["msg"]
        value = "" if details["type"] == "missing" else value
    label = _label(location, sources)
    value = f"{value} (endpoint {label})".lstrip() if label else value
    return ConfigError(key, value, fix, origin=origin(key))


def _shown(location: Location, value: Any) -> str:
    return "(hidden)" if _is_secret(location) else redact_text(shown(value))


def _given(value: Any) -> Any:
    return "" if value is None else value


def _input_member(value: Any, member: str) -> Any:
    return value.get(member) if isinstance(value, dict) else getattr(value, member, None)


def _is_secret(location: Location) -> bool:
    model, last = _model_at(location[:-1]), location[-1] if location else ""
    if model is None or last not in model.model_fields:
        # An unknown key may be a misspelt secret: its name is shown, its value is not.
        return model is not None
    return _holds(model.model_fields[str(last)].annotation, SecretStr)


def _known(location: Location) -> list[str]:
    model = _model_at(location)
    return list(model.model_fields) if model is not None else []


def _model_at(location: Location) -> type[BaseModel] | None:
    """Return the model that the location lies in, walking through lists and tables by position."""
    annotation: Any = Settings
    for part in location:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            annotation = field.annotation if field is not None else None
        else:
            annotation = next((inner for inner in reversed(get_args(annotation)) if inner is not Ellipsis), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _holds(annotation: Any, wanted: type) -> bool:
    return annotation is wanted or any(_holds(inner, wanted) for inner in get_args(annotation))


def _label(location: Location, sources: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the label of the endpoint that the location lies in, in quotes."""
    if len(location) < 4 or location[0] not in ("chains", "sources") or not isinstance(location[3], int):
        return None
    for values in sources:
        node: Any = values
        try:
            for part in location[:4]:
                node = parse_json(node[part])
            return redact_text(shown(str(node["label"])))
        except (KeyError, IndexError, TypeError, Refusal):
            continue
    return None


def load_settings(
    path: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    content: bytes | None = None,
) -> Settings:
    """Return the settings; with no file and no variables the defaults, on profile mainnet.

    `path` is a TOML file, else `WAYPOST_CONFIG` names it; `environ` defaults to the process's environment;
    `overrides` are nested values that win over both (command-line options); `content` stands for what the file holds,
    which is then not read. Raises ConfigError with every mistake found.
    """
    environ = os.environ if environ is None else environ
    file = path if path is not None else environ.get(CONFIG) or None
    table = read_file(file, content) if file is not None else {}
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


def read_file(path: str | os.PathLike[str], content: bytes | None = None) -> dict[str, Any]:
    """Return the tables of a TOML file, or of its `content`; raises ConfigError when it cannot be read or parsed."""
    try:
        return tomllib.loads((Path(path).read_bytes() if content is None else content).decode())
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
