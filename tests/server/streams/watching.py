"""Streams of values on real nodes, and a front that notes what the nodes are asked and can be away."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aiohttp import web

from runtime.settings import Settings
from server.chains.capabilities.following import FollowsBlocks
from server.chains.registry import Chains
from server.rpc.rows import row_error
from server.streams.balances import BalanceWatches
from server.streams.follower import Followers
from server.streams.receipts import ReceiptWatches
from server.upstream import open_session
from server.upstream.cache import open_cache
from tests.server.chains.evm.nodes import LatestOnly

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

    import aiohttp
    from google.protobuf.message import Message

    from server.streams.events import Event

WAIT_SECONDS = 60.0
PACE = 0.05

Response = TypeVar("Response", bound="Message")


class Front(LatestOnly):
    """Stands before a node: notes the methods of each request, and answers nothing while it `is_away`."""

    def __init__(self, target: str, session: aiohttp.ClientSession) -> None:
        super().__init__(target, session)
        self.requests: list[list[str]] = []
        self.params: list[list[Any]] = []
        self.is_away = False

    async def _answer(self, request: web.Request) -> web.Response:
        if self.is_away:
            return web.Response(status=503)
        body = await request.json()
        items = body if isinstance(body, list) else [body]
        self.requests.append([item["method"] for item in items])
        self.params += [item["params"] for item in items]
        async with self._session.post(self._target, json=body) as response:
            return web.Response(body=await response.read(), content_type="application/json")

    def asked(self, *methods: str) -> list[list[str]]:
        """Return the requests with any of these methods, without what else they carried."""
        found = [[method for method in request if method in methods] for request in self.requests]
        return [request for request in found if request]


class Stream(Generic[Response]):
    """A stream as its client sees it, and what it paid."""

    def __init__(self, kind: type[Response], events: AsyncGenerator[Event], paid: list[int]) -> None:
        self.paid = paid
        self._kind = kind
        self._events = events

    async def next(self) -> Response:
        """Return the next event; StopAsyncIteration where the stream has ended."""
        event = await asyncio.wait_for(anext(self._events), WAIT_SECONDS)
        assert event.cursor == ""
        return self._kind.FromString(event.payload)

    async def take(self, count: int) -> list[Response]:
        return [await self.next() for _ in range(count)]

    async def close(self) -> None:
        await self._events.aclose()


class Watching:
    """What streams of values are made of in one process, on the nodes of some settings.

    Heads are looked at at once instead of once a block time.
    """

    def __init__(self, chains: Chains, slugs: Sequence[str]) -> None:
        self._waking = asyncio.create_task(self._wake(slugs))
        self.chains = chains
        self.followers = Followers(
            lambda slug: (chains.capability(slug, FollowsBlocks), chains.get(slug).facts.block_time)
        )
        self.balances = BalanceWatches(chains, self.followers.heads, row_error, pace=PACE)
        self.receipts = ReceiptWatches(chains, self.followers.heads, row_error, pace=PACE)
        self._streams: list[Stream[Any]] = []

    def open(self, kind: type[Response], watches: Any, request: Message) -> Stream[Response]:
        """Return a stream of responses of that kind."""
        paid: list[int] = []

        async def charge(units: int) -> None:
            paid.append(units)

        stream = Stream(kind, watches.watch(request, charge), paid)
        self._streams.append(stream)
        return stream

    async def _wake(self, slugs: Sequence[str]) -> None:
        while True:
            await asyncio.sleep(PACE)
            for slug in slugs:
                self.followers.wake(slug)

    async def close(self) -> None:
        self._waking.cancel()
        for stream in self._streams:
            await stream.close()
        for part in (self.balances, self.receipts, self.followers, self.chains):
            await part.close()


@asynccontextmanager
async def watching(chains: Mapping[str, Any]) -> AsyncIterator[Watching]:
    """Open streams over chains: their settings by slug."""
    settings = Settings.model_validate({"profile": "devnet", "chains": dict(chains)})
    async with open_session(settings.outbound) as http:
        cache = open_cache(settings)
        opened = Watching(Chains.load(settings, http, cache=cache), tuple(chains))
        try:
            yield opened
        finally:
            await opened.close()
            if cache is not None:
                await cache.close()


def on(*urls: str) -> dict[str, Any]:
    """Return the settings of a chain that is read at these addresses."""
    return {"endpoints": [{"label": "abcdef"[at], "url": url} for at, url in enumerate(urls)]}
