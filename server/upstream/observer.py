"""What the pools tell whoever counts: requests, items, failures, states. Endpoints are named by label only."""

from __future__ import annotations

from typing import Literal, Protocol

Purpose = Literal["call", "probe", "verify"]


class Observer(Protocol):
    """Receives the events of all pools; called on the event loop, so it must be quick and must not raise."""

    def sent(self, chain: str, endpoint: str, purpose: Purpose, items: int) -> None:
        """One HTTP request with `items` JSON-RPC calls left."""
        ...

    def answered(self, chain: str, endpoint: str, seconds: float) -> None:
        """One HTTP request came back with something readable."""
        ...

    def failed(self, chain: str, endpoint: str, kind: str) -> None:
        """One attempt at one endpoint failed; `kind` is out of a closed set (`failures.Kind`)."""
        ...

    def joined(self, chain: str) -> None:
        """One call shares the answer of an identical one in flight."""
        ...

    def changed(self, chain: str, endpoint: str, state: str) -> None:
        """An endpoint's state changed: `closed`, `open`, `limited`, `excluded`, `admitted`."""
        ...


class Unobserved:
    """An observer that counts nothing."""

    def sent(self, chain: str, endpoint: str, purpose: Purpose, items: int) -> None:
        """Count nothing."""

    def answered(self, chain: str, endpoint: str, seconds: float) -> None:
        """Count nothing."""

    def failed(self, chain: str, endpoint: str, kind: str) -> None:
        """Count nothing."""

    def joined(self, chain: str) -> None:
        """Count nothing."""

    def changed(self, chain: str, endpoint: str, state: str) -> None:
        """Count nothing."""
