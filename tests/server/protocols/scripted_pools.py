"""Sources of the comparison of pools that answer as a test has them answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from waypost.v1 import yield_pb2, yield_protocol_pb2

from server.protocols.best_yields import Source
from server.protocols.runner import Reading
from server.protocols.yields import BestRow

if TYPE_CHECKING:
    from server.protocols.best_yields import Comparison

LENDING = yield_protocol_pb2.YIELD_TYPE_LENDING
VAULT = yield_protocol_pb2.YIELD_TYPE_VAULT
STAKING = yield_protocol_pb2.YIELD_TYPE_STAKING
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def row(pool: str, apy: float, tvl: float | None = 1.0, *symbols: str, at: datetime = NOON) -> BestRow:
    """Return a row as readers build them."""
    message = yield_pb2.BestYield(pool=pool, apy=apy, tvl=tvl)
    message.updated_at.FromDatetime(at)
    return BestRow(message, symbols or ("USDC",))


@dataclass
class Sources:
    """Readers that answer as a test has them answer: rows, a failure, or a future that never is done."""

    answers: dict[tuple[str, str], Any]
    types: dict[str, int] = field(default_factory=lambda: {"lend": LENDING, "vault": VAULT, "stake": STAKING})
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    stale: set[tuple[str, str]] = field(default_factory=set)
    turns: list[list[tuple[str, str]]] = field(default_factory=list)

    async def answer_best(self, protocol: int, chain: str, view: Any) -> Reading:
        """Answer as protocols do."""
        key = list(self.types)[protocol - 1], chain
        self.asked[key] += 1
        if not self.turns:
            self.turns.append([])
            asyncio.get_running_loop().call_soon(self.turns.append, [])
        self.turns[-1].append(key)
        await asyncio.sleep(0)
        if key in self.stale:
            view.cache.stale()
        answer = self.answers[key]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, asyncio.Future):
            answer = await answer
        return Reading(answer, 7)

    def listed(self) -> list[Source]:
        numbers = {name: number for number, name in enumerate(self.types, 1)}
        return [Source(numbers[name], name, self.types[name], chain) for name, chain in self.answers]


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Left:
    """What was left out."""

    out: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def __call__(self, chain: str, protocol: str, why: str, rows: int) -> None:
        self.out[chain, protocol, why] += rows


def names(comparison: Comparison, **filters: Any) -> list[str]:
    """Return the pools that a choice gives, by name."""
    return [pool.row.pool for pool in comparison.select(limit=1000, **filters)]


async def settle() -> None:
    """Let what is on its way come about."""
    for _ in range(20):
        await asyncio.sleep(0)
