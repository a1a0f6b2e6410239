"""Sections of the configuration, and secrets that come from the environment or from a file."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from runtime.config_errors import Refusal
from runtime.logs import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping

# The environment that `*_env` members refer to; `load_settings` sets it while it validates.
ENVIRONMENT: ContextVar[Mapping[str, str] | None] = ContextVar("waypost_environment", default=None)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Section(BaseModel):
    """One table of the configuration: immutable, unknown keys refused, values never printed by pydantic.

    `secret_members` names the members that may be given as `<member>_env` (name of an environment variable) or
    `<member>_file` (path of a file) instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True)
    secret_members: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        for member in cls.secret_members:
            data = _read_secret(cls, member, data)
        return data


def environment() -> Mapping[str, str]:
    """Return the environment that the configuration is being read with."""
    found = ENVIRONMENT.get()
    return os.environ if found is None else found


def read_variable(name: object, member: str) -> str:
    """Return the value of the environment variable that `member` names; raises Refusal when it is unset or empty."""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise Refusal(
            "this is the NAME of an environment variable (letters, digits, underscores), not the secret itself",
            member=member,
            value="(hidden)",
        )
    value = environment().get(name, "").strip()
    if not value:
        # A key written here by mistake passes for a name.
        shown = redact_text(name)
        raise Refusal(
            f"the environment variable {shown} is not set: set it before the start", member=member, value=shown
        )
    return value


def _read_secret(section: type[Section], member: str, data: dict[str, Any]) -> dict[str, Any]:
    variable, file = f"{member}_env", f"{member}_file"
    sources = [name for name in (member, variable, file) if name in section.model_fields and data.get(name) is not None]
    if len(sources) > 1:
        raise Refusal(f"give only one of {', '.join(sources)}", member=sources[1], value="(hidden)")
    if not sources or sources == [member]:
        return data
    (source,) = sources
    secret = read_variable(data[source], source) if source == variable else _read_file(data[source], source)
    return {**data, member: secret}


def _read_file(path: object, member: str) -> str:
    try:
        text = Path(str(path)).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Refusal(f"the file cannot be read ({why}): give the path of a readable file", member=member) from None
    if not text:
        raise Refusal("the file is empty: write the secret into it", member=member)
    return text
