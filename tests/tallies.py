"""Exact counts of the HTTP requests that callers cause; what a gateway asks for itself does not count."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from server.upstream.transport import PrometheusObserver

Noted = TypeVar("Noted")

CALLERS = ("call", "heavy")


class Tally(PrometheusObserver, ABC, Generic[Noted]):
    """Lists the requests in their order, each as `note` puts it."""

    def __init__(self) -> None:
        self.requests: list[Noted] = []

    def sent(self, chain: str, endpoint: str, purpose: str, calls: int) -> None:
        if purpose in CALLERS:
            self.requests.append(self.note(chain, endpoint, calls))

    @abstractmethod
    def note(self, chain: str, endpoint: str, calls: int) -> Noted:
        """Return what is listed of a request."""


class CallTally(Tally[int]):
    """Lists how many JSON-RPC calls each request carried."""

    def note(self, chain: str, endpoint: str, calls: int) -> int:
        return calls


class EndpointTally(Tally[str]):
    """Lists the endpoints that were asked."""

    def note(self, chain: str, endpoint: str, calls: int) -> str:
        return endpoint


class ChainTally(Tally[str]):
    """Lists the chains, or sources, that were asked."""

    def note(self, chain: str, endpoint: str, calls: int) -> str:
        return chain
