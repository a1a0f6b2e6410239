"""`[marketplace]`: which contracts are published besides the built-in ones."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic evaluates the annotation

from pydantic import Field

from runtime.settings.secrets import Section


class MarketplaceSettings(Section):
    """Contracts whose functions and events are methods of their own."""

    apps: Path | None = Field(
        default=None,
        description="Directory of your own apps, a folder each, published beside the built-in ones. `waypost apps "
        "check` validates one.",
    )
