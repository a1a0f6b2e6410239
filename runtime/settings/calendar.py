"""`[calendar]`: what is announced for networks besides the built-in list."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic evaluates the annotation

from pydantic import Field

from runtime.settings.secrets import Section


class CalendarSettings(Section):
    """Releases and upgrades that getNetworkCalendar tells."""

    entries: Path | None = Field(
        default=None,
        description="Directory of your own announcements, a file `<chain>.toml` each, told beside the built-in ones. "
        "`waypost check` validates them.",
    )
