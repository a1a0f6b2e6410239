"""Quotas: the generic cell rate algorithm (GCRA), one theoretical arrival time per principal, in memory."""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.access.principals import Policy, Principal

_NANOSECONDS = 1_000_000_000


class Grant(NamedTuple):
    """What a charge yielded: of the units asked for, the first `admitted` may pass.

    `remaining` units could follow at once; after `retry_after_ms` one more could (0 when one could now);
    `reset_seconds` until the quota is whole again.
    """

    admitted: int
    remaining: int
    retry_after_ms: int
    reset_seconds: int


class Quotas:
    """Buckets by principal, at most `capacity` of them; full buckets hold nothing and are the first to be forgotten."""

    def __init__(self, capacity: int = 100_000, clock: Callable[[], int] = monotonic_ns) -> None:
        self._capacity = capacity
        self._clock = clock
        self._arrivals: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._arrivals)

    def charge(self, principal: Principal, units: int) -> Grant:
        """Charge up to `units` in one operation and return how many were admitted; what is refused is not charged."""
        policy = principal.policy
        if policy.unlimited:
            return Grant(units, 0, 0, 0)
        now = self._clock()
        interval = _interval(policy)
        # The arrival time may run ahead of the clock by burst - 1 intervals and still admit one unit.
        horizon = now + policy.burst * interval
        arrival = max(self._arrivals.get(principal.id, 0), now)
        admitted = min(units, max(0, (horizon - arrival) // interval))
        if admitted:
            arrival += admitted * interval
            self._store(principal.id, arrival, now)
        remaining = max(0, (horizon - arrival) // interval)
        wait = 0 if remaining else arrival + interval - horizon
        return Grant(admitted, remaining, -(-wait // 1_000_000), -(-(arrival - now) // _NANOSECONDS))

    def owe(self, principal: Principal, units: int) -> Grant:
        """Charge an admitted call's further units, also beyond the quota: later calls wait for them.

        The grant tells what is left then.
        """
        if not principal.policy.unlimited:
            now = self._clock()
            arrival = max(self._arrivals.get(principal.id, 0), now)
            self._store(principal.id, arrival + units * _interval(principal.policy), now)
        return self.charge(principal, 0)

    def _store(self, key: str, arrival: int, now: int) -> None:
        arrivals = self._arrivals
        arrivals[key] = arrival
        arrivals.move_to_end(key)
        # Two of the longest untouched a charge: keeps the table near its live size without ever sweeping it whole.
        for _ in range(2):
            oldest = next(iter(arrivals))
            if arrivals[oldest] > now and len(arrivals) <= self._capacity:
                break
            del arrivals[oldest]
            if not arrivals:
                break


def _interval(policy: Policy) -> int:
    return max(1, round(_NANOSECONDS / policy.rate))
