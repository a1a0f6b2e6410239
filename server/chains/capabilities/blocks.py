"""Capabilities to read a chain's head and health, its blocks, their transactions, and to pass callers' calls on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from waypost.v1 import block_pb2, cosmos_validator_pb2, transaction_pb2

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


class ReadsHealth(Protocol):
    """Can report whether its nodes answer."""

    async def read_health(self) -> Health:
        """Ask every node now; raises no error of a node."""
        ...

    def last_state(self) -> State | None:
        """Return the last known state without asking a node, None before the first answer."""
        ...


class ReadsHeads(Protocol):
    """Can read the newest block."""

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
        """Return the block; NotFound where no node has the hash."""
        ...


class ReadsBlockTransactions(Protocol):
    """Can read a block with its full transactions."""

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the answer without its `chain`; NotFound where the chain has no block of that number."""
        ...


class ReadsTransactions(Protocol):
    """Can read transactions by hash."""

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash in the chain's canonical writing; InvalidArgument where it is none."""
        ...

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction; Pending while it is in no block, NotFound where no node has it."""
        ...


class ReadsReceipts(Protocol):
    """Can read how a transaction ended."""

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """Return the answer without its `chain`; Pending while it is in no block, NotFound where no node has it."""
        ...


class TracesTransactions(Protocol):
    """Can read the calls inside a transaction."""

    async def read_trace(self, text: str, view: ReadView) -> transaction_pb2.TraceTransactionResponse:
        """Return the answer without its `chain` and `hash`; NotSupported where no node of the chain traces."""
        ...


class ReadsBlockResults(Protocol):
    """Can read what executing a block did."""

    async def read_block_results(self, number: int, view: ReadView) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """Return the answer without its `chain`; NotFound where the chain has no block of that number."""
        ...


class PassesPaths(Protocol):
    """Can pass a caller's own GET on to the chain's REST gateway."""

    async def pass_path(self, path: str, view: ReadView) -> bytes:
        """Return the JSON of the node's answer, byte for byte; `path` is percent-encoded, with its query.

        InvalidArgument and NotSupported (field `path`) for what is not passed on.
        """
        ...


class PassesCalls(Protocol):
    """Can pass a caller's own call on to a node."""

    async def pass_call(self, method: str, params: bytes | None, view: ReadView, *, is_shared: bool = False) -> bytes:
        """Return the JSON of the node's result, byte for byte; `params` is the JSON that the caller wrote.

        With `is_shared` equal calls share an answer, and short ones a request. InvalidArgument (fields `method`,
        `params`) for what is not passed on.
        """
        ...
