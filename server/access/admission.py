"""Admission: key, then quota. The one enforcement point for HTTP callers (through AccessService) and gRPC callers.

The principal that a call is charged to, by which policy, and how many calls are in flight, by process and by principal
(design section 3). The quotas themselves are `server.access.quotas`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from runtime.fair_share import FairShare
from runtime.listening import client_network
from server.access.keys import Rights, is_ticket_text
from server.errors import KeyInvalid, KeyMissing, RateLimited, UpstreamUnavailable

if TYPE_CHECKING:
    from runtime.settings import QuotaSettings
    from server.access.directory import KeyDirectory
    from server.access.keys import KeyRecord
    from server.access.quotas import ChargesQuotas, Grant
    from server.errors import GatewayError


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
    """A caller with its quota. `id` is `key:<number>`, `demo:<client address>` or `local`.

    `rights` are None where it may do everything. `label` is what logs may name and usage is counted for: the key's
    number, never a client's address.
    """

    id: str
    policy: Policy
    rights: Rights | None = None
    label: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what every call asks."""
        object.__setattr__(self, "label", "demo" if self.id.startswith("demo:") else self.id)

    def encode(self) -> str:
        """Return the principal as the opaque text that the transcoder sends along."""
        rights = self.rights or _ALL
        quota = f"{self.policy.name}/{self.policy.rate!r}/{self.policy.burst}"
        return f"{quota}/{_listed(rights.operations)}/{_listed(rights.chains)}/{self.id}"


LOCAL = Principal("local", UNLIMITED)

_ALL = Rights()
_ANY = "-"


def _listed(words: frozenset[str] | None) -> str:
    return _ANY if words is None else ",".join(sorted(words))


def _words(text: str) -> frozenset[str] | None:
    return None if text == _ANY else frozenset(text.split(","))


@lru_cache(maxsize=4096)
def decode(text: str) -> Principal | None:
    """Return the principal that `Principal.encode` wrote, None for any other text."""
    parts = text.split("/", 5)
    if len(parts) != 6 or not parts[5]:
        return None
    rights = Rights(_words(parts[3]), _words(parts[4]))
    try:
        policy = Policy(parts[0], float(parts[1]), int(parts[2]))
        return Principal(parts[5], policy, None if rights == _ALL else rights)
    except ValueError:
        return None


# What all clients of the demo may have in flight of the process's limit, if one of them asks alone: they bring no key.
_DEMO_PART = 10


