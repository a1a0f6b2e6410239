"""The calendar that the settings ask for, its mistakes told as mistakes of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.catalog.calendar.reading import read_calendar
from server.catalog.mistakes import FilesRefused

if TYPE_CHECKING:
    from collections.abc import Collection

    from runtime.settings import Settings
    from server.catalog.calendar.entries import Calendar


def open_calendar(settings: Settings, chains: Collection[str]) -> Calendar:
    """Return the built-in announcements with those of `calendar.entries`; `chains` are all slugs in their order.

    Raises ConfigError with every mistake in the operator's files.
    """
    folder = settings.calendar.entries
    try:
        return read_calendar(chains, folder)
    except FilesRefused as refused:
        raise refused.of_setting("calendar.entries", folder) from None
