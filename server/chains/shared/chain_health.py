"""The newest block of a chain, and whether its nodes can be read at all (decisions section 3.1)."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from server.chains.capabilities.blocks import Health, ReadsHeads, ReadsHealth
from server.chains.view import NewestBlock, NewestCall, majority_height, read_newest_block
from server.errors import NotSupported, UpstreamUnavailable
from server.upstream.failures import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities.blocks import State
    from server.chains.view import ReadView
    from server.upstream.connector import ProbeResult
    from server.upstream.pool import Pool

_STALE_BLOCKS = 30
_STALE_SECONDS = 120.0
_FUTURE_SECONDS = 60.0


def is_fresh(made_at: float, stale_after: float | None, most_ahead: float = _FUTURE_SECONDS) -> bool:
    """Return whether a head made then (unix seconds) is neither older than that nor of a time to come."""
    return stale_after is None or -most_ahead <= time.time() - made_at <= stale_after


def stale_after(block_time: float) -> float:
    """Return how many seconds old a head may be: 30 block times, but 2 minutes at least.

    Clocks differ, and blocks come late.
    """
    return max(_STALE_BLOCKS * block_time, _STALE_SECONDS)


def main_trouble(answers: Sequence[ProbeResult]) -> Trouble:
    """Return why no endpoint of a chain reported its newest block: the most common reason."""
    if not answers:
        return Trouble.NO_ENDPOINT
    counted = Counter(answer.trouble or Trouble.FAILS for answer in answers)
    return max(Trouble, key=lambda trouble: counted[trouble])


class HeadSource(NamedTuple):
    """Endpoints of one kind and their call for the newest block.

    `probe` is the call of health checks, where it is another one. An endpoint that answers the method `pace` with an
    error does not keep pace with its chain; those that do not have it are exempt from it.
    """

    pool: Pool
    call: NewestCall
    probe: NewestCall | None = None
    pace: str | None = None


class EndpointHead(NamedTuple):
    """What an endpoint reported of its newest block; `latency` in seconds, `made_at` in unix seconds where known."""

    endpoint: str
    height: int
    latency: float
    is_fresh: bool
    made_at: float | None = None
    is_syncing: bool = False


class _Judged(NamedTuple):
    state: State
    head: float
    at: float


class ChainHealth:
    """The last health check of the chain behind some pools, and what reads showed since."""

    def __init__(self, *pools: Pool) -> None:
        self._pools = pools
        self._judged: _Judged | None = None

    def judge_heads(
        self, pool: Pool, reported: Sequence[EndpointHead], answers: Sequence[ProbeResult], asked_at: datetime
    ) -> Health:
        """Return the health by the heads of a pool: `ok` where any is fresh, `down` where none was reported.

        The height is the one that most of the fresh endpoints have reached, of all where none is fresh. Those that
        claim what the chain cannot have come to are left out. `answers` are those of all endpoints.
        """
        for one in reported:
            pool.observe_head(one.endpoint, one.height, one.made_at)
        believed = [one for one in reported if not pool.heads.is_claimed(one.endpoint)]
        if reported and not believed and pool.heads.head() is not None:
            latency = min(one.latency for one in reported)
            return Health(self._judge("degraded"), pool.heads.head(), latency, asked_at, Trouble.AHEAD)
        reported = believed or reported
        if not reported:
            return Health(self._judge("down"), self._head(), None, asked_at, main_trouble(answers))
        fresh = [one for one in reported if one.is_fresh]
        height = majority_height(one.height for one in fresh or reported)
        latency = min(one.latency for one in reported)
        if fresh:
            return Health(self._judge("ok"), height, latency, asked_at)
        state = self._judge("degraded", is_syncing=any(one.is_syncing for one in reported))
        return Health(state, height, latency, asked_at, Trouble.BEHIND)

    def last_state(self) -> State | None:
        """Return the last known state, None before the first answer.

        It is that of the last health check unless reads are better since: `down` when every endpoint rests after
        failures, `ok` again when a node answered (after `down`) or the head moved (after `degraded`).
        """
        pools = [pool for pool in self._pools if pool.labels]
        if pools and not any(pool.is_sound for pool in pools):
            return "down"
        head, judged = self._head(), self._judged
        if judged is None:
            return None if head is None else "ok"
        if judged.state == "down" and self._answered_at() > judged.at:
            return "ok"
        if judged.state == "degraded" and head is not None and head > judged.head:
            return "ok"
        return judged.state

    def _judge(self, state: State, *, is_syncing: bool = False) -> State:
        # The head of a node that catches up moves all the time.
        head = math.inf if is_syncing else self._head() or 0
        self._judged = _Judged(state, head, time.monotonic())
        return state

    def _head(self) -> int | None:
        return next((head for pool in self._pools if (head := pool.heads.head()) is not None), None)

    def _answered_at(self) -> float:
        ages = [age for pool in self._pools for label in pool.labels if (age := pool.heads.age(label)) is not None]
        return time.monotonic() - min(ages) if ages else 0.0


class HeadReader(ReadsHealth, ReadsHeads):
    """The capabilities `ReadsHeads` and `ReadsHealth` of a chain: later sources are asked where the earlier ones fail.

    `judges_age` is False for local nodes that make blocks only when asked to; `most_ahead` are the seconds by which a
    head may be of a time to come.
    """

    def __init__(
        self, block_time: float, *sources: HeadSource, judges_age: bool = True, most_ahead: float = _FUTURE_SECONDS
    ) -> None:
        self._sources = sources
        self._stale_after = stale_after(block_time) if judges_age else None
        self._most_ahead = most_ahead
        self._health = ChainHealth(*(source.pool for source in sources))

    async def read_height(self, view: ReadView) -> int:
        """Return the height of the newest block (Solana: slot), as one endpoint answers it now."""
        first, *others = self._sources
        try:
            found = await read_newest_block(first.pool, first.call, view.deadline)
        except UpstreamUnavailable:
            other = next((source for source in others if source.pool.labels), None)
            if other is None:
                raise
            found = await read_newest_block(other.pool, other.call, view.deadline)
        view.settle(found.block, found.endpoint)
        return found.block

    async def read_health(self) -> Health:
        """Ask every endpoint for its newest block and judge the answers; raises no error of a node."""
        asked_at = datetime.now(UTC)
        answers: list[ProbeResult] = []
        for source in self._sources:
            probed, heads = await self._probe(source)
            answers += probed
            if heads:
                return self._health.judge_heads(source.pool, heads, answers, asked_at)
        return self._health.judge_heads(self._sources[0].pool, (), answers, asked_at)

    def last_state(self) -> State | None:
        """Return the last known state without asking a node; see `ChainHealth`."""
        return self._health.last_state()

    async def _probe(self, source: HeadSource) -> tuple[Sequence[ProbeResult], list[EndpointHead]]:
        method, params, parse = source.probe or source.call
        if source.pace is None:
            answers = await source.pool.probe(method, params)
            paces: Sequence[ProbeResult | None] = [None] * len(answers)
        else:
            answers, paces = await asyncio.gather(source.pool.probe(method, params), source.pool.probe(source.pace, []))
        heads = []
        for answer, pace in zip(answers, paces, strict=True):
            try:
                newest = None if answer.result is None else parse(answer.result)
            except ValueError:
                continue
            if newest is not None:
                fresh = self._is_fresh(newest, pace)
                heads.append(
                    EndpointHead(
                        answer.endpoint, newest.height, answer.latency, fresh, newest.made_at, newest.is_syncing
                    )
                )
        return answers, heads

    def _is_fresh(self, newest: NewestBlock, pace: ProbeResult | None) -> bool:
        if pace is not None and pace.result is None and not isinstance(pace.error, NotSupported):
            return False
        if newest.made_at is not None and not is_fresh(newest.made_at, self._stale_after, self._most_ahead):
            return False
        return self._stale_after is None or not newest.is_syncing
