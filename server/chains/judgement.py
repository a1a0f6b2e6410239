"""What is remembered of a chain's health between two questions about it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from server.chains.capabilities import State
    from server.upstream.pool import Pool


class _Judged(NamedTuple):
    state: State
    head: int | None
    at: float


class Judgement:
    """The last judgement on the chain behind a pool, and what reads told since."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._judged: _Judged | None = None

    def judge(self, state: State) -> State:
        """Take note of the state that a health question found, and return it."""
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
