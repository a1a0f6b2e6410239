"""What the pools tell whoever counts: requests, calls, failures, states. Endpoints are named by label only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from runtime import metrics

if TYPE_CHECKING:
    from server.upstream.failures import Kind

Purpose = Literal["call", "heavy", "probe", "verify", "head"]
"""Why a request leaves: for callers, for one costly call, to see how an endpoint is, to check its chain, to learn its
head."""

State = Literal["closed", "open", "hung", "answers", "limited", "excluded", "admitted"]
"""What became of an endpoint: its breaker closed or opened, it hangs or answers again, it throttles us, it serves the
wrong or the right chain."""


class Observer(Protocol):
    """Receives the events of all pools; called on the event loop, so it must be quick and must not raise."""

    def sent(self, chain: str, endpoint: str, purpose: Purpose, calls: int) -> None:
        """One HTTP request with that many JSON-RPC calls left."""
        ...

    def ended(self, chain: str, endpoint: str, outcome: metrics.Outcome, seconds: float, calls: int) -> None:
        """One HTTP request came to its end."""
        ...

    def failed(self, chain: str, endpoint: str, kind: Kind) -> None:
        """One call got no result from one endpoint."""
        ...

    def joined(self, chain: str) -> None:
        """One call shares the answer of an identical one in flight."""
        ...

    def hedged(self, chain: str, endpoint: str) -> None:
        """One call was asked of this endpoint as well, because the first one took long."""
        ...

    def disagreed(self, chain: str, endpoint: str, block: int) -> None:
        """An endpoint told another hash of the block than others did."""
        ...

    def changed(self, chain: str, endpoint: str, state: State) -> None:
        """An endpoint is in another state than before."""
        ...

    def moved(self, chain: str, head: int) -> None:
        """The chain's head is another block than before."""
        ...


class Measured:
    """The observer that counts for Prometheus."""

    def sent(self, chain: str, endpoint: str, purpose: Purpose, calls: int) -> None:
        """Count nothing: requests are counted when they end."""

    def ended(self, chain: str, endpoint: str, outcome: metrics.Outcome, seconds: float, calls: int) -> None:
        """Count the request with its outcome, seconds and calls."""
        metrics.count_upstream(chain, endpoint, outcome, seconds, calls)

    def failed(self, chain: str, endpoint: str, kind: Kind) -> None:
        """Count the failure by kind."""
        metrics.count_upstream_failure(chain, endpoint, kind.value)

    def joined(self, chain: str) -> None:
        """Count the joined call."""
        metrics.count_joined(chain)

    def hedged(self, chain: str, endpoint: str) -> None:
        """Count the hedge."""
        metrics.count_hedge(chain, endpoint)

    def disagreed(self, chain: str, endpoint: str, block: int) -> None:
        """Count the disagreement."""
        metrics.count_disagreement(chain, endpoint)

    def changed(self, chain: str, endpoint: str, state: State) -> None:
        """Show the endpoint as used or passed over; throttling passes by itself and is counted as a failure."""
        if state != "limited":
            metrics.set_endpoint_up(chain, endpoint, state in ("closed", "answers", "admitted"))

    def moved(self, chain: str, head: int) -> None:
        """Show the head."""
        metrics.set_head(chain, head)
