"""Admission: key, then quota. The one enforcement point for HTTP callers (through AccessService) and gRPC callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.addresses import client_network
from server.access.principals import LOCAL, Policy, Principal
from server.errors import KeyInvalid, KeyMissing

if TYPE_CHECKING:
    from server.access.directory import KeyDirectory
    from server.access.flights import Flights
    from server.access.keys import KeyRecord
    from server.access.quotas import Quotas

RESERVED_KEYS = {
    "local": "the key `local` works on the devnet only; create a key with `waypost keys create`",
    "demo": "`demo` is no API key; the demo is a route of the HTTP face, gRPC callers need a key",
}
"""Words that are never keys in the store, and why they open nothing: `local` is the fixed key of the devnet."""


class Admission:
    """Who may call, at which quota.

    `accepts_local` is true on the devnet alone. `default` is the quota of keys that have none of their own, `demo` that
    of one client address on the demo route.
    """

    def __init__(
        self,
        directory: KeyDirectory,
        quotas: Quotas,
        flights: Flights,
        *,
        accepts_local: bool,
        default: Policy,
        demo: Policy,
    ) -> None:
        self.quotas = quotas
        self.flights = flights
        self._directory = directory
        self._fixed = {"local": LOCAL} if accepts_local else {}
        self._default = default
        self._demo = demo
        # A key's quota never changes; one entry for each live key.
        self._principals: dict[int, Principal] = {}

    def peek(self, api_key: str) -> Principal | None:
        """Return whose key it is where that is known without waiting, else None. Raises as `identify` does."""
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
        """Return whose key it is. Raises KeyMissing for an empty key, KeyInvalid for one that opens nothing."""
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
