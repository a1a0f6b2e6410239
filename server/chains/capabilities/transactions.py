"""Capabilities to read transactions, how they ended and what they called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from waypost.v1 import transaction_pb2

    from server.chains.view import ReadView


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
