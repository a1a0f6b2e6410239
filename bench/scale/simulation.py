"""N replicas under the mixed load, in SimPy: what they ask of nodes, Redis and PostgreSQL, and how long callers wait.

Where there are many replicas some of them are simulated and stand for the rest: with `alone` and `store` all have the
same load, with `routed` those taken are spread over the loads that replicas have. What the others have put into the
store is drawn: they ask independently, so a question that they ask at rate r is first asked after an exponential time.
"""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import simpy

from bench.scale.replica import Replica
from bench.scale.sharing import spread

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from bench.scale.costs import Costs
    from bench.scale.replica import Question
    from bench.scale.traffic import Traffic

SECONDS = 12.0
"""A whole number of blocks of most chains: what is simulated begins with a block of each, and nothing is in memory."""

_LATE = 0.99


@dataclass
class Outcome:
    """What one run has found. Figures by the second are of all replicas, those simulated and those they stand for."""

    rate: float
    replicas: int
    plan: str
    simulated: int
    seconds: float
    asked: int
    """Requests of the simulated replicas; `answered` of them were answered."""
    answered: int
    latencies: list[float] = field(repr=False)
    """Seconds that each request took, sorted."""
    by_kind: dict[str, list[float]] = field(repr=False)
    population: float = field(repr=False)
    """Requests in progress, on average over the time until the last answer."""
    ended: float = field(repr=False)
    utilisation: list[float] = field(repr=False)
    """Of the processor of each simulated replica, sorted."""
    reads: float
    hits: float
    joined: float
    upstream: float
    upstream_by_chain: dict[str, float] = field(repr=False)
    redis: float
    writes: float
    rows: float

    def quantile(self, share: float) -> float:
        """Return the latency that this share of requests does not exceed, in seconds."""
        return self.latencies[min(int(share * len(self.latencies)), len(self.latencies) - 1)]

    @property
    def fold(self) -> float:
        """Return how many reads an upstream request carries."""
        return (self.reads - self.hits - self.joined) / self.upstream if self.upstream else math.nan


