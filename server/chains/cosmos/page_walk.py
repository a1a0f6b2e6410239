"""The pages of one list of the SDK's REST gateway (`pagination.key`, `pagination.next_key`).

The key of a page is the place in the node's store where it begins, so no page repeats a row of another one, and only
the last one may be empty. Some caches and proxies do not look at the key and answer the first page for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from server.chains.sound_answers import Doubtful
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.connector import Reply

Row = TypeVar("Row")

_MOST_PAGES = 50


class _Pagination(msgspec.Struct):
    next_key: str | None = None


class _Paged(msgspec.Struct):
    pagination: _Pagination | None = None


_paged = msgspec.json.Decoder(_Paged)


class PageWalk(Generic[Row]):
    """One way through a list, page by page; `name` is what a row is known by."""

    def __init__(self, read: Callable[[bytes], list[Row]], name: Callable[[Row], str]) -> None:
        self._read = read
        self._name = name
        self.begin()

    def begin(self) -> None:
        """Go back to the first page."""
        self._rows: dict[str, Row] = {}
        self._pages = 0
        self._key = ""
        self._is_new = self._is_whole = False
        self._page: tuple[list[Row], str] = ([], "")
        self.last: Reply | None = None

    @property
    def key(self) -> list[tuple[str, str]]:
        """The parameter that asks for the next page; none for the first."""
        return [("pagination.key", self._key)] if self._key else []

    def read_page(self, reply: Reply) -> Reply:
        """Return a page as it is; ValueError, or msgspec's error, where it is no page of such rows."""
        page = _paged.decode(reply.result).pagination
        self._page = self._read(reply.result), "" if page is None else page.next_key or ""
        return reply

    def take(self, reply: Reply) -> bool:
        """Take the page that was read last; return whether another one is to be asked for."""
        rows, following = self._page
        self.last = reply
        self._pages += 1
        before = len(self._rows)
        self._rows.update((self._name(row), row) for row in rows)
        self._is_new = len(self._rows) - before == len(rows)
        self._is_whole = self._is_new and not following
        self._key = following
        return self._is_new and bool(following) and bool(rows) and self._pages < _MOST_PAGES

    def rows(self) -> list[Row]:
        """Return the rows of all pages; ValueError where they do not make one list, Doubtful where it does not end."""
        if self._pages == _MOST_PAGES and self._is_new and not self._is_whole:
            raise Doubtful(UpstreamUnavailable(f"the nodes answered with more than {_MOST_PAGES} pages"))
        if not self._is_whole:
            raise ValueError("pages that are not of one list")
        return list(self._rows.values())
