"""How replicas share what they read: not at all, through a store that all ask, or by who gets which request.

`alone`: the load balancer gives every replica a part of everything, each keeps what it reads. `store`: likewise, but
before it asks a node a replica asks Redis for the answer, and one replica reads for all. `routed`: requests of a chain
go to the same replica, by consistent hash, and on to the next one where that has `BOUND` times its part.
"""

from __future__ import annotations

import hashlib
from bisect import bisect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.scale.traffic import Traffic

PLANS = ("alone", "store", "routed")

BOUND = 1.5
"""`hash_balance_factor` of deploy/envoy/by-chain.yaml, as a ratio."""

_POINTS = 100
_LEAST = 1e-9

Spread = list[dict[str, float]]
"""For each replica the requests a second by chain."""


def spread(traffic: Traffic, rate: float, replicas: int, plan: str, bound: float = BOUND) -> Spread:
    """Return which replica gets what of `rate` requests a second; the parts add up to the rate."""
    wanted = {slug: rate * share for slug, share in traffic.shares.items()}
    if plan != "routed":
        return [{slug: part / replicas for slug, part in wanted.items()} for _ in range(replicas)]
    ring = sorted(
        (_place(f"replica-{number}-{point}"), number) for number in range(replicas) for point in range(_POINTS)
    )
    places = [place for place, _ in ring]
    room = [bound * rate / replicas] * replicas
    found: Spread = [{} for _ in range(replicas)]
    # The most asked for first: where a chain has more than one replica's part, it has the next ones on the ring too.
    for slug, part in sorted(wanted.items(), key=lambda entry: -entry[1]):
        at = bisect(places, _place(slug))
        left = part
        for step in range(len(ring)):
            number = ring[(at + step) % len(ring)][1]
            taken = min(left, room[number])
            if taken > _LEAST * rate:
                found[number][slug] = found[number].get(slug, 0.0) + taken
                room[number] -= taken
                left -= taken
            if left <= _LEAST * rate:
                break
    return found


def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