class ConcurrencyLimiter:
    """Counts calls in flight and refuses those beyond the limits at once.

    One principal alone may have as many as the process; several share it fairly (`FairShare`), the whole demo being one
    of them, with a tenth of the limit that its clients share likewise. `limit_per_principal` is the most of one key in
    any case, where that is given; unlimited principals are not bound by it.
    """

    def __init__(self, limit: int = 2000, limit_per_principal: int | None = None) -> None:
        self._calls = FairShare(limit)
        self._demo = FairShare(max(1, limit // _DEMO_PART))
        self._limit_per_principal = limit_per_principal

    @property
    def total(self) -> int:
        """The calls in flight."""
        return self._calls.total

    def enter(self, principal: Principal) -> None:
        """Count a call in; every success needs a `leave`.

        Raises RateLimited for a principal that has more than its part while others have calls in flight, and for one
        at its own limit; else UpstreamUnavailable where the process has no room.
        """
        share = principal.label
        most = self._limit_per_principal
        if most is not None and self._calls.held(share) >= most and not principal.policy.unlimited:
            raise _crowded(f"this key already has {most} calls in flight; wait for answers first")
        if share == DEMO and not self._demo.enter(principal.id):
            raise _crowded("the demo already has as many calls in flight as it may; try again shortly")
        if not self._calls.enter(share):
            if share == DEMO:
                self._demo.leave(principal.id)
            raise self._refusal(share)

    def _refusal(self, share: str) -> GatewayError:
        calls = self._calls
        if calls.is_over_part(share):
            return _crowded(
                f"this key has {calls.held(share)} of the gateway's {calls.total} calls in flight, its part while"
                " others have some too; wait for answers first"
            )
        return UpstreamUnavailable(
            f"the gateway already has {calls.total} calls in flight; try again shortly", retry_after_ms=1000
        )

    def room(self, principal: Principal, reserved: int = 0) -> int:
        """Return how many more calls the principal may have in flight now, if it has reserved so many."""
        share = principal.label
        room = self._calls.room(share, reserved)
        if self._limit_per_principal is not None and not principal.policy.unlimited:
            room = min(room, self._limit_per_principal - max(self._calls.held(share), reserved))
        return max(0, room)

    def leave(self, principal: Principal) -> None:
        """Count a call out."""
        share = principal.label
        self._calls.leave(share)
        if share == DEMO:
            self._demo.leave(principal.id)


def _crowded(message: str) -> RateLimited:
    return RateLimited(message, retry_after_ms=250)


_EXPIRED_TICKET = "the ticket has expired, or its key was revoked; have another one issued for the key"

RESERVED_KEYS = {
    "local": "the key `local` works on the devnet only; create a key with `waypost keys create`",
    DEMO: "`demo` opens the public faces alone: `/demo/v1`, and over gRPC the metadata `x-api-key: demo`",
}
"""Words that are never keys in the store, and why they open nothing: `local` is the fixed key of the devnet."""


def over_quota(principal: Principal, grant: Grant) -> RateLimited:
    """Return the failure of what the grant does not admit."""
    return RateLimited(
        f"the quota of {principal.policy.rate:g} calls a second is used up; try again in {grant.retry_after_ms} ms",
        retry_after_ms=grant.retry_after_ms,
    )


def policies_of(quotas: QuotaSettings) -> tuple[Policy, Policy]:
    """Return the quota of keys that have none of their own, and that of a client of the demo."""
    return (
        Policy("default", quotas.default_rate, quotas.default_burst),
        Policy(DEMO, quotas.demo_rate, quotas.demo_burst),
    )


class Admission:
    """Identifies callers and charges their quotas.

    `accepts_local` is true on the devnet alone. `default` is the quota of keys that have none of their own, `demo` that
    of one client address on the demo route.
    """

    def __init__(
        self,
        directory: KeyDirectory,
        quotas: ChargesQuotas,
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
        # One entry for each live key, with the record that it was made of.
        self._principals: dict[int, tuple[KeyRecord, Principal]] = {}

    def set_policies(self, default: Policy, demo: Policy) -> None:
        """Give keys without a quota of their own, and the demo, these quotas from now on; what was used stays."""
        self._default, self._demo = default, demo
        self._principals.clear()

    def peek(self, api_key: str) -> Principal | None:
        """Return the key's owner where it is known without waiting, else None. Raises as `identify` does."""
        fixed = self._fixed.get(api_key)
        if fixed is not None:
            return fixed
        if not api_key:
            raise KeyMissing(
                "no API key was given; send it as metadata `x-api-key` or `authorization: Bearer <key>`,"
                " or `demo` to try it out"
            )
        if api_key in RESERVED_KEYS:
            raise KeyInvalid(RESERVED_KEYS[api_key])
        record = self._directory.peek(api_key)
        return None if record is None else self._principal(record)

    async def identify(self, api_key: str) -> Principal:
        """Return the key's owner.

        Raises KeyMissing for an empty key, KeyInvalid for one that opens nothing, UpstreamUnavailable where that cannot
        be known.
        """
        principal = self.peek(api_key)
        if principal is not None:
            return principal
        record = await self._directory.find(api_key)
        if record is None:
            if is_ticket_text(api_key):
                raise KeyInvalid(_EXPIRED_TICKET)
            raise KeyInvalid("the API key is unknown or revoked; check that it was copied whole")
        return self._principal(record)

    async def issue_ticket(self, api_key: str) -> str:
        """Return a ticket for the text of an identified key. Raises UpstreamUnavailable."""
        return await self._directory.issue_ticket(api_key)

    async def refresh(self) -> None:
        """Have the keys read again, for `still`. While the database is away what was last known holds."""
        await self._directory.refresh()

    def still(self, principal: Principal, api_key: str) -> Principal:
        """Return what an admitted caller is by now: the same object where nothing has changed.

        `api_key` is the key that it brought, empty where a trusted caller vouched for it. Raises KeyInvalid where it is
        revoked or has expired.
        """
        kind, _, number = principal.id.partition(":")
        if kind != "key":
            return principal
        record = self._directory.known(api_key) if api_key else self._directory.known_by_id(int(number))
        if record is None:
            raise KeyInvalid(
                _EXPIRED_TICKET if is_ticket_text(api_key) else "the API key was revoked; ask for a new one"
            )
        present = self._principal(record)
        return principal if present == principal else present

    def _principal(self, record: KeyRecord) -> Principal:
        if record.expires_at is not None and record.expires_at <= datetime.now(UTC):
            raise KeyInvalid(f"the API key expired at {record.expires_at:%Y-%m-%dT%H:%M:%SZ}; ask for a new one")
        known = self._principals.get(record.id)
        # A changed key comes in another record.
        if known is None or known[0] is not record:
            known = self._principals[record.id] = (record, self._owner(record))
        return known[1]

    def demo_client(self, address: str) -> Principal:
        """Return the principal of a client address on the demo, of both faces; all of an IPv6 /64 are one client."""
        return Principal(f"demo:{client_network(address)}", self._demo)

    def _owner(self, record: KeyRecord) -> Principal:
        if record.rate is None and record.burst is None:
            return Principal(f"key:{record.id}", self._default, record.rights)
        rate, burst = record.rate or self._default.rate, record.burst or self._default.burst
        return Principal(f"key:{record.id}", Policy("key", rate, burst), record.rights)