class Simulation:
    """One run. `callers` instead of a rate: so many who ask anew as soon as they are answered (of one replica).

    `sent` instead of gaps by chance: for each replica when its requests come. `share` is the part of each replica's
    processor that other programs leave to it.
    """

    def __init__(
        self,
        traffic: Traffic,
        costs: Costs,
        *,
        rate: float,
        replicas: int,
        plan: str = "alone",
        seconds: float = SECONDS,
        most_simulated: int = 8,
        callers: int = 0,
        sent: Sequence[Sequence[float]] = (),
        share: float = 1.0,
        seed: int = 1,
    ) -> None:
        self.traffic, self.costs, self.plan, self.share = traffic, costs, plan, share
        self.rng = random.Random(seed)
        self.env = simpy.Environment()
        self.reads = self.hits = self.joined = 0
        self._rate, self._count, self._seconds, self._callers, self._sent = rate, replicas, seconds, callers, sent
        self._loads = [load for load in spread(traffic, rate, replicas, plan) if load] if rate else [traffic.shares]
        ordered = sorted(self._loads, key=lambda load: sum(load.values()))
        taken = min(most_simulated, len(ordered))
        self._taken = [ordered[int((place + 0.5) * len(ordered) / taken)] for place in range(taken)]
        self.replicas = [Replica(self, number) for number in range(taken)]
        part = sum(sum(load.values()) for load in self._taken)
        self._scale = rate / part if rate else 1.0
        self._asked = self._answered = self._present = 0
        self._area = self._changed = 0.0
        self._latencies: list[float] = []
        self._by_kind: dict[str, list[float]] = {}
        self._upstream: dict[str, int] = {}
        self._redis = self._writes = self._rows = 0
        self._stored: dict[Question, float | simpy.Event] = {}
        self._others: dict[tuple[Question, int], float] = {}

    def run(self) -> Outcome:
        """Let requests arrive for the time that is simulated, wait until all are answered, and return the figures."""
        for replica, load in zip(self.replicas, self._taken, strict=True):
            if self._callers:
                for _ in range(self._callers):
                    self.env.process(self._ask_again(replica))
            else:
                self.env.process(self._arrive(replica, load))
        self.env.run()
        for replica in self.replicas:
            replica.write_usage()
        self._move()
        ended, scale = self.env.now, self._scale / self._seconds
        return Outcome(
            rate=self._rate or self._answered / ended,
            replicas=self._count,
            plan=self.plan,
            simulated=len(self.replicas),
            seconds=self._seconds,
            asked=self._asked,
            answered=self._answered,
            latencies=sorted(self._latencies),
            by_kind={kind: sorted(found) for kind, found in self._by_kind.items()},
            population=self._area / ended,
            ended=ended,
            utilisation=sorted(replica.processor.busy / self._seconds for replica in self.replicas),
            reads=self.reads * scale,
            hits=self.hits * scale,
            joined=self.joined * scale,
            upstream=sum(self._upstream.values()) * scale,
            upstream_by_chain={chain: count * scale for chain, count in self._upstream.items()},
            redis=self._redis * scale,
            writes=self._writes * scale,
            rows=self._rows * scale,
        )

    def _arrive(self, replica: Replica, load: dict[str, float]) -> Generator[simpy.Event, Any, None]:
        chains, sums = list(load), list(itertools.accumulate(load.values()))
        for moment in self._sent[replica.number] if self._sent else self._moments(sums[-1]):
            yield self.env.timeout(moment - self.env.now)
            chain = chains[min(bisect(sums, self.rng.random() * sums[-1]), len(chains) - 1)]
            self.env.process(replica.answer(chain))

    def _moments(self, rate: float) -> Iterator[float]:
        while (moment := self.env.now + self.rng.expovariate(rate)) < self._seconds:
            yield moment

    def _ask_again(self, replica: Replica) -> Generator[simpy.Event, Any, None]:
        chains, weights = list(self.traffic.shares), list(self.traffic.shares.values())
        while self.env.now < self._seconds:
            yield self.env.process(replica.answer(self.rng.choices(chains, weights)[0]))

    def enter(self) -> None:
        """Note that a request has come."""
        self._move()
        self._asked += 1
        self._present += 1

    def leave(self, began: float, kind: str) -> None:
        """Note that a request is answered."""
        self._move()
        self._answered += 1
        self._present -= 1
        self._latencies.append(self.env.now - began)
        self._by_kind.setdefault(kind, []).append(self.env.now - began)

    def _move(self) -> None:
        self._area += self._present * (self.env.now - self._changed)
        self._changed = self.env.now

    def count_upstream(self, chain: str, requests: int, reads: int) -> None:
        """Note requests to a chain's nodes; each carries a read at least."""
        assert reads >= requests > 0
        self._upstream[chain] = self._upstream.get(chain, 0) + requests

    def count_writes(self, rows: int) -> None:
        """Note a transaction of so many rows."""
        self._writes += 1
        self._rows += rows

    def node_seconds(self) -> float:
        """Return how long a node takes this time."""
        return self.traffic.node_median * math.exp(self.rng.gauss(0.0, self.traffic.node_spread))

    def redis_seconds(self) -> float:
        """Count an exchange with Redis and return how long it takes, waiting behind others included (M/D/1)."""
        self._redis += 1
        load = min(self._redis * self._scale / max(self.env.now, 1.0) * self.costs.redis_server, _LATE)
        return self.costs.redis_round_trip + self.traffic.network + load * self.costs.redis_server / (2 * (1 - load))

    def kept_until(self, chain: str) -> float:
        """Return until when an answer of now is given again: the chain's next block, `near_head` at most."""
        block = self.traffic.chains[chain][0]
        return min((math.floor(self.env.now / block) + 1) * block, self.env.now + self.traffic.near_head)

    def look_up(self, question: Question) -> tuple[str, float]:
        """Return what the store has: `kept`; `wait` and until when (below zero: see `awaited`); or `first`."""
        found, now = self._stored.get(question), self.env.now
        if isinstance(found, float) and found > now:
            return "kept", 0.0
        if isinstance(found, simpy.Event):
            return "wait", -1.0
        read = self._read_by_others(question)
        if read <= now:
            ready = read + self.traffic.node_median
            return ("kept", 0.0) if ready <= now else ("wait", ready)
        self._stored[question] = self.env.event()
        return "first", 0.0

    def _read_by_others(self, question: Question) -> float:
        """Return when a replica that is not simulated asks for this first, after the last block."""
        if self._scale <= 1.0 + 1e-9:
            return math.inf
        chain, number = question
        block = self.traffic.chains[chain][0]
        index = math.floor(self.env.now / block)
        found = self._others.get((question, index))
        if found is None:
            reads = self.traffic.kinds.get("read", 0.0) * self._rate * self.traffic.shares[chain]
            rate = reads * self.traffic.question_share(number) * (1 - 1 / self._scale)
            found = self._others[question, index] = index * block + self.rng.expovariate(rate)
        return found

    def is_stored(self, question: Question) -> bool:
        """Return whether the store has the answer now."""
        found = self._stored.get(question)
        is_own = isinstance(found, float) and found > self.env.now
        return is_own or self._read_by_others(question) + self.traffic.node_median <= self.env.now

    def awaited(self, question: Question) -> simpy.Event:
        """Return the event of the answer that another replica reads."""
        event = self._stored[question]
        assert isinstance(event, simpy.Event)
        return event

    def store(self, question: Question) -> None:
        """Put an answer into the store; who waits for it goes on."""
        event = self._stored[question]
        self._stored[question] = self.kept_until(question[0])
        if isinstance(event, simpy.Event):
            event.succeed()
