"""Waiting for what the chain has and the asked nodes do not have yet.

A fresh block is known from one node before the others have it, and a provider's machines behind one address differ as
well: a `null`, or "header not found", for a block that is known to exist and is at the head passes by itself. Such
calls are asked again, paced by the block time and within a small budget of their own. A block beyond every known head,
or far below, is not waited for.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.heads import HeadTracker

TRIES = 3
"""How often a call is asked again."""

_MAX_WAITING = 64
_BLOCKS_PER_WAIT = 0.5
_SHORTEST_WAIT = 0.1
_LONGEST_WAIT = 1.5
_FRESH_SECONDS = 15.0
_FRESH_BLOCKS = 3


class Absences:
    """The waits of one chain: at most 64 calls wait at a time, each `TRIES` times half a block (0.1 to 1.5 s)."""

    def __init__(self, heads: HeadTracker, block_time: float, clock: Callable[[], float]) -> None:
        self._heads = heads
        self._clock = clock
        self._pace = min(max(block_time * _BLOCKS_PER_WAIT, _SHORTEST_WAIT), _LONGEST_WAIT)
        self._fresh = max(_FRESH_BLOCKS, math.ceil(_FRESH_SECONDS / block_time))
        self._waiting = 0

    def is_behind(self, label: str, block: int | None) -> bool:
        """Return whether the endpoint is known not to have reached a block: what it lacks says nothing."""
        return block is not None and self._heads.is_behind(label, block)

    def is_fresh(self, block: int) -> bool:
        """Return whether the block is known to exist and is so new that some nodes may not have it yet."""
        return self._heads.is_near(block, self._fresh)

    def is_old(self, block: int) -> bool:
        """Return whether the block is known to lie so far below the head that every node that keeps it has it."""
        head = self._heads.head()
        return head is not None and head - block > self._fresh

    async def wait(self, block: int | None, tries: int, until: float) -> bool:
        """Wait before a call about `block`, which was asked for in vain `tries` times, is asked again.

        Return False, at once, where that makes no sense or the budget (or the time to `until`) is used up.
        """
        if block is None or tries > TRIES or self._waiting >= _MAX_WAITING or not self.is_fresh(block):
            return False
        if until - self._clock() <= self._pace:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(self._pace)
        finally:
            self._waiting -= 1
        return True
