"""The newest block, and whether the nodes can be read at all."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.chains.bitcoin.answers import Height, read_height
from server.chains.capabilities import Health, State
from server.chains.judgement import main_trouble
from server.chains.newest import Told, majority_height, read_newest
from server.chains.sound_answers import ask_sound, read_sound
from server.errors import UpstreamUnavailable
from server.upstream.connector import CallPolicy
from server.upstream.failures import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.connector import ProbeResult
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool

# Blocks come at random, ten minutes apart on average: thirty times that without one happens once in a million years.
_STALE_BLOCKS = 30

NEWEST: tuple[str, list[object]] = ("getblockchaininfo", [])
"""The call, method and parameters, by which nodes tell height and time of their newest block."""

TIP = "/blocks/tip/height"
"""Esplora's route for the height of the newest block."""


class _Info(msgspec.Struct):
    blocks: Height
    mediantime: int
    time: int | None = None
    initialblockdownload: bool = False


class _Block(msgspec.Struct):
    height: Height
    timestamp: int


class NewestBlock(NamedTuple):
    """The newest block of an endpoint: its height, when it was made in unix seconds, whether more are on the way."""

    height: int
    made_at: int
    is_syncing: bool = False


class HeadReader:
    """Reads the head from nodes, or from indexers where no node answers.

    `judges_age` is False for local nodes that make blocks only when told to.
    """

    def __init__(self, facts: ChainFacts, core: Pool, esplora: RestPool, *, judges_age: bool) -> None:
        self._core = core
        self._esplora = esplora
        self._stale_after = _STALE_BLOCKS * facts.block_time if judges_age else None
        self._judged: State | None = None
        self._judged_at = 0.0

    async def read_height(self, view: ReadView) -> int:
        """Return the height of the newest block, as one endpoint answers it now."""
        try:
            told = await read_newest(self._core, lambda avoid: self._ask_core(avoid, view))
        except UpstreamUnavailable:
            if not self._esplora.labels:
                raise
            told = await read_newest(self._esplora, lambda avoid: self._ask_esplora(avoid, view))
        view.settle(told.block, told.endpoint)
        return told.block

    async def _ask_core(self, avoid: frozenset[str], view: ReadView) -> Told[None]:
        policy = CallPolicy(avoid=avoid)
        newest, endpoint = await read_sound(self._core, *NEWEST, parse_newest, policy, deadline=view.deadline)
        return Told(None, endpoint, newest.height, newest.made_at)

    async def _ask_esplora(self, avoid: frozenset[str], view: ReadView) -> Told[None]:
        height, reply = await ask_sound(
            self._esplora,
            TIP,
            lambda policy: self._esplora.get(TIP, policy=policy, name=TIP, is_text=True, deadline=view.deadline),
            lambda reply: read_height(reply.result),
            CallPolicy(avoid=avoid),
        )
        return Told(None, reply.endpoint, height)

    async def read_health(self) -> Health:
        """Ask the nodes for their newest block, then the indexers if no node answers (decisions section 3.1)."""
        asked_at = datetime.now(UTC)
        answers = await self._core.probe(*NEWEST)
        heads, latencies = self._hear(self._core, answers, _read_info)
        if not heads:
            indexed = await self._esplora.probe("/blocks", [])
            heads, latencies = self._hear(self._esplora, indexed, _read_blocks)
            answers += indexed
        if not heads:
            known = self._core.heads.head() or self._esplora.heads.head()
            return Health(self._judge("down"), known, None, asked_at, main_trouble(answers))
        fresh = [head for head in heads if self._is_fresh(head)]
        state = self._judge("ok" if fresh else "degraded")
        height = majority_height(head.height for head in fresh or heads)
        return Health(state, height, min(latencies), asked_at, None if fresh else Trouble.BEHIND)

    def last_state(self) -> State | None:
        """Return the last known state, None before anything was heard.

        It is that of the last health question, unless every endpoint rests after failures since, or one answered.
        """
        pools = [pool for pool in (self._core, self._esplora) if pool.labels]
        if pools and not any(pool.is_sound for pool in pools):
            return "down"
        ages = [age for pool in pools for label in pool.labels if (age := pool.heads.age(label)) is not None]
        if self._judged is None:
            return "ok" if ages else None
        if self._judged == "down" and ages and time.monotonic() - min(ages) > self._judged_at:
            return "ok"
        return self._judged

    def _hear(
        self, pool: Pool, answers: Sequence[ProbeResult], read: Callable[[bytes], NewestBlock | None]
    ) -> tuple[list[NewestBlock], list[float]]:
        heads, latencies = [], []
        for answer in answers:
            head = None if answer.result is None else read(answer.result)
            if head is not None:
                pool.observe_head(answer.endpoint, head.height, head.made_at)
                if pool.heads.is_claimed(answer.endpoint):
                    continue
                heads.append(head)
                latencies.append(answer.latency)
        return heads, latencies

    def _is_fresh(self, head: NewestBlock) -> bool:
        if self._stale_after is None:
            return True
        return not head.is_syncing and time.time() - head.made_at <= self._stale_after

    def _judge(self, state: State) -> State:
        self._judged, self._judged_at = state, time.monotonic()
        return state


def parse_newest(result: bytes) -> NewestBlock:
    """Return what an answer to `NEWEST` holds; ValueError for what is none."""
    try:
        info = msgspec.json.decode(result, type=_Info)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not the state of a chain") from None
    # Older versions tell the median of eleven blocks alone, an hour older than the newest.
    return NewestBlock(info.blocks, info.mediantime if info.time is None else info.time, info.initialblockdownload)


def _read_info(result: bytes) -> NewestBlock | None:
    try:
        return parse_newest(result)
    except ValueError:
        return None


def _read_blocks(result: bytes) -> NewestBlock | None:
    try:
        blocks = msgspec.json.decode(result, type=list[_Block])
    except (msgspec.MsgspecError, RecursionError):
        return None
    return max((NewestBlock(block.height, block.timestamp) for block in blocks), default=None)
