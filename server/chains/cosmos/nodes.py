"""The pages of one list of the SDK's REST gateway (`pagination.key`, `pagination.next_key`).

The key of a page is the place in the node's store where it begins, so no page repeats a row of another one, and only
the last one may be empty. Some caches and proxies ignore the key and always answer the first page.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from server.chains.cosmos.answers import LATEST, parse_head
from server.chains.shared.validated_reads import Doubtful, ask_validated, read_validated
from server.chains.view import NO_BLOCK, BlockAnswer, read_newest
from server.errors import (
    ArchiveRequired,
    DeadlineExceeded,
    GatewayError,
    HeightMissing,
    InvalidArgument,
    NotFound,
    NotSupported,
    UpstreamUnavailable,
)
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from server.chains.cosmos.answers import SdkVersion
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool


Row = TypeVar("Row")

_MOST_PAGES = 50


class _Pagination(msgspec.Struct):
    next_key: str | None = None


class _Paged(msgspec.Struct):
    pagination: _Pagination | None = None


_paged = msgspec.json.Decoder(_Paged)


class PageWalk(Generic[Row]):
    """One way through a list, page by page; `name` identifies a row."""

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


Answer = TypeVar("Answer")

HEIGHT_HEADER = "x-cosmos-block-height"
_PAGE_ROWS = "200"
_PLAIN = CallPolicy()


class CosmosNodes:
    """Asks the nodes of one chain, and other endpoints where an answer cannot be read."""

    def __init__(self, facts: ChainFacts, rest: RestPool, comet: Pool, version: SdkVersion) -> None:
        self.facts = facts
        self.slug = facts.slug
        self.rest = rest
        self.comet = comet
        self.version = version

    async def get(
        self,
        route: str,
        view: ReadView,
        read: Callable[[bytes], Answer],
        *,
        path: str | None = None,
        query: Sequence[tuple[str, str]] = (),
    ) -> Answer:
        """Return what `read` makes of the REST gateway's answer about the state at the view's block; settles the view.

        `path` is the route with its arguments. An answer at which `read` raises ValueError or msgspec's error is asked
        of another endpoint. Where an answer does not state its block the view stays open.
        """
        return await self._get(route, view, lambda got: read(got.result), path or route, query, _PLAIN)

    async def get_document(
        self,
        route: str,
        view: ReadView,
        read: Callable[[bytes], Answer],
        *,
        path: str,
        policy: CallPolicy = _PLAIN,
    ) -> Answer:
        """Return what `read` makes of an answer about something that does not change with the newest block."""
        answer, _ = await self._ask(route, path, (), (), lambda got: read(got.result), policy, view)
        return answer

    async def pages(
        self,
        route: str,
        view: ReadView,
        read: Callable[[bytes], list[Row]],
        name: Callable[[Row], str],
        *,
        path: str,
        query: Sequence[tuple[str, str]] = (),
    ) -> list[Row]:
        """Return the rows of every page of a list, all at one block and from one endpoint where it can.

        `name` identifies a row: the list holds each once. An endpoint whose pages repeat rows, never end or
        cannot be requested is rejected: the whole list is asked of another one.

        Raises UpstreamUnavailable where no endpoint answers such a list.
        """
        walk = PageWalk(read, name)

        async def ask(policy: CallPolicy) -> Reply:
            walk.begin()
            while True:
                asked = [*query, ("pagination.limit", _PAGE_ROWS), *walk.key]
                try:
                    reply = await self._get(route, view, walk.read_page, path, asked, policy)
                except HeightMissing:
                    raise
                except (InvalidArgument, NotFound, NotSupported):
                    # On a later page this is about the key, which is a node's own.
                    if walk.last is None:
                        raise
                    return walk.last
                if not walk.take(reply):
                    return reply

        rows, _ = await ask_validated(self.rest, route, ask, lambda _: walk.rows())
        return rows

    async def call(
        self,
        method: str,
        params: Mapping[str, str],
        view: ReadView,
        read: Callable[[bytes], Answer],
        policy: CallPolicy = _PLAIN,
    ) -> Answer:
        """Return what `read` makes of the answer of the CometBFT RPC; see `get`."""
        named: Any = params
        answer, _ = await read_validated(self.comet, method, named, read, policy, deadline=view.deadline)
        return answer

    async def ask_either(self, rest: Callable[[], Awaitable[Answer]], comet: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what `rest` reads of the REST gateway, else what `comet` reads of the CometBFT RPC.

        The second is asked where the chain has no REST endpoint, or where none of them answers, in time or at all, or
        none can: not where they answer with what cannot be the answer, which is not to pass unnoticed. Raises as
        `rest` where both fail, but NotFound where the first did not answer and the second does not have it.
        """
        if not self.rest.labels and self.comet.labels:
            return await comet()
        try:
            return await rest()
        except (UpstreamUnavailable, DeadlineExceeded, NotSupported) as error:
            if not self.comet.labels or (isinstance(error, UpstreamUnavailable) and error.is_unsound):
                raise
            refusal = copy.copy(error)
        try:
            return await comet()
        except NotFound:
            if not isinstance(refusal, NotSupported):
                raise
        except GatewayError:
            pass
        raise refusal

    async def _get(
        self,
        route: str,
        view: ReadView,
        read: Callable[[Reply], Answer],
        path: str,
        query: Sequence[tuple[str, str]],
        policy: CallPolicy,
    ) -> Answer:
        if view.block is not None:
            return await self._get_pinned(view.block, route, path, query, read, view, policy)

        async def newest(avoid: frozenset[str]) -> BlockAnswer[Answer]:
            steered = replace(policy, prefer=view.endpoint, avoid=avoid)
            answer, reply = await self._ask(route, path, query, (), read, steered, view)
            height = _height(reply.headers)
            return BlockAnswer(answer, reply.endpoint, NO_BLOCK if height is None else height)

        block_answer = await read_newest(self.rest, newest)
        if block_answer.block != NO_BLOCK:
            view.settle(block_answer.block, block_answer.endpoint)
        return block_answer.answer

    async def _get_pinned(
        self,
        block: int,
        route: str,
        path: str,
        query: Sequence[tuple[str, str]],
        read: Callable[[Reply], Answer],
        view: ReadView,
        policy: CallPolicy,
    ) -> Answer:
        """Return what `read` makes of an answer about the state at that block.

        Raises HeightMissing and ArchiveRequired (field `blockHeight` where the caller chose the block).
        """
        field = "blockHeight" if view.is_chosen else None
        if block == 0:
            # To nodes it means the newest block.
            raise HeightMissing(f"{self.slug} has no block 0: its blocks begin at 1", field=field)

        def read_pinned(reply: Reply) -> Answer:
            # A cache in front of a node may ignore that the header makes another request.
            if _height(reply.headers) not in (None, block):
                raise ValueError("the state at another block")
            return read(reply)

        headers = ((HEIGHT_HEADER, str(block)),)
        steered = replace(policy, min_block=block, prefer=view.endpoint)
        try:
            answer, _ = await self._ask(route, path, query, headers, read_pinned, steered, view)
        except HeightMissing:
            raise await self._to_come(block, field, view) from None
        except ArchiveRequired as error:
            raise ArchiveRequired(error.message, field=field, oldest_block=error.oldest_block) from None
        return answer

    async def _to_come(self, block: int, field: str | None, view: ReadView) -> GatewayError:
        """Return the error about a block that is not there yet, with the newest one where a node reports it."""
        message = f"block {block} of {self.slug} does not exist yet"
        try:
            head, _ = await read_validated(self.rest, LATEST, [], parse_head, deadline=view.deadline)
        except GatewayError:
            return HeightMissing(message, field=field)
        message = f"{message}: the newest block is {head.height}"
        return HeightMissing(message, field=field, head=head.height)

    async def _ask(
        self,
        route: str,
        path: str,
        query: Sequence[tuple[str, str]],
        headers: Sequence[tuple[str, str]],
        read: Callable[[Reply], Answer],
        policy: CallPolicy,
        view: ReadView,
    ) -> tuple[Answer, Reply]:
        return await ask_validated(
            self.rest,
            route,
            lambda steered: self.rest.get(path, query, headers, steered, name=route, deadline=view.deadline),
            read,
            policy,
        )


def _height(headers: Mapping[str, str]) -> int | None:
    text = headers.get(f"grpc-metadata-{HEIGHT_HEADER}") or headers.get(HEIGHT_HEADER) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
