"""The network calendar: releases of node software and upgrades of networks.

One dated TOML file per chain, named by its slug, with the day it was last reviewed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.catalog.data_file import DataFile, FileMistake, FilesRefused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from runtime.settings import Settings

KINDS = ("release", "upgrade")
"""`release` is of node software, `upgrade` one of a network's rules."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """One release or upgrade; `at` carries UTC, None where it is bound to a block or not fixed yet.

    Where only a day was announced, `at` is its beginning. `url` is where it was announced.
    """

    chain: str
    kind: str
    name: str
    description: str
    at: datetime | None
    block_height: int | None
    url: str


class Calendar:
    """Announcements, oldest first, those without a time last by chain and block; `chains` gives the chains' order."""

    def __init__(self, announcements: Iterable[Announcement], chains: Collection[str]) -> None:
        places = {slug: place for place, slug in enumerate(chains)}

        def rank(one: Announcement) -> tuple[bool, float, int, float, str]:
            moment = 0.0 if one.at is None else one.at.timestamp()
            block = float("inf") if one.block_height is None else one.block_height
            return one.at is None, moment, places[one.chain], block, one.name

        self.announcements = tuple(sorted(announcements, key=rank))

    def select(
        self, chain: str | None = None, kind: str | None = None, first: date | None = None, last: date | None = None
    ) -> list[Announcement]:
        """Return those of a chain and kind within the days from `first` to `last` (UTC), in order.

        Where a day is given, what has no time is left out.
        """
        return [
            one
            for one in self.announcements
            if (chain is None or one.chain == chain)
            and (kind is None or one.kind == kind)
            and (first is None or (one.at is not None and one.at.date() >= first))
            and (last is None or (one.at is not None and one.at.date() <= last))
        ]


DATA = Path(__file__).parent / "data" / "calendar"

_LARGEST_BLOCK = (1 << 53) - 1
_ENTRIES = ("reviewed", "entries")
_ENTRY_ENTRIES = ("kind", "name", "description", "at", "block_height", "url")


def read_calendar(chains: Collection[str], own: Path | None = None) -> Calendar:
    """Return the built-in calendar with the files of the operator's own folder; `chains` are all slugs.

    An own announcement of the same chain, kind and name as a built-in one takes its place. Raises FilesRefused with
    every mistake.
    """
    mistakes: list[FileMistake] = []
    found = _read_folder(DATA, chains, mistakes)
    if own is not None:
        found |= _read_folder(own, chains, mistakes)
    if mistakes:
        raise FilesRefused(mistakes)
    return Calendar(found.values(), chains)


def _read_folder(
    folder: Path, chains: Collection[str], mistakes: list[FileMistake]
) -> dict[tuple[str, str, str], Announcement]:
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        mistakes.append(FileMistake(folder.name, "", "there is no folder of that name with a file <chain>.toml in it"))
    found: dict[tuple[str, str, str], Announcement] = {}
    for path in paths:
        file = DataFile(path, mistakes)
        if not file.is_read:
            continue
        if file.stem not in chains:
            file.report("", f"name the file by a chain's slug: {', '.join(chains)}")
        for where, one in _read_file(file):
            key = (one.chain, one.kind, one.name)
            if key in found:
                file.report(f"{where}.name", f"another {one.kind} of this chain has this name: remove one")
            found[key] = one
    return found


def _read_file(file: DataFile) -> Iterator[tuple[str, Announcement]]:
    file.refuse_others(file.table, _ENTRIES)
    reviewed = file.table.get("reviewed")
    if not isinstance(reviewed, date) or isinstance(reviewed, datetime):
        file.report("reviewed", "write the day on which the file was last reviewed, such as 2026-11-20")
    rows = file.table.get("entries")
    if not isinstance(rows, list) or not rows:
        file.report("entries", "write at least one [[entries]] table")
        return
    for position, row in enumerate(rows):
        where = f"entries[{position}]"
        if isinstance(row, dict):
            yield where, _read_entry(file, where, row)
        else:
            file.report(where, "write an [[entries]] table")


def _read_entry(file: DataFile, where: str, row: Mapping[str, Any]) -> Announcement:
    file.refuse_others(row, _ENTRY_ENTRIES, where)
    block = row.get("block_height")
    if block is not None and (type(block) is not int or not 0 <= block <= _LARGEST_BLOCK):
        file.report(f"{where}.block_height", "write a block number, or leave it out")
    return Announcement(
        chain=file.stem,
        kind=file.word(row, "kind", KINDS, where),
        name=file.text(row, "name", where),
        description=file.text(row, "description", where),
        at=_read_time(file, f"{where}.at", row.get("at")),
        block_height=block,
        url=file.address_of_page(row, "url", where),
    )


def _read_time(file: DataFile, where: str, value: Any) -> datetime | None:
    if isinstance(value, datetime) and value.tzinfo is not None and value.year > 1:  # room for a zone's hours
        return value.astimezone(UTC)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value is not None:
        file.report(where, "write a time with its zone such as 2026-01-31T16:00:00Z, or a day such as 2026-01-31")
    return None


def open_calendar(settings: Settings, chains: Collection[str]) -> Calendar:
    """Return the built-in announcements with those of `calendar.entries`; `chains` are all slugs in their order.

    Raises ConfigError with every mistake in the operator's files.
    """
    folder = settings.calendar.entries
    try:
        return read_calendar(chains, folder)
    except FilesRefused as refused:
        raise refused.of_setting("calendar.entries", folder) from None
