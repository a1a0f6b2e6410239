"""Capabilities to call contracts, to read their code and price feeds, and to read what gas costs.

`CallsContracts` is for readers of contracts that belong to no family: names, NFTs, published methods, protocols.
They share the planner: their reads fold with all other reads of the same block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from server.catalog.feeds import Feed
    from server.chains.view import ReadView
    from server.contracts.calls import CallGroup, ContractCall, ContractOutcome


@dataclass(frozen=True, slots=True)
class Code:
    """The code at an address; `delegated_to` is the target of an EIP-7702 delegation."""

    address: str
    block: int
    code: bytes
    delegated_to: str | None


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call as its caller made it: target, calldata in hex, sender, wei, block (None: the latest)."""

    to: str
    data: str | None = None
    sender: str | None = None
    value: int | None = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a simulated call returned, and the block it ran at."""

    data: bytes
    block: int


class SimulatedLog(NamedTuple):
    """A log that the call would write: the contract, checksummed, topics and data in hex."""

    address: str
    topics: tuple[str, ...]
    data: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a call would do on the state of `block`.

    `data` is what it returned, or reverted with. `gas` and `logs` are None where no node of the chain can report them.
    `reason` is set for a call that failed.
    """

    succeeded: bool
    data: bytes
    gas: int | None
    logs: tuple[SimulatedLog, ...] | None
    reason: str | None
    block: int


class ReadsCode(Protocol):
    """Can read contract code."""

    async def read_code(self, address: str, view: ReadView) -> Code:
        """Return the code at the address, empty where there is none."""
        ...


class ReadsPrograms(Protocol):
    """Can read whether there is code at an address."""

    async def read_program_size(self, address: str, view: ReadView) -> int:
        """Return how many bytes of it there are, 0 where there is none."""
        ...


class CallsContracts(Protocol):
    """Can call contracts without changing anything."""

    async def call_contracts(
        self, calls: Sequence[ContractCall], view: ReadView, *, are_known: bool
    ) -> list[ContractOutcome]:
        """Return the outcomes of all calls at the view's block, which it settles: one upstream request.

        `are_known` states that every address comes from the gateway's own data: such calls run in one execution with
        those of other requests. Calls to addresses that a caller chose, or that a contract returned, run apart.
        A call that reverts is an outcome, not an error; GatewayError means that no node answered.
        """
        ...

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        """Return the outcomes of all groups at one block, which settles the view: one upstream request.

        However many executions it takes, they leave as one JSON-RPC batch. Each group is looked up in the chain's
        cache and kept there by itself: one that does not depend on the wallet serves every wallet of that block. A
        group without calls is not asked. A call that reverts is an outcome.

        Raises:
            MovedOn: the chain moved on, or replaced the block, faster than it was read; with the time to try again.
            GatewayError: no node answered.
        """
        ...

    async def call_groups_back(
        self, groups: Sequence[CallGroup], seconds: float, view: ReadView
    ) -> tuple[int, list[list[ContractOutcome]]] | None:
        """Return a block and the outcomes of all groups at it; None where no node has the state of that block.

        It is as many blocks before the view's as the chain makes in so many seconds (`block_time` in chains.toml);
        before the newest block known where the view has none yet, so that both leave in one upstream request. The
        groups read that block's time themselves. The view is left as it is.

        Raises:
            GatewayError: no node answered.
        """
        ...


class SimulatesCalls(Protocol):
    """Can run a call without submitting it."""

    async def simulate_call(self, call: CallRequest, view: ReadView) -> CallResult:
        """Return what the call returns; Reverted with the decoded reason where it reverts."""
        ...


class SimulatesTransactions(Protocol):
    """Can run a call as a transaction of its sender would run."""

    async def simulate_transaction(self, call: CallRequest, view: ReadView) -> Simulation:
        """Return what the call would do at the view's block, which it settles.

        A call that fails is an outcome, not an error. Reverted means that it cannot be run at all: its sender cannot
        pay `value`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Quote:
    """A price in US dollars as a contract reports it; `told_at` is when it was reported (unix), None if unknown."""

    price: Decimal
    told_at: int | None


class ReadsFeeds(Protocol):
    """Can read price feeds on the chain."""

    async def read_feeds(self, feeds: Sequence[Feed], view: ReadView) -> list[Quote | None]:
        """Return what each feed reports, None for one that reports nothing usable."""
        ...


@dataclass(frozen=True, slots=True)
class GasEstimate:
    """Gas that a transaction would use, and the newest block when that was asked."""

    gas: int
    block: int


@dataclass(frozen=True, slots=True)
class GasPrice:
    """What gas costs now, in wei: base fee of the newest block (0 on chains without one) and priority fee per gas.

    `l1_fee` is what posting a plain transfer to layer 1 costs besides, None where nothing is charged for it or the
    chain does not report it.
    """

    base_fee: int
    priority_fee: int
    l1_fee: int | None


class ReadsGasPrices(Protocol):
    """Can read what gas costs."""

    async def read_gas_price(self, view: ReadView) -> GasPrice:
        """Return the fees of the newest block."""
        ...


class EstimatesGas(Protocol):
    """Can estimate a transaction's gas."""

    async def estimate_gas(self, call: CallRequest, view: ReadView) -> GasEstimate:
        """Return the estimate; Reverted with the decoded reason where the transaction would revert."""
        ...
