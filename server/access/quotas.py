"""Quotas by the generic cell rate algorithm: one theoretical arrival time per principal, in the memory of one process.

An arrival time runs ahead of the clock by one interval for each unit used; the burst is how many intervals it may.
Where state leaves a process, it is how far the arrival time runs ahead, in nanoseconds: clocks need not agree.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable

    from server.access.admission import Policy, Principal

NANOSECONDS = 1_000_000_000


class Grant(NamedTuple):
    """What a charge yielded: of the units asked for, the first `admitted` may pass.

    `remaining` units could follow at once; after `retry_after_ms` one more could (0 when one could now);
    `reset_seconds` until the quota is whole again.
    """

    admitted: int
    remaining: int
    retry_after_ms: int
    reset_seconds: int


class ChargesQuotas(Protocol):
    """What admission charges calls to. Principals of an unlimited policy are admitted and not counted."""

    def charge(self, principal: Principal, units: int) -> Grant | Future[Grant]:
        """Charge up to `units` in one operation and return how many were admitted; what is refused is not charged.

        A future where other processes have to be asked first; it brings its grant within a tenth of a second.
        """
        ...

    def owe(self, principal: Principal, units: int) -> Grant:
        """Charge an admitted call's further units, also beyond the quota: later calls wait for them.

        The grant holds what is left then.
        """
        ...

    async def start(self) -> None:
        """Begin whatever runs in the background."""
        ...

    async def close(self) -> None:
        """End it; what waits is answered."""
        ...


class Quotas:
    """See `ChargesQuotas`: the arrival times of at most `capacity` principals; full buckets are dropped first."""

    def __init__(self, capacity: int = 100_000, clock: Callable[[], int] = monotonic_ns) -> None:
        self._capacity = capacity
        self._clock = clock
        self._arrivals: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._arrivals)

    def charge(self, principal: Principal, units: int) -> Grant:
        """See `ChargesQuotas.charge`; never a future."""
        policy = principal.policy
        if policy.unlimited:
            return Grant(units, 0, 0, 0)
        interval = interval_of(policy)
        admitted, ahead = self.take(principal.id, interval, policy.burst, 0, units)
        return grant_of(admitted, ahead, interval, policy.burst * interval)

    def owe(self, principal: Principal, units: int) -> Grant:
        """See `ChargesQuotas.owe`."""
        policy = principal.policy
        if policy.unlimited:
            return Grant(0, 0, 0, 0)
        interval = interval_of(policy)
        _, ahead = self.take(principal.id, interval, policy.burst, units, 0)
        return grant_of(0, ahead, interval, policy.burst * interval)

    def take(self, name: str, interval: int, burst: int, debt: int, units: int) -> tuple[int, int]:
        """Charge `debt` units whatever is left, then up to `units`.

        Returns how many of these were admitted, and how far the arrival time then runs ahead, in nanoseconds.
        """
        now = self._clock()
        arrivals = self._arrivals
        ahead = max(arrivals.get(name, 0) - now, 0) + debt * interval
        # It may run ahead by burst - 1 intervals and still admit one unit.
        admitted = min(units, max(0, burst - -(-ahead // interval)))
        ahead += admitted * interval
        if admitted or debt:
            arrivals[name] = now + ahead
            arrivals.move_to_end(name)
            # Two of the longest untouched a charge: keeps the table near its live size without sweeping it whole.
            for _ in range(2):
                oldest = next(iter(arrivals))
                if arrivals[oldest] > now and len(arrivals) <= self._capacity:
                    break
                del arrivals[oldest]
                if not arrivals:
                    break
        return admitted, ahead

    async def start(self) -> None:
        """Nothing runs in the background."""

    async def close(self) -> None:
        """Nothing is to end."""


def interval_of(policy: Policy) -> int:
    """Return the nanoseconds in which one unit of a limited policy comes back."""
    return max(1, round(NANOSECONDS / policy.rate))


def grant_of(admitted: int, ahead: int, interval: int, horizon: int) -> Grant:
    """Return the grant of so many units where the arrival time then runs so far ahead, of a horizon. In nanoseconds."""
    room = horizon - ahead
    reset = -(-ahead // NANOSECONDS)
    if room >= interval:
        return Grant(admitted, room // interval, 0, reset)
    return Grant(admitted, 0, -((room - interval) // 1_000_000), reset)
