"""What new settings change in a running gateway, and what they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, SecretStr

from runtime.config_errors import ConfigError
from runtime.logs import redact_text
from runtime.settings.endpoints import RouteSettings
from runtime.settings.values import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime.settings.tree import Settings

CHANGEABLE = (
    "chains",
    "sources",
    "quotas.default_rate",
    "quotas.default_burst",
    "quotas.demo_rate",
    "quotas.demo_burst",
    "streams.max_streams",
    "streams.max_streams_per_key",
    "streams.max_streams_per_demo_client",
    "streams.demo_lifetime",
    "cache.max_bytes",
    "log.level",
    "marketplace.apps",
    "calendar.entries",
)
"""The keys, and sections, that a reload changes."""

# Members of sections by name that are chosen once: without them the section may come and go.
_FIXED_MEMBERS = {"chains": ("mines_at_will",), "sources": ("coins",)}


def changed_keys(before: Settings, after: Settings) -> tuple[str, ...]:
    """Return the dotted keys whose values differ; of chains `chains.<slug>` and the member."""
    return tuple(_differing("", before, after))


def refuse_fixed(before: Settings, after: Settings) -> None:
    """Return when everything that differs can be changed without a restart.

    Raises ConfigError with the others, each with its key and its new value (secrets hidden).
    """
    mistakes = [
        ConfigError(key, _shown(after, key), "this is chosen at the start: restart the gateway, or set it back")
        for key in _fixed_keys(before, after)
    ]
    # A cache that is not there is built into nothing that could use one.
    sizes = before.cache.max_bytes, after.cache.max_bytes
    if 0 in sizes and sizes[0] != sizes[1]:
        fix = "whether there is a cache is chosen at the start: restart the gateway, or give another size"
        mistakes.append(ConfigError("cache.max_bytes", str(sizes[1]), fix))
    if mistakes:
        raise ConfigError(mistakes[0].key, mistakes[0].value, mistakes[0].fix, others=mistakes[1:])


def _fixed_keys(before: Settings, after: Settings) -> Iterator[str]:
    """Yield the keys that differ and are chosen at the start."""
    for key in changed_keys(before, after):
        section, *rest = key.split(".")
        given = before.http.model_fields_set | after.http.model_fields_set
        if key == "http.cors_origins" and "cors_origins" not in given:
            continue  # it follows the profile, which is named
        fixed = _FIXED_MEMBERS.get(section, ())
        if len(rest) > 1 and rest[1] in fixed:
            yield key
        elif fixed and len(rest) == 1:
            # It comes or goes as a whole.
            found = getattr(after, section).get(rest[0]) or getattr(before, section)[rest[0]]
            yield from (f"{key}.{member}" for member in fixed if getattr(found, member))
        if section not in _FIXED_MEMBERS and key not in CHANGEABLE:
            yield key


def _differing(prefix: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, RouteSettings) or isinstance(after, RouteSettings):
        if not isinstance(before, RouteSettings) or not isinstance(after, RouteSettings) or _differ(before, after):
            yield prefix
    elif isinstance(before, BaseModel) and isinstance(after, BaseModel):
        for name in type(after).model_fields:
            yield from _differing(f"{prefix}.{name}" if prefix else name, getattr(before, name), getattr(after, name))
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            if name in before and name in after:
                yield from _differing(f"{prefix}.{name}", before[name], after[name])
            else:
                yield f"{prefix}.{name}"
    elif isinstance(before, tuple) and isinstance(after, tuple) and any(isinstance(one, BaseModel) for one in after):
        same = len(before) == len(after)
        if not same or any(True for one, other in zip(before, after, strict=True) for _ in _differing("", one, other)):
            yield prefix
    elif before != after:
        yield prefix


def _differ(before: RouteSettings, after: RouteSettings) -> bool:
    """Return whether two routes differ, in what their files hold too; how they are found does not matter."""
    terms = [(one.route_key, getattr(one, "weight", 1), getattr(one, "rate", None)) for one in (before, after)]
    return terms[0] != terms[1] or getattr(before, "kind", "") != getattr(after, "kind", "")


def _shown(settings: Settings, key: str) -> str:
    """Return the value of a key as it may be shown: nothing of secrets and of what may hold one."""
    value: Any = settings
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    if isinstance(value, SecretStr):
        return "(hidden)"
    return "" if isinstance(value, BaseModel | dict | tuple) else redact_text(shown("" if value is None else value))
