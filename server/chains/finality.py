"""Which blocks a chain can no longer change, as its nodes tell it; asked only when an old block makes it matter."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from server.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.upstream.heads import HeadTracker

    AskFinalized = Callable[[], Awaitable[int]]

ASK_SECONDS = 60.0
"""The nodes are asked no more often than this."""

_DEEP = 16
"""Blocks this near to the head are not worth asking about."""


class Finality:
    """The newest final block of one chain. `ask` asks the nodes (raises GatewayError), None where none tells."""

    def __init__(
        self, ask: AskFinalized | None, heads: HeadTracker, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.block = -1
        self._ask = ask
        self._heads = heads
        self._clock = clock
        self._next = 0.0
        self._distrusts = 0
        self._asking: asyncio.Task[None] | None = None

    def forget(self) -> None:
        """Take no block for final any more, until the nodes are asked again."""
        self.block = -1
        self._next = 0.0
        self._distrusts += 1

    def when_final(self, block: int, action: Callable[[], None]) -> None:
        """Find out whether the block is final, behind the caller's back, and act if it is.

        Nothing happens for blocks near the head, nor soon after the nodes were asked.
        """
        head = self._heads.head()
        if self._ask is None or (head is not None and head - block < _DEEP):
            return
        if self._asking is None:
            if self._clock() < self._next:
                return
            self._asking = asyncio.get_running_loop().create_task(self._refresh(self._ask))

        def act(_task: asyncio.Task[None]) -> None:
            if block <= self.block:
                action()

        self._asking.add_done_callback(act)

    async def settled(self) -> None:
        """Return once no question is under way."""
        if self._asking is not None:
            await asyncio.wait([self._asking])

    async def close(self) -> None:
        """Give up the question under way."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _refresh(self, ask: AskFinalized) -> None:
        distrusts = self._distrusts
        try:
            block = await ask()
            head = self._heads.head()
            if distrusts != self._distrusts:
                return
            # A node that calls the future final is wrong, and what it says would be kept for ever.
            if head is None or block <= head:
                self.block = max(self.block, block)
        except GatewayError:
            pass
        finally:
            self._next = self._clock() + ASK_SECONDS
            self._asking = None
