"""`[cache]`: what is kept of answers, and where."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section
from runtime.settings.values import Duration  # noqa: TC001 - pydantic evaluates the annotation

_MEBIBYTE = 1 << 20
_SCHEMES = ("redis", "rediss")


def _check_redis(value: SecretStr | None) -> SecretStr | None:
    """Return a Redis URL. What it holds is never shown."""
    if value is None:
        return None
    text = value.get_secret_value()
    fix = "give a Redis URL such as redis://redis.internal:6379/0, rediss://... for TLS, or unix:///run/redis.sock"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal(fix) from None
    is_local = parts.scheme == "unix" and parts.path.startswith("/")
    is_remote = parts.scheme in _SCHEMES and bool(parts.hostname) and port != 0
    has_database = is_local or parts.path in ("", "/") or (parts.path[1:].isascii() and parts.path[1:].isdigit())
    if not (is_local or is_remote) or not has_database or any(character.isspace() for character in text):
        raise Refusal(fix)
    return value


class CacheSettings(Section):
    """What is kept of answers. An answer says which block it is of, kept or not."""

    secret_members: ClassVar[tuple[str, ...]] = ("redis_url",)

    max_bytes: int = Field(
        default=64 * _MEBIBYTE,
        ge=0,
        le=1 << 40,
        description="Memory for kept answers, in bytes, in each process; 0 keeps nothing.",
    )
    near_head: Duration = Field(
        default=12.0,
        ge=0,
        le=60,
        description="How long an answer about a block that is not final yet is given again, at most; one block time of "
        "the chain where that is shorter. On the devnet one second at most.",
    )
    redis_url: Annotated[SecretStr | None, AfterValidator(_check_redis)] = Field(
        default=None,
        description="Redis in which several gateways share what they keep: `redis://`, `rediss://` or `unix://`. The "
        "gateway answers without it while it is away.",
    )
    redis_url_env: str | None = Field(default=None, description="Environment variable that holds the URL.")
    redis_url_file: str | None = Field(default=None, description="File that holds the URL.")

    @model_validator(mode="after")
    def _check_memory(self) -> CacheSettings:
        if self.redis_url is not None and self.max_bytes == 0:
            fix = "a shared cache works behind the one in memory: give it some bytes, or remove redis_url"
            raise Refusal(fix, member="max_bytes", value="0")
        return self
