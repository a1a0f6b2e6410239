"""Admission: key, then quota. The one enforcement point for HTTP callers (through AccessService) and gRPC callers.

The principal that a call is charged to, its quota (the generic cell rate algorithm, one theoretical arrival time per
principal, in memory), and how many calls are in flight, by process and by principal (design section 3).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple

from runtime.listening import client_network
from server.errors import KeyInvalid, KeyMissing, RateLimited, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.access.keys import KeyDirectory, KeyRecord


DEMO = "demo"
"""Name of the demo's quota."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A quota: `rate` units a second, `burst` of them at once. A rate of 0 means unlimited: nothing is counted."""

    name: str
    rate: float
    burst: int
    unlimited: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what every call asks."""
        object.__setattr__(self, "unlimited", self.rate <= 0)

    @property
    def weighs_costs(self) -> bool:
        """Whether an operation's cost counts; the demo counts items alone, one per second (contract section 8)."""
        return self.name != DEMO

    @property
    def window_seconds(self) -> int:
        """The time in which a used-up burst is whole again, in whole seconds, at least 1; 0 when unlimited."""
        return 0 if self.unlimited else max(1, ceil(self.burst / self.rate))

    @property
    def limit(self) -> int:
        """Units in the window; 0 when unlimited."""
        return 0 if self.unlimited else self.burst


UNLIMITED = Policy("unlimited", 0, 0)


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller with its quota. `id` is `key:<number>`, `demo:<client address>` or `local`."""

    id: str
    policy: Policy

    def encode(self) -> str:
        """Return the principal as the opaque text that the transcoder sends along."""
        return f"{self.policy.name}/{self.policy.rate!r}/{self.policy.burst}/{self.id}"

    @property
    def label(self) -> str:
        """What logs may name: the key's number, never a client's address."""
        return "demo" if self.id.startswith("demo:") else self.id


LOCAL = Principal("local", UNLIMITED)


@lru_cache(maxsize=4096)
def decode(text: str) -> Principal | None:
    """Return the principal that `Principal.encode` wrote, None for any other text."""
    parts = text.split("/", 3)
    if len(parts) != 4 or not parts[3]:
        return None
    try:
        return Principal(parts[3], Policy(parts[0], float(parts[1]), int(parts[2])))
    except ValueError:
        return None


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
    """Buckets by principal, at most `capacity` of them; full buckets hold nothing and are dropped first."""

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

        The grant holds what is left then.
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


class ConcurrencyLimiter:
    """Counts calls in flight and refuses those beyond the limits at once; unlimited principals have only the first."""

    def __init__(self, limit: int = 2000, limit_per_principal: int = 256) -> None:
        self._limit = limit
        self._limit_per_principal = limit_per_principal
        self._by_principal: defaultdict[str, int] = defaultdict(int)
        self.total = 0

    def enter(self, principal: Principal) -> None:
        """Count a call in; every success needs a `leave`. Raises UpstreamUnavailable (process) or RateLimited (key)."""
        if self.total >= self._limit:
            raise UpstreamUnavailable(
                f"the gateway already has {self._limit} calls in flight; try again shortly", retry_after_ms=1000
            )
        name = principal.id
        flying = self._by_principal[name]
        if flying >= self._limit_per_principal and not principal.policy.unlimited:
            raise RateLimited(
                f"this key already has {self._limit_per_principal} calls in flight; wait for answers first",
                retry_after_ms=250,
            )
        self._by_principal[name] = flying + 1
        self.total += 1

    def leave(self, principal: Principal) -> None:
        """Count a call out."""
        name = principal.id
        flying = self._by_principal[name] - 1
        if flying:
            self._by_principal[name] = flying
        else:
            del self._by_principal[name]
        self.total -= 1


RESERVED_KEYS = {
    "local": "the key `local` works on the devnet only; create a key with `waypost keys create`",
    "demo": "`demo` is no API key; the demo is a route of the HTTP face, gRPC callers need a key",
}
"""Words that are never keys in the store, and why they open nothing: `local` is the fixed key of the devnet."""


class Admission:
    """Identifies callers and charges their quotas.

    `accepts_local` is true on the devnet alone. `default` is the quota of keys that have none of their own, `demo` that
    of one client address on the demo route.
    """

    def __init__(
        self,
        directory: KeyDirectory,
        quotas: Quotas,
        limiter: ConcurrencyLimiter,
        *,
        accepts_local: bool,
        default: Policy,
        demo: Policy,
    ) -> None:
        self.quotas = quotas
        self.limiter = limiter
        self._directory = directory
        self._fixed = {"local": LOCAL} if accepts_local else {}
        self._default = default
        self._demo = demo
        # A key's quota never changes; one entry for each live key.
        self._principals: dict[int, Principal] = {}

    def peek(self, api_key: str) -> Principal | None:
        """Return the key's owner where it is known without waiting, else None. Raises as `identify` does."""
        fixed = self._fixed.get(api_key)
        if fixed is not None:
            return fixed
        if not api_key:
            raise KeyMissing("no API key was given; send it as metadata `x-api-key` or `authorization: Bearer <key>`")
        if api_key in RESERVED_KEYS:
            raise KeyInvalid(RESERVED_KEYS[api_key])
        record = self._directory.peek(api_key)
        return None if record is None else self._principal(record)

    async def identify(self, api_key: str) -> Principal:
        """Return the key's owner. Raises KeyMissing for an empty key, KeyInvalid for one that opens nothing."""
        principal = self.peek(api_key)
        if principal is not None:
            return principal
        record = await self._directory.find(api_key)
        if record is None:
            raise KeyInvalid("the API key is unknown or revoked; check that it was copied whole")
        return self._principal(record)

    def _principal(self, record: KeyRecord) -> Principal:
        principal = self._principals.get(record.id)
        if principal is None:
            principal = self._principals[record.id] = self._owner(record)
        return principal

    def demo_client(self, address: str) -> Principal:
        """Return the principal of a client address on the demo route; all of an IPv6 /64 are one client."""
        return Principal(f"demo:{client_network(address)}", self._demo)

    def _owner(self, record: KeyRecord) -> Principal:
        if record.rate is None and record.burst is None:
            return Principal(f"key:{record.id}", self._default)
        rate, burst = record.rate or self._default.rate, record.burst or self._default.burst
        return Principal(f"key:{record.id}", Policy("key", rate, burst))
