"""Capabilities to read blocks, their transactions, how those ended and what they called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from waypost.v1 import block_pb2, transaction_pb2

    from server.chains.view import ReadView


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


class TracesTransactions(Protocol):
    """Can tell the calls inside a transaction."""

    async def read_trace(self, text: str, view: ReadView) -> transaction_pb2.TraceTransactionResponse:
        """Return the answer without its `chain` and `hash`; NotSupported where no node of the chain traces."""
        ...
