"""Watched values of chains: they may have changed with every newest block, and when none comes for long."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog

from server.chains.capabilities.blocks import ReadsHealth
from server.errors import GatewayError
from server.streams.values import PACE_SECONDS, Moment, WatchedValues

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from typing import TypeAlias

    from server.chains.capabilities.following import Link
    from server.chains.registry import Chain, Chains
    from server.streams.values import Reading

    # The newest blocks of a chain, by its slug.
    Heads: TypeAlias = Callable[[str], AsyncIterator[Link]]

Item = TypeVar("Item")
Value = TypeVar("Value")

_log = structlog.get_logger("waypost.streams")

FIRST_SECONDS = 5.0
"""How long the first block is waited for: a stream begins with what can be read without it."""

_STALLED_BLOCKS = 5
_STALLED_SECONDS = 10.0
# A chain of rare blocks is known to be without nodes long before it counts as standing still.
_CHECK_SECONDS = 10.0
# After a failure of the follower.
_PAUSE_SECONDS = 2.0


def stalled_after(block_time: float) -> float:
    """Return after how many seconds without a block a chain stands still."""
    return max(_STALLED_BLOCKS * block_time, _STALLED_SECONDS)


async def chain_moments(
    heads: Callable[[], AsyncIterator[Link]],
    block_time: float,
    is_down: Callable[[], bool],
    *,
    first_seconds: float = FIRST_SECONDS,
) -> AsyncGenerator[Moment]:
    """Yield a moment for each newest block that `heads` brings, the newest one only where they come faster.

    Without a block for `stalled_after` seconds a moment says so, again and again; so does one when the nodes are found
    to be away, or back, according to `is_down`. It never ends by itself.
    """
    arrived = asyncio.Event()
    newest: list[Link] = []

    async def follow() -> None:
        while True:
            try:
                async for link in heads():
                    newest[:] = [link]
                    arrived.set()
            except GatewayError as error:
                _log.info("the newest blocks are not known", why=error.message)
            await asyncio.sleep(_PAUSE_SECONDS)

    following = asyncio.get_running_loop().create_task(follow())
    patience = stalled_after(block_time)
    head: Link | None = None
    was_down = is_stalled = False
    silent_at = time.monotonic() + first_seconds
    try:
        while True:
            try:
                async with asyncio.timeout(min(_CHECK_SECONDS, max(silent_at - time.monotonic(), 0.0))):
                    await arrived.wait()
            except TimeoutError:
                is_late = time.monotonic() >= silent_at
                went, was_down = was_down, head is not None and is_down()
                if is_late:
                    is_stalled = True
                    silent_at = time.monotonic() + patience
                if is_late or went != was_down:
                    yield Moment(head, is_stalled)
                continue
            arrived.clear()
            head, is_stalled, was_down = newest[0], False, False
            silent_at = time.monotonic() + patience
            yield Moment(head)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


class ChainValues(Generic[Item, Value]):
    """The watched values of one kind, chain by chain; `heads` and `pace` are those of all of them.

    `read` returns what became of some items of a chain, as `WatchedValues` asks for it.
    """

    def __init__(
        self,
        chains: Chains,
        heads: Heads,
        read: Callable[
            [Chain, Sequence[Item], Moment, Mapping[Item, Value | GatewayError]], Awaitable[Reading[Item, Value]]
        ],
        pace: float = PACE_SECONDS,
    ) -> None:
        self._chains = chains
        self._heads = heads
        self._read = read
        self._pace = pace
        self._values: dict[str, WatchedValues[Item, Value]] = {}

    def of(self, slug: str) -> WatchedValues[Item, Value]:
        """Return the values of a chain; ChainUnknown for a slug that is none."""
        values = self._values.get(slug)
        if values is None:
            chain = self._chains.get(slug)
            health = chain.capability(ReadsHealth)
            moments = partial(
                chain_moments,
                partial(self._heads, slug),
                chain.facts.block_time,
                lambda: health.last_state() == "down",
            )
            values = self._values[slug] = WatchedValues(moments, partial(self._read, chain), pace=self._pace)
        return values

    async def close(self) -> None:
        """Read nothing any more."""
        await asyncio.gather(*(values.close() for values in self._values.values()))
