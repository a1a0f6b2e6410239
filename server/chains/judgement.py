"""A chain's health: what endpoints tell of their newest blocks, and what is remembered between two questions."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from server.chains.capabilities import Health
from server.chains.newest import majority_height
from server.upstream.failures import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from server.chains.capabilities import State
    from server.upstream.connector import ProbeResult
    from server.upstream.pool import Pool


_STALE_BLOCKS = 30
_STALE_SECONDS = 120.0


_FUTURE_SECONDS = 60.0


def is_fresh(made_at: float, stale_after: float | None) -> bool:
    """Return whether a head made then (unix seconds) is neither older than that nor of a time to come."""
    return stale_after is None or -_FUTURE_SECONDS <= time.time() - made_at <= stale_after


def stale_after(block_time: float) -> float:
    """Return how many seconds old a head may be: 30 block times, but 2 minutes at least.

    Clocks differ, and blocks come late.
    """
    return max(_STALE_BLOCKS * block_time, _STALE_SECONDS)


def main_trouble(answers: Sequence[ProbeResult]) -> Trouble:
    """Return why no endpoint of a chain reported its newest block: what is true of most of them."""
    if not answers:
        return Trouble.NO_ENDPOINT
    counted = Counter(answer.trouble or Trouble.FAILS for answer in answers)
    return max(Trouble, key=lambda trouble: counted[trouble])


class Heard(NamedTuple):
    """What an endpoint reported of its newest block; `latency` in seconds, `made_at` in unix seconds where known."""

    endpoint: str
    height: int
    latency: float
    is_fresh: bool
    made_at: float | None = None


class _Judged(NamedTuple):
    state: State
    head: int | None
    at: float


class Judgement:
    """The last judgement on the chain behind a pool, and what reads told since."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._judged: _Judged | None = None

    def judge_heads(self, heard: Sequence[Heard], answers: Sequence[ProbeResult], asked_at: datetime) -> Health:
        """Return the health by what was heard: `ok` where any head is fresh, `down` where nobody told one.

        The height is the one that most of the fresh endpoints have reached, of all where none is fresh. Those that
        claim what the chain cannot have come to are left out. `answers` are those of all endpoints.
        """
        for one in heard:
            self._pool.observe_head(one.endpoint, one.height, one.made_at)
        believed = [one for one in heard if not self._pool.heads.is_claimed(one.endpoint)]
        if heard and not believed and self._pool.heads.head() is not None:
            latency = min(one.latency for one in heard)
            return Health(self._judge("degraded"), self._pool.heads.head(), latency, asked_at, Trouble.AHEAD)
        heard = believed or heard
        if not heard:
            return Health(self._judge("down"), self._pool.heads.head(), None, asked_at, main_trouble(answers))
        fresh = [one for one in heard if one.is_fresh]
        height = majority_height(one.height for one in fresh or heard)
        latency = min(one.latency for one in heard)
        if fresh:
            return Health(self._judge("ok"), height, latency, asked_at)
        return Health(self._judge("degraded"), height, latency, asked_at, Trouble.BEHIND)

    def _judge(self, state: State) -> State:
        self._judged = _Judged(state, self._pool.heads.head(), time.monotonic())
        return state

    def last_state(self) -> State | None:
        """Return the last known state, None before anything was heard.

        It is that of the last health question unless reads tell better since: `down` when every endpoint rests after
        failures, `ok` again when a node answered (after `down`) or the head moved (after `degraded`).
        """
        pool, judged = self._pool, self._judged
        if pool.labels and not pool.is_sound:
            return "down"
        head = pool.heads.head()
        if judged is None:
            return None if head is None else "ok"
        if judged.state == "down" and self._heard_at() > judged.at:
            return "ok"
        if judged.state == "degraded" and head is not None and head > (judged.head or 0):
            return "ok"
        return judged.state

    def _heard_at(self) -> float:
        ages = [age for label in self._pool.labels if (age := self._pool.heads.age(label)) is not None]
        return time.monotonic() - min(ages) if ages else 0.0
