"""The newest block, and whether the nodes can be read at all."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from server.chains.capabilities import Health, State
from server.chains.evm.answers import number_of
from server.chains.evm.quantity import quantity

if TYPE_CHECKING:
    from server.chains.evm.chain import EvmChain
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

# A head is stale when it is older than 30 block times, but not before 2 minutes: clocks differ, blocks come late.
_STALE_BLOCKS = 30
_STALE_SECONDS = 120.0


class _Header(msgspec.Struct):
    number: str
    timestamp: str


class HeadReader:
    """Reads the head of one chain. `judges_age` is False for local nodes that make blocks only while somebody asks."""

    def __init__(self, chain: EvmChain, pool: Pool, *, judges_age: bool = True) -> None:
        self._chain = chain
        self._pool = pool
        self._stale_after = max(_STALE_BLOCKS * chain.facts.block_time, _STALE_SECONDS) if judges_age else None
        self._last: State | None = None

    async def read_height(self, view: ReadView) -> int:
        """Return the number of the newest block, as one node answers it now."""
        reply = await self._pool.call("eth_blockNumber", [], deadline=view.deadline)
        height = number_of(reply)
        self._pool.observe_head(reply.endpoint, height)
        view.settle(height, reply.endpoint)
        return height

    async def read_health(self) -> Health:
        """Ask every endpoint for its newest block and judge the best answer (decisions section 3.1)."""
        asked_at = datetime.now(UTC)
        answers = await self._pool.probe("eth_getBlockByNumber", ["latest", False])
        heights: list[int] = []
        latencies: list[float] = []
        is_fresh = False
        for answer in answers:
            head = _parse_head(answer.result)
            if head is None:
                continue
            height, made_at = head
            self._pool.observe_head(answer.endpoint, height)
            heights.append(height)
            latencies.append(answer.latency)
            is_fresh = is_fresh or self._stale_after is None or time.time() - made_at <= self._stale_after
        if not heights:
            self._last = "down"
            return Health("down", self._pool.heads.head(), None, asked_at)
        self._last = "ok" if is_fresh else "degraded"
        return Health(self._last, max(heights), min(latencies), asked_at)

    def last_state(self) -> State | None:
        """Return the last known state: of the last health question, else `ok` once any read told a head."""
        if self._last is None and self._pool.heads.head() is not None:
            return "ok"
        return self._last


def _parse_head(result: bytes | None) -> tuple[int, int] | None:
    if result is None:
        return None
    try:
        header = msgspec.json.decode(result, type=_Header | None)
        return None if header is None else (quantity(header.number), quantity(header.timestamp))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
