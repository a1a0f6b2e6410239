"""The two faces of a Cosmos node: the SDK's REST gateway and the CometBFT RPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from server.chains.newest import UNTOLD, Told, read_newest
from server.errors import GatewayError, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.chains.cosmos.versions import SdkVersion
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.policy import Reply
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool

Shape = TypeVar("Shape")

HEIGHT_HEADER = "x-cosmos-block-height"
_PAGE_ROWS = "200"
_MOST_PAGES = 50


class Page(NamedTuple):
    """The bytes of one page and the key of the next, None on the last."""

    body: bytes
    following: str | None


class _Pagination(msgspec.Struct):
    next_key: str | None = None


class _Paged(msgspec.Struct):
    pagination: _Pagination | None = None


class CosmosNodes:
    """Asks the nodes of one chain; answers are read as msgspec structs, so integers stay exact."""

    def __init__(self, facts: ChainFacts, rest: RestPool, comet: Pool, version: SdkVersion) -> None:
        self.facts = facts
        self.slug = facts.slug
        self.rest = rest
        self.comet = comet
        self.version = version

    async def get(
        self, route: str, view: ReadView, *, path: str | None = None, query: Sequence[tuple[str, str]] = ()
    ) -> Reply:
        """Return what the REST gateway answers about the state at the view's block, and settle the view there.

        `path` is the route with its arguments. Where an answer does not tell its block the view stays open.
        """
        if view.block is not None:
            headers = ((HEIGHT_HEADER, str(view.block)),)
            policy = CallPolicy(min_block=view.block, prefer=view.endpoint)
            return await self.rest.get(path or route, query, headers, policy, name=route, deadline=view.deadline)

        async def read(avoid: frozenset[str]) -> Told[Reply]:
            policy = CallPolicy(prefer=view.endpoint, avoid=avoid)
            reply = await self.rest.get(path or route, query, (), policy, name=route, deadline=view.deadline)
            height = _height(reply.headers)
            return Told(reply, reply.endpoint, UNTOLD if height is None else height)

        told = await read_newest(self.rest, read)
        if told.block != UNTOLD:
            view.settle(told.block, told.endpoint)
        return told.answer

    async def get_document(self, route: str, view: ReadView, *, path: str, policy: CallPolicy | None = None) -> Reply:
        """Return what the REST gateway answers about something that does not change with the newest block."""
        return await self.rest.get(path, policy=policy or CallPolicy(), name=route, deadline=view.deadline)

    async def pages(
        self, route: str, view: ReadView, *, path: str, query: Sequence[tuple[str, str]] = ()
    ) -> list[bytes]:
        """Return every page of a list, all at one block and from one endpoint where it can.

        Raises UpstreamUnavailable for a list that never ends.
        """
        bodies: list[bytes] = []
        key: str | None = None
        while len(bodies) < _MOST_PAGES:
            asked = [*query, ("pagination.limit", _PAGE_ROWS)]
            if key is not None:
                asked.append(("pagination.key", key))
            reply = await self.get(route, view, path=path, query=asked)
            bodies.append(reply.result)
            page = self.read(reply, _Paged).pagination
            key = page.next_key if page is not None else None
            if not key:
                return bodies
        raise UpstreamUnavailable(f"the nodes of {self.slug} answered with more than {_MOST_PAGES} pages")

    async def call(
        self, method: str, params: Mapping[str, str], view: ReadView, policy: CallPolicy | None = None
    ) -> Reply:
        """Return what the CometBFT RPC answers."""
        return await self.comet.call(method, params, policy or CallPolicy(), deadline=view.deadline)  # type: ignore[arg-type]

    def read(self, reply: Reply, shape: type[Shape]) -> Shape:
        """Return an answer as the shape; UpstreamUnavailable for one of another shape."""
        return self.decode(reply.result, shape, reply.endpoint)

    def decode(self, body: bytes, shape: type[Shape], endpoint: str | None) -> Shape:
        """Return bytes as the shape; UpstreamUnavailable for those of another shape."""
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            raise self.malformed(endpoint) from None

    def malformed(self, endpoint: str | None) -> GatewayError:
        """Return the error for an answer that cannot be read."""
        return UpstreamUnavailable(f"endpoint {endpoint} of {self.slug} answered in an unknown shape")

    async def close(self) -> None:
        """Give up everything in flight."""
        await self.rest.close()
        await self.comet.close()


def _height(headers: Mapping[str, str]) -> int | None:
    text = headers.get(f"grpc-metadata-{HEIGHT_HEADER}") or headers.get(HEIGHT_HEADER) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
