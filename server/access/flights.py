"""How many calls are in flight, by process and by principal (design section 3)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from server.errors import RateLimited, UpstreamUnavailable

if TYPE_CHECKING:
    from server.access.principals import Principal


class Flights:
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
