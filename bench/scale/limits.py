"""How many replicas a load takes, and what gives way first: each use beside what there is of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bench.scale.simulation import SECONDS, Outcome, Simulation

if TYPE_CHECKING:
    from bench.scale.costs import Costs
    from bench.scale.traffic import Traffic

_SIZING_SECONDS = 2.0
_ROUNDS = 3
_MOST_REQUESTS = 90_000
_LEAST_SECONDS = 1.0
# Of a server that does one thing after the other, what is used before callers wait in line.
_REDIS_SHARE = 0.6
_DATABASE_SHARE = 0.5
# Of a moment's peaks above the average, for a limit that providers count by the second.
_PEAK = 1.3


class Limit(NamedTuple):
    """One thing that a load uses: how much, and how much of it there is."""

    name: str
    used: float
    there: float

    @property
    def share(self) -> float:
        """Return which part of it is used; above 1 it is not enough."""
        return self.used / self.there


def size(traffic: Traffic, costs: Costs, rate: float, plan: str) -> Outcome:
    """Return the run with the fewest replicas that use no more of their processors than the load's `utilisation`.

    With `routed` the busiest replica counts, not the average.
    """
    reads = traffic.reads_per_request()
    replicas = max(1, math.ceil(rate * (costs.kept + reads * costs.read) / traffic.utilisation))
    for _ in range(_ROUNDS):
        trial = simulate(traffic, costs, rate, replicas, plan, seconds=_SIZING_SECONDS)
        needed = max(1, math.ceil(replicas * trial.utilisation[-1] / traffic.utilisation))
        if needed == replicas:
            break
        replicas = needed
    return simulate(traffic, costs, rate, replicas, plan)


def simulate(
    traffic: Traffic, costs: Costs, rate: float, replicas: int, plan: str, seconds: float = SECONDS
) -> Outcome:
    """Return one run, with as many of the replicas, for as long, as is simulated in about half a minute."""
    for_each = rate / replicas
    most = max(1, min(8, int(_MOST_REQUESTS / (for_each * seconds))))
    shorter = min(seconds, max(_MOST_REQUESTS / (for_each * most), _LEAST_SECONDS))
    return Simulation(
        traffic, costs, rate=rate, replicas=replicas, plan=plan, seconds=shorter, most_simulated=most
    ).run()


def limits(outcome: Outcome, traffic: Traffic, costs: Costs) -> list[Limit]:
    """Return what the load uses of everything, that which is shortest first."""
    chain, busiest = max(outcome.upstream_by_chain.items(), key=lambda entry: entry[1], default=("none", 0.0))
    connections = outcome.rate * traffic.connections / outcome.replicas
    found = [
        Limit(f"requests/s to the nodes of {chain}", busiest * _PEAK, traffic.allowance),
        Limit("Redis, one server", outcome.redis * costs.redis_server, _REDIS_SHARE),
        Limit("PostgreSQL, rows of usage", outcome.rows * costs.database_row, _DATABASE_SHARE),
        Limit(
            "connections to PostgreSQL",
            float(outcome.replicas * traffic.database_connections),
            float(traffic.most_database_connections),
        ),
        Limit("memory of a replica", costs.memory + connections * costs.memory_per_connection, traffic.memory),
        Limit("processor of the busiest replica", outcome.utilisation[-1], traffic.utilisation),
    ]
    return sorted(found, key=lambda limit: -limit.share)
