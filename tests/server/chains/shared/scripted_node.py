"""What stands for the nodes of one chain behind its cache."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from server.chains.shared.cache import CachedState, ChainCache
from server.chains.shared.finality import Finality
from server.chains.view import ReadView
from server.upstream.cache import Cache
from server.upstream.heads import HeadTracker

if TYPE_CHECKING:
    from tests.server.upstream.cache.conftest import Clock

BLOCK_TIME = 12.0
STATE: CachedState[bytes] = CachedState("test", bytes, bytes, lambda answer: answer != b"nothing")


class Node:
    """Stands for the nodes of one chain: where its head is, what it answers, how often it was asked."""

    def __init__(self, clock: Clock, *, tells_final: bool = True) -> None:
        self.head = 1000
        self.final = 900
        self.label = "a"
        self.asked = 0
        self.asked_final = 0
        self.answer: bytes | Exception = b"answer"
        self.delay = 0.0
        self.heads = HeadTracker(["a", "b", "c"], BLOCK_TIME, clock=clock)
        self.cache = Cache(1 << 20, clock=clock)
        ask = self._ask_final if tells_final else None
        self.chain_cache = ChainCache("ethereum", self.cache, self.heads, block_time=BLOCK_TIME, ask_finalized=ask)
        self.chain_cache.finality = Finality(ask, self.heads, clock=clock)

    async def _ask_final(self) -> int:
        self.asked_final += 1
        return self.final

    async def read(self, view: ReadView | None = None, *, block: int | None = None, body: bytes = b"q") -> bytes:
        view = view or ReadView(block=block)

        async def ask() -> bytes:
            async with view.turn():
                self.asked += 1
                await asyncio.sleep(self.delay)
                if isinstance(self.answer, Exception):
                    raise self.answer
                if view.block is None:
                    self.heads.observe(self.label, self.head)
                    view.settle(self.head, self.label)
                return self.answer

        return await self.chain_cache.read_state(view, STATE, body, ask)
