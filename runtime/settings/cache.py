"""`[cache]`: what is kept of answers, and where."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section
from runtime.settings.values import Duration, RedisUrl  # noqa: TC001 - pydantic evaluates the annotations

_MEBIBYTE = 1 << 20


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
    redis_url: RedisUrl | None = Field(
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
