"""Rows of all pages of an answer, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator


@dataclass(frozen=True)
class Page:
    """Where an operation's pages are: the request's field of the place, the answer's field of the next, and the rows.

    `inside` is the message of the answer that holds both, empty for the answer itself.
    """

    place: str
    next_place: str
    rows: str
    inside: str = ""

    def read(self, answer: Any) -> tuple[Any, str]:
        """Return the rows of an answer and the place of the next page, empty after the last one."""
        part = getattr(answer, self.inside) if self.inside else answer
        return getattr(part, self.rows), getattr(part, self.next_place)


def iterate(ask: Callable[[dict[str, Any]], Any], fields: dict[str, Any], page: Page) -> Iterator[Any]:
    """Yield the rows of all pages; the next page is asked for when it is needed."""
    while True:
        rows, place = page.read(ask(fields))
        yield from rows
        if not place or place == fields.get(page.place):
            return
        fields = {**fields, page.place: place}


async def iterate_async(
    ask: Callable[[dict[str, Any]], Awaitable[Any]], fields: dict[str, Any], page: Page
) -> AsyncIterator[Any]:
    """Yield the rows of all pages; the next page is asked for when it is needed."""
    while True:
        rows, place = page.read(await ask(fields))
        for row in rows:
            yield row
        if not place or place == fields.get(page.place):
            return
        fields = {**fields, page.place: place}
