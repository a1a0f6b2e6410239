"""What brings the calls of one pool to one endpoint and their answers back, whatever the protocol.

`Batcher` (JSON-RPC) and `Getter` (REST) are the carriers; selection, health, journeys and checks only know this seam.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from server.upstream.failures import Failure, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime import metrics
    from server.upstream.http import HttpAnswer
    from server.upstream.jsonrpc import Outcome
    from server.upstream.observer import Purpose

Call = TypeVar("Call")
CarriedCall = TypeVar("CarriedCall", contravariant=True)

Cargo: TypeAlias = "Call | tuple[Call, ...]"
"""What one journey carries: a call as the pool's carriers take it (never a tuple), or those of a bundle in order."""

TOO_MANY_REQUESTS = 429


class Exchange:
    """One HTTP request and its answer, shared by its calls, so that it counts once for or against the endpoint."""

    __slots__ = ("blamed", "credited", "headers", "retry_after", "seconds", "started", "status")

    def __init__(self, started: float) -> None:
        self.started = started
        self.status = 0
        self.retry_after: float | None = None
        self.headers: Mapping[str, str] = {}
        self.seconds = 0.0
        self.blamed = False
        self.credited = False

    def take(self, answer: HttpAnswer) -> None:
        """Take note of what HTTP told besides the body."""
        self.status, self.retry_after, self.headers = answer.status, answer.retry_after, answer.headers


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one call, and the exchange that it was part of; of a bundle the results in its calls' order."""

    outcome: Outcome | tuple[bytes, ...]
    exchange: Exchange


class Carrier(Protocol[CarriedCall]):
    """Sends the calls of one endpoint; never raises for the endpoint's sake.

    What a call is, its pool and its carrier alone know: bytes of JSON-RPC, or a structured request of REST. It can be
    hashed, and equal calls ask the same.
    """

    async def submit(self, call: CarriedCall, timeout: float, *, held: bool = False) -> Answer:
        """Return what became of a cheap call, which may share its request with others."""
        ...

    async def submit_alone(
        self, cargo: CarriedCall | tuple[CarriedCall, ...], timeout: float, purpose: Purpose = "heavy"
    ) -> Answer:
        """Return what became of a call, or of a bundle, that shares its request with no other."""
        ...

    def give_up(self, failure: Failure) -> None:
        """End every call in flight with this failure."""
        ...

    async def close(self) -> None:
        """Give up what is in flight."""
        ...


def outcome_of(got: HttpAnswer | Failure | None) -> metrics.Outcome:
    """Return how a request ended, as far as HTTP tells; None is a request that was given up."""
    if got is None:
        return "cancelled"
    if isinstance(got, Failure):
        return "timeout" if got.kind is Kind.TIMED_OUT else "sick"
    if got.status == TOO_MANY_REQUESTS:
        return "limited"
    return "sick" if got.status >= 500 else "answer"


def explain_status(failure: Failure, got: HttpAnswer) -> Failure:
    """Return the failure of a body that is no answer, told by the HTTP status where that says more."""
    if got.status == TOO_MANY_REQUESTS:
        return Failure(Kind.LIMITED, "HTTP 429", got.retry_after)
    if got.status != 200:
        return Failure(Kind.HTTP_STATUS, f"HTTP {got.status}", got.retry_after)
    return failure
