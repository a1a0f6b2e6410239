"""What a chain's driver can do, one small protocol per group of operations.

Servicers ask a chain for a capability, never for a family; a driver has a capability by having its methods. All reads
take the request's `ReadView` and settle it. Figures that other operations build on are frozen values; documents are
messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from decimal import Decimal

    from waypost.v1 import block_pb2, log_pb2, token_pb2, transaction_pb2

    from server.catalog.feeds import Feed
    from server.chains.view import ReadView
    from server.upstream.failures import Trouble

State = Literal["ok", "degraded", "down"]


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a chain can be read (decisions section 3.1).

    `height` is the newest block known, None when no node ever told one; `latency` the seconds of the fastest answer,
    None when no node answered; `asked_at` carries UTC. `trouble` is why it is not `ok`.
    """

    state: State
    height: int | None
    latency: float | None
    asked_at: datetime
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Balance:
    """An amount in the smallest unit with the decimals to show it by; `block` is the block it was read at, where known.

    `address` (and `token`) are in canonical writing; `token` is None for the native coin. `decimals` is None where the
    chain does not say how to show the amount.
    """

    address: str
    block: int | None
    raw: int
    decimals: int | None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """What a token says about itself: `name` and `symbol` None where it has none, `total_supply` raw."""

    address: str
    block: int
    name: str | None
    symbol: str | None
    decimals: int
    total_supply: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of an owner's token a spender may move, raw; addresses are in canonical writing."""

    token: str
    owner: str
    spender: str
    block: int
    raw: int
    decimals: int
    symbol: str | None

    @property
    def is_unlimited(self) -> bool:
        """Whether it is 2^255 or more (decisions section 3.7)."""
        return self.raw >= 1 << 255


@dataclass(frozen=True, slots=True)
class Approval:
    """What one known spender may move of one known token, raw, with the decimals to show it by."""

    symbol: str
    token: str
    spender_name: str
    spender: str
    raw: int
    decimals: int

    @property
    def is_unlimited(self) -> bool:
        """Whether it is 2^255 or more (decisions section 3.7)."""
        return self.raw >= 1 << 255


@dataclass(frozen=True, slots=True)
class Approvals:
    """A wallet's allowances that are not zero, all of one block."""

    address: str
    block: int
    rows: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class UnsignedCall:
    """A transaction that somebody has to sign: it calls `to` with `data` and sends no coin."""

    to: str
    sender: str
    data: bytes


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


@dataclass(frozen=True, slots=True)
class BlockRange:
    """A range of blocks as its caller wrote it: decimal numbers, `latest`, or None where left out; and the cursor."""

    from_block: str | None
    to_block: str | None
    cursor: str | None


@dataclass(frozen=True, slots=True)
class GasEstimate:
    """Gas that a transaction would use, and the newest block when that was asked."""

    gas: int
    block: int


@dataclass(frozen=True, slots=True)
class GasPrice:
    """What gas costs now, in wei: base fee of the newest block (0 on chains without one) and priority fee per gas.

    `l1_fee` is what posting a plain transfer to layer 1 costs besides, None where nothing is charged for it or the
    chain does not tell.
    """

    base_fee: int
    priority_fee: int
    l1_fee: int | None


@dataclass(frozen=True, slots=True)
class Quote:
    """A price in US dollars as a contract tells it; `told_at` is when it was reported (unix), None if unknown."""

    price: Decimal
    told_at: int | None


class Driver(Protocol):
    """What every family's driver has besides its capabilities."""

    def last_state(self) -> State | None:
        """Return the last known state without asking a node, None before anything was heard."""
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
        """Return the last known state without asking a node, None before anything was heard."""
        ...


class ReadsHeads(Protocol):
    """Can tell the newest block."""

    async def read_height(self, view: ReadView) -> int:
        """Return the number of the newest block (Solana: slot)."""
        ...


class ReadsBlocks(Protocol):
    """Can read blocks."""

    def block_hash(self, text: str) -> str:
        """Return a block hash in the chain's canonical writing; InvalidArgument where it is none."""
        ...

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block; NotFound where the chain has none of that number."""
        ...

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block; NotFound where no node knows the hash."""
        ...


