"""What is asked of the replicas: kinds of requests, chains, questions and keys, with their shares (`load.toml`)."""

from __future__ import annotations

import itertools
import tomllib
from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

LOAD = Path(__file__).with_name("load.toml")


@dataclass(frozen=True)
class Traffic:
    """The mixed load. Times are seconds; `chains` has the seconds between blocks and the share of each chain."""

    kinds: dict[str, float]
    chains: dict[str, tuple[float, float]]
    batch_items: int
    popular: float
    questions: int
    steepness: float
    grpc: float
    connections: float
    keys: int
    key_steepness: float
    operations: int
    exact: float
    lease: float
    usage_interval: float
    node_median: float
    node_spread: float
    largest: int
    near_head: float
    allowance: float
    utilisation: float
    memory: float
    network: float
    database_connections: int
    most_database_connections: int

    @classmethod
    def read(cls, path: Path = LOAD) -> Traffic:
        """Return the load that a TOML file describes."""
        data = tomllib.loads(path.read_text())
        keys, nodes = data["keys"], data["nodes"]
        whole = sum(share for _, share in data["chains"].values())
        return cls(
            kinds=data["kinds"],
            chains={slug: (seconds, share / whole) for slug, (seconds, share) in data["chains"].items()},
            **data["requests"],
            keys=keys["count"],
            key_steepness=keys["steepness"],
            operations=keys["operations"],
            exact=keys["exact"],
            lease=keys["lease"],
            usage_interval=keys["usage_interval"],
            node_median=nodes["median"],
            node_spread=nodes["spread"],
            largest=nodes["largest"],
            near_head=nodes["near_head"],
            allowance=nodes["allowance"],
            **data["machines"],
        )

    def but(self, **changes: object) -> Traffic:
        """Return the load with some of it changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @cached_property
    def shares(self) -> dict[str, float]:
        """The chains' shares of the requests; they add up to 1."""
        return {slug: share for slug, (_, share) in self.chains.items()}

    @cached_property
    def _kinds(self) -> tuple[list[str], list[float]]:
        return list(self.kinds), list(itertools.accumulate(self.kinds.values()))

    @cached_property
    def _questions(self) -> list[float]:
        return zipf(self.questions, self.steepness)

    @cached_property
    def _keys(self) -> list[float]:
        return zipf(self.keys, self.key_steepness)

    def kind(self, rng: random.Random) -> str:
        """Return the kind of the next request."""
        names, sums = self._kinds
        return names[min(bisect(sums, rng.random() * sums[-1]), len(names) - 1)]

    def question(self, rng: random.Random) -> int | None:
        """Return which of a chain's popular questions a read asks; None where it is of its own."""
        return bisect(self._questions, rng.random()) if rng.random() < self.popular else None

    def question_share(self, question: int) -> float:
        """Return the share of a popular question in the reads of its chain."""
        sums = self._questions
        return self.popular * (sums[question] - (sums[question - 1] if question else 0.0))

    def key(self, rng: random.Random) -> int:
        """Return whose request the next one is."""
        return bisect(self._keys, rng.random())

    def reads_per_request(self) -> float:
        """Return how many reads of chains a request asks for on average."""
        of_batches = self.kinds.get("batch", 0.0) * self.batch_items
        return (self.kinds.get("read", 0.0) + of_batches) / sum(self.kinds.values())


def zipf(count: int, steepness: float) -> list[float]:
    """Return the sums of shares of `count` things, the n-th of which has n^-steepness; the last sum is 1."""
    sums = list(itertools.accumulate(number**-steepness for number in range(1, count + 1)))
    scaled = [value / sums[-1] for value in sums]
    scaled[-1] = 1.0
    return scaled
