"""What is announced for networks, and in which order it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import date, datetime

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
