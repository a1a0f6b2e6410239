"""The limits of streams, in the configuration file's table `[streams]`."""

from __future__ import annotations

from pydantic import Field, model_validator

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section
from runtime.settings.values import Duration  # noqa: TC001 - pydantic evaluates the annotations


class StreamSettings(Section):
    """How many streams are open at most; they are no items in progress."""

    max_streams: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Most open streams of one process, over both faces; further ones are refused with UNAVAILABLE. The "
        "clients of the demo may have a tenth of them together.",
    )
    max_streams_per_key: int = Field(
        default=100,
        ge=1,
        le=1_000_000,
        description="Most open streams of one key in one process. A key without a quota is not bound by it.",
    )
    max_streams_per_demo_client: int = Field(
        default=1, ge=1, le=1000, description="Most open streams of one client address on the demo."
    )
    demo_lifetime: Duration = Field(
        default=60.0, gt=0, le=86_400, description="How long a stream of the demo is open at most."
    )

    @model_validator(mode="after")
    def _compare(self) -> StreamSettings:
        if self.max_streams_per_key > self.max_streams and "max_streams_per_key" in self.model_fields_set:
            fix = f"one key cannot have more than max_streams ({self.max_streams})"
            raise Refusal(fix, member="max_streams_per_key", value=str(self.max_streams_per_key))
        return self
