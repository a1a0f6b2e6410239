"""The capability to read price feeds that live on a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from server.catalog.feeds import Feed
    from server.chains.view import ReadView


@dataclass(frozen=True, slots=True)
class Quote:
    """A price in US dollars as a contract tells it; `told_at` is when it was reported (unix), None if unknown."""

    price: Decimal
    told_at: int | None


class ReadsFeeds(Protocol):
    """Can read price feeds that live on the chain."""

    async def read_feeds(self, feeds: Sequence[Feed], view: ReadView) -> list[Quote | None]:
        """Return what each feed tells, None for one that tells nothing usable."""
        ...
