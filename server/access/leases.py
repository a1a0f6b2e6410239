"""What one process knows of one principal's quota that several processes share, and the units that it holds of it.

Units taken ahead, leases, pass without waiting and lapse. How many are taken follows what was asked for of late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from server.access.quotas import NANOSECONDS, Grant, grant_of, interval_of

if TYPE_CHECKING:
    from asyncio import Future

    from server.access.admission import Policy

LEASE = 150_000_000
"""Nanoseconds that units taken ahead are good for, from before they were asked for.

In ten seconds a key so gets the units of 10.15 s and its burst at most, within 1.02 times what it is owed, however many
processes hold leases.
"""

SLOWEST_LEASED = 100
"""Units a second below which a quota is exact: nothing is taken ahead."""

# How much of what a key is asked for it takes ahead, and how long a key that got less than it asked for lets units
# gather before it asks again: with both, a key asks the source some fifty times a second at most.
AHEAD = 50_000_000
PACE = 20_000_000
# How long a refusal of the source is believed, should it forget (a Redis that starts empty).
BELIEVED = NANOSECONDS

Waiter: TypeAlias = "tuple[Future[Grant], int]"


class Take(NamedTuple):
    """A charge to the source: see `Quotas.take`."""

    name: str
    interval: int
    burst: int
    debt: int
    units: int


class Account:
    """One principal's quota as this process knows it. Times are nanoseconds of the process's clock."""

    __slots__ = (
        "arrival",
        "ask_at",
        "asked_at",
        "burst",
        "debt",
        "expires",
        "heat",
        "interval",
        "is_leased",
        "is_pending",
        "name",
        "next_expires",
        "next_units",
        "own_arrival",
        "own_interval",
        "policy",
        "refill_below",
        "spare",
        "units",
        "waiting",
        "wanted",
    )

    def __init__(self, name: str, policy: Policy) -> None:
        self.name = name
        # The lease in use, and the one that was fetched while it lasted.
        self.units = self.expires = self.next_units = self.next_expires = self.refill_below = 0
        # The source's arrival time as last known, and what this process may call its own of what was left then.
        self.arrival = self.spare = 0
        # The arrival time while the process counts alone, in intervals of its own; 0 when nothing of it is owed.
        self.own_arrival = self.own_interval = 0
        # Before when the source need not be asked.
        self.ask_at = 0
        # Units asked for of late, fading by half in every `AHEAD`; `wanted` since the source was last asked.
        self.heat = 0.0
        self.wanted = self.asked_at = 0
        self.debt = 0
        self.waiting: list[Waiter] = []
        self.is_pending = False
        self.adopt(policy)

    def adopt(self, policy: Policy) -> None:
        """Count by a policy from now on; arrival times stay what they are."""
        self.policy = policy
        self.interval = interval_of(policy)
        self.burst = policy.burst
        self.is_leased = policy.weighs_costs and policy.rate >= SLOWEST_LEASED

    def turn(self, now: int) -> None:
        """Drop a lease that has lapsed or is used up, for the next one where there is one."""
        if self.units <= 0 or now >= self.expires:
            self.units = self.next_units if now < self.next_expires else 0
            self.expires, self.next_units = self.next_expires, 0
            self.refill_below = self.units // 2 + 1

    def use(self, units: int) -> int:
        """Use up to `units` of the leases; return how many there were."""
        first = min(units, self.units)
        self.units -= first
        second = min(units - first, self.next_units)
        self.next_units -= second
        return first + second

    def view(self, admitted: int, now: int) -> Grant:
        """Return the grant of so many units, with what this process knows to be left: low rather than high."""
        remaining = min(self.units + self.next_units + self.spare, self.burst)
        reset = max(0, -(-(self.arrival - now) // NANOSECONDS))
        if remaining > 0:
            return Grant(admitted, remaining, 0, reset)
        wait = max(self.ask_at, self.arrival - (self.burst - 1) * self.interval) - now
        return Grant(admitted, 0, max(1, -(-wait // 1_000_000)), reset)

    def owe(self, units: int, now: int) -> None:
        """Owe the source units that it is to be charged with whatever is left."""
        self.debt += units
        self.arrival = max(self.arrival, now) + units * self.interval
        self.spare = max(0, self.spare - units)

    def draw_up(self, now: int) -> tuple[list[Waiter], Take | None]:
        """Return who waits, and the charge for them, for what is owed and for what is taken ahead; None for nothing."""
        waiting, self.waiting = self.waiting, []
        self.is_pending = False
        units = sum(units for _, units in waiting)
        self.heat = self.heat * 0.5 ** ((now - self.asked_at) / AHEAD) + self.wanted
        self.wanted, self.asked_at = 0, now
        if self.is_leased:
            units += max(0, min(int(self.heat) - 1, AHEAD // self.interval))
        debt, self.debt = self.debt, 0
        if self.own_arrival:
            # What comes back while a process counts alone has come back at the source as well.
            debt += max(0, -(-(self.own_arrival - max(self.arrival, now)) // self.own_interval))
            self.own_arrival = 0
        if not waiting and not units and not debt:
            return waiting, None
        return waiting, Take(self.name, self.interval, self.burst, debt, units)

    def receive(
        self, waiting: list[Waiter], take: Take, answer: tuple[int, int], sent: int, now: int, replicas: int
    ) -> None:
        """Give what was admitted to those who wait, in turn; the rest is the next lease."""
        left, ahead = answer
        known = grant_of(0, ahead, take.interval, take.burst * take.interval)
        self.arrival = sent + ahead + self.debt * self.interval
        # Of what is left others may take their part; what is exact is left as a whole, at this moment.
        self.spare = known.remaining // replicas if self.is_leased else known.remaining
        self.ask_at = 0
        if left < take.units:
            wait = ahead - (take.burst - 1) * take.interval
            if self.is_leased:
                wait = max(wait, min(PACE, take.burst * take.interval // 2))
            self.ask_at = sent + min(wait, BELIEVED)
        # Where others may take what is left, or units gather, one more may have to wait although there is one.
        soonest = max(known.retry_after_ms or -(-take.interval // 1_000_000), -(-(self.ask_at - now) // 1_000_000))
        for waiter, units in waiting:
            part = min(units, left)
            left -= part
            if not waiter.done():
                remaining = min(left + self.spare, take.burst)
                waiter.set_result(Grant(part, remaining, 0 if remaining else soonest, known.reset_seconds))
        if left and self.is_leased:
            self.turn(now)
            if not self.next_units:
                self.next_expires = sent + LEASE
            self.next_units += left
            self.turn(now)
        self._serve(now)

    def _serve(self, now: int) -> None:
        """Answer who came meanwhile, where nothing has to be asked for it."""
        self.turn(now)
        while self.waiting:
            waiter, units = self.waiting[0]
            if now >= self.ask_at and self.units + self.next_units < max(units, 1):
                return
            del self.waiting[0]
            if not waiter.done():
                waiter.set_result(self.view(self.use(units), now))

    def charge_alone(self, units: int, now: int, replicas: int, *, debt: int = 0) -> Grant:
        """Charge by this process's part of the rate, beginning where the source last stood; leases are used first."""
        self.turn(now)
        leased = self.use(units)
        interval = self.interval * replicas
        # A part of the burst takes as long to come back as all of it; one unit passes however many processes there are.
        horizon = max(self.burst * self.interval, interval)
        ahead = max(self.own_arrival or self.arrival, now) - now + debt * interval
        admitted = min(units - leased, max(0, (horizon - ahead) // interval))
        ahead += admitted * interval
        self.own_arrival, self.own_interval = now + ahead, interval
        return grant_of(leased + admitted, ahead, interval, horizon)

    def is_idle(self, now: int) -> bool:
        """Whether nothing would be lost with it."""
        latest = max(self.arrival, self.own_arrival, self.expires, self.next_expires, self.ask_at)
        return latest <= now and not self.is_pending and not self.debt