class ReadsBlockTransactions(Protocol):
    """Can read a block with its full transactions."""

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the answer without its `chain`; NotFound where the chain has no block of that number."""
        ...


class ReadsBalances(Protocol):
    """Can read native balances."""

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the native balance; InvalidArgument (field `address`) for what is no address of the chain."""
        ...


class ReadsTokenBalances(Protocol):
    """Can read balances of fungible tokens."""

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of the token the address holds; NotAToken where there is none."""
        ...


class ReadsTokenMetadata(Protocol):
    """Can tell what a chain says about a token."""

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """Return the answer without its `chain`; NotAToken where there is no such token."""
        ...


class ReadsAllowances(Protocol):
    """Can read ERC-20 allowances."""

    async def read_allowance(self, token: str, owner: str, spender: str, view: ReadView) -> Allowance:
        """Return the allowance; NotAToken where the address answers none."""
        ...


class ReadsGasPrices(Protocol):
    """Can tell what gas costs."""

    async def read_gas_price(self, view: ReadView) -> GasPrice:
        """Return the fees of the newest block."""
        ...


class ReadsFeeds(Protocol):
    """Can read price feeds that live on the chain."""

    async def read_feeds(self, feeds: Sequence[Feed], view: ReadView) -> list[Quote | None]:
        """Return what each feed tells, None for one that tells nothing usable."""
        ...


class PassesCalls(Protocol):
    """Can pass a caller's own call on to a node."""

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """Return the JSON of the node's result, byte for byte; `params` is the JSON that the caller wrote.

        InvalidArgument (fields `method`, `params`) for what is not passed on.
        """
        ...


class ReadsApprovals(Protocol):
    """Can look through a wallet's approvals."""

    async def read_approvals(self, address: str, view: ReadView) -> Approvals:
        """Return what the known spenders may move of the known tokens."""
        ...

    def revoke_approval(self, address: str, token: str, spender: str) -> UnsignedCall:
        """Return the transaction that takes an allowance back; asks no node."""
        ...


class ReadsCode(Protocol):
    """Can read contract code."""

    async def read_code(self, address: str, view: ReadView) -> Code:
        """Return the code at the address, empty where there is none."""
        ...


class SimulatesCalls(Protocol):
    """Can run a call without submitting it."""

    async def simulate_call(self, call: CallRequest, view: ReadView) -> CallResult:
        """Return what the call returns; Reverted with the decoded reason where it reverts."""
        ...


class EstimatesGas(Protocol):
    """Can estimate a transaction's gas."""

    async def estimate_gas(self, call: CallRequest, view: ReadView) -> GasEstimate:
        """Return the estimate; Reverted with the decoded reason where the transaction would revert."""
        ...


class ReadsTransactions(Protocol):
    """Can read transactions by hash."""

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash in the chain's canonical writing; InvalidArgument where it is none."""
        ...

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction; Pending while it is in no block, NotFound where no node knows it."""
        ...


class ReadsReceipts(Protocol):
    """Can tell how a transaction ended."""

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """Return the answer without its `chain`; Pending while it is in no block, NotFound where no node knows it."""
        ...


class ReadsLogs(Protocol):
    """Can search event logs."""

    async def read_logs(
        self, blocks: BlockRange, address: str | None, topic0: str | None, view: ReadView
    ) -> log_pb2.GetLogsResponse:
        """Return one page, newest first, without its `chain`; InvalidArgument for a reversed range or a bad cursor."""
        ...


class ReadsTransfers(Protocol):
    """Can search token transfers of an account."""

    async def read_transfers(self, blocks: BlockRange, address: str, view: ReadView) -> log_pb2.GetTransfersResponse:
        """Return one page, newest first, without its `chain`; errors as for logs."""
        ...


class TracesTransactions(Protocol):
    """Can tell the calls inside a transaction."""

    async def read_trace(self, text: str, view: ReadView) -> transaction_pb2.TraceTransactionResponse:
        """Return the answer without its `chain` and `hash`; NotSupported where no node of the chain traces."""
        ...
