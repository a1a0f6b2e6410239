"""What every driver has: a state, addresses in one writing, its capabilities by type, callers' own calls passed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from server.chains.view import ReadView
    from server.upstream.failures import Trouble

State = Literal["ok", "degraded", "down"]


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a chain can be read (decisions section 3.1).

    `height` is the newest block known, None when no node ever reported one; `latency` the seconds of the fastest
    answer, None when no node answered; `asked_at` carries UTC. `trouble` is why it is not `ok`.
    """

    state: State
    height: int | None
    latency: float | None
    asked_at: datetime
    trouble: Trouble | None = None


class Driver(Protocol):
    """What every family's driver has besides the capabilities that are its own methods.

    `capabilities` holds others by their type, each an object that has it; a type that stands there is not looked for
    among the methods.
    """

    capabilities: Mapping[object, object]

    def last_state(self) -> State | None:
        """Return the last known state without asking a node, None before the first answer."""
        ...

    async def close(self) -> None:
        """Give up everything in flight."""
        ...


class WritesAddresses(Protocol):
    """Has one canonical writing of addresses, which its answers use."""

    def canonical_address(self, text: str) -> str:
        """Return the address in that writing; InvalidArgument for what is no address of the chain."""
        ...


class ReadsHealth(Protocol):
    """Can tell whether its nodes answer."""

    async def read_health(self) -> Health:
        """Ask every node now; never raises for a node's sake."""
        ...

    def last_state(self) -> State | None:
        """Return the last known state without asking a node, None before the first answer."""
        ...


class ReadsHeads(Protocol):
    """Can tell the newest block."""

    async def read_height(self, view: ReadView) -> int:
        """Return the number of the newest block (Solana: slot)."""
        ...


class PassesCalls(Protocol):
    """Can pass a caller's own call on to a node."""

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """Return the JSON of the node's result, byte for byte; `params` is the JSON that the caller wrote.

        InvalidArgument (fields `method`, `params`) for what is not passed on.
        """
        ...
