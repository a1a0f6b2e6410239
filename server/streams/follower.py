"""The chains that are watched in this process, each followed once for everyone who watches it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from server.streams.chain_follower import Follower
from server.streams.cursor import decode_cursor
from server.streams.feed import Feed
from server.streams.replay import Replay

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from server.chains.capabilities.following import FollowsBlocks, Link
    from server.streams.events import Event
    from server.streams.source import Source


class _Followed:
    """A follower with the feeds on it, and how many use it."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.feeds: dict[str, Feed[Any]] = {}
        self.users = 0


class Followers:
    """The followers of one process; `docs/streams.md` states what they promise.

    `open_chain` returns what a chain is followed by, and its block time in seconds; GatewayError for one that cannot
    be followed.
    """

    def __init__(self, open_chain: Callable[[str], tuple[FollowsBlocks, float]]) -> None:
        self._open_chain = open_chain
        self._followed: dict[str, _Followed] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def heads(self, slug: str) -> AsyncGenerator[Link]:
        """Yield the newest believed block at once, then the newest whenever it changed, replacements included.

        What changes while the consumer is busy is left out but for the newest. It ends by cancellation alone.
        """
        while True:
            async with self._following(slug) as followed:
                follower, last = followed.follower, None
                while follower.failure is None:
                    tip = follower.record.tip
                    if tip is None or tip is last:
                        await follower.changed.wait()
                    else:
                        last = tip
                        yield tip.link

    async def watch(
        self,
        slug: str,
        source: Source[Any],
        cursor: str = "",
        charge: Callable[[int], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[Event]:
        """Yield the events of a source from a cursor on, or from now on; it ends by cancellation or an error.

        `charge` is awaited with one unit for each 1,000 blocks replayed.

        Raises:
            InvalidArgument: no cursor of this chain (field `cursor`).
            CursorTooOld: the chain cannot be had from the cursor on any more.
            SlowConsumer: the consumer is slower than the events.
            UpstreamDisagrees: a block that was final was replaced.
            GatewayError: no node of the chain answers at the beginning; what the source raises.
        """
        begins_at = decode_cursor(slug, cursor) if cursor else None
        async with self._following(slug) as followed:
            follower = followed.follower
            await follower.settle(with_history=True)
            async with self._feeding(followed, source) as feed:
                reader = None
                try:
                    if begins_at is None:
                        while feed.joint < feed.ring.first:
                            feed.ring.check()
                            await feed.moved.wait()
                        reader = feed.ring.join(feed.joint, feed.position.number)
                        first = [feed.progress(), feed.stalled()] if feed.is_stalled else [feed.progress()]
                        for event in first:
                            yield event
                    else:
                        replay = Replay(follower, feed, source, begins_at, charge)
                        try:
                            async for event in replay.events():
                                yield event
                        finally:
                            reader = replay.reader
                        assert reader is not None, "a replay ends in the ring"
                    while True:
                        yield await reader.next()
                finally:
                    if reader is not None:
                        reader.close()

    def wake(self, slug: str) -> None:
        """Have the chain's newest block read now, if it is watched: something says that there is one."""
        followed = self._followed.get(slug)
        if followed is not None:
            followed.follower.wake()

    async def close(self) -> None:
        """Stop following."""
        followed, self._followed = list(self._followed.values()), {}
        for one in followed:
            self._close_soon(one)
        await asyncio.gather(*self._closing, return_exceptions=True)

    @asynccontextmanager
    async def _following(self, slug: str) -> AsyncIterator[_Followed]:
        followed = self._followed.get(slug)
        if followed is None or followed.follower.failure is not None:
            followed = self._followed[slug] = _Followed(Follower(slug, *self._open_chain(slug)))
            followed.follower.start()
        followed.users += 1
        try:
            yield followed
        finally:
            followed.users -= 1
            if followed.users == 0:
                if self._followed.get(slug) is followed:
                    del self._followed[slug]
                self._close_soon(followed)

    @asynccontextmanager
    async def _feeding(self, followed: _Followed, source: Source[Any]) -> AsyncIterator[Feed[Any]]:
        feed = followed.feeds.get(source.key)
        if feed is None:
            tip = await followed.follower.settle(with_history=True)
            feed = followed.feeds.get(source.key)
            if feed is None:
                feed = followed.feeds[source.key] = Feed(followed.follower, source, tip)
        feed.users += 1
        try:
            yield feed
        finally:
            feed.users -= 1
            if feed.users == 0:
                if followed.feeds.get(source.key) is feed:
                    del followed.feeds[source.key]
                self._spawn(feed.close())

    def _close_soon(self, followed: _Followed) -> None:
        """Stop a follower and its feeds, which who left it last does not wait for."""

        async def close() -> None:
            await asyncio.gather(*(feed.close() for feed in followed.feeds.values()), followed.follower.close())

        self._spawn(close())

    def _spawn(self, closing: Any) -> None:
        task = asyncio.get_running_loop().create_task(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
