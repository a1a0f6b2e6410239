"""Turns what validation found into ConfigErrors: dotted key, value as it may be shown, and the fix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, SecretStr

from runtime.config_errors import ConfigError, Refusal, did_you_mean
from runtime.redaction import redact_text
from runtime.settings.tree import Settings
from runtime.settings.values import parse_json, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

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

    `sources` are the nested values that were validated, strongest first; `origin` says where the value of a dotted key
    came from.
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
