"""The capability to run a call that changes state, without sending it, and to tell everything that it would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from server.chains.capabilities import CallRequest
    from server.chains.view import ReadView


class SimulatedLog(NamedTuple):
    """A log that the call would write: the contract, checksummed, topics and data in hex."""

    address: str
    topics: tuple[str, ...]
    data: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a call would do on the state of `block`.

    `data` is what it returned, or reverted with. `gas` and `logs` are None where no node of the chain can tell them.
    `reason` is set for a call that failed.
    """

    succeeded: bool
    data: bytes
    gas: int | None
    logs: tuple[SimulatedLog, ...] | None
    reason: str | None
    block: int


class SimulatesTransactions(Protocol):
    """Can run a call as a transaction of its sender would run."""

    async def simulate_transaction(self, call: CallRequest, view: ReadView) -> Simulation:
        """Return what the call would do at the view's block, which it settles.

        A call that fails is an outcome, not an error. Reverted means that it cannot be run at all: its sender cannot
        pay `value`.
        """
        ...
