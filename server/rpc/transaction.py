"""TransactionService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import transaction_pb2, transaction_pb2_grpc

from server.chains.capabilities.blocks import ReadsReceipts, ReadsTransactions, TracesTransactions
from server.rpc.pipeline.call import open_view
from server.rpc.rows import check_items, gather_rows, open_row, row_error

if TYPE_CHECKING:
    from server.chains.registry import Chains


class TransactionServicer(transaction_pb2_grpc.TransactionServiceServicer):
    """Reads of transactions (contract section 4.8)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def GetReceipt(
        self, request: transaction_pb2.GetReceiptRequest, context: Any
    ) -> transaction_pb2.GetReceiptResponse:
        """Return how a transaction ended."""
        reader = self._chains.capability(request.chain, ReadsReceipts)
        response = await reader.read_receipt(request.hash, open_view())
        response.chain = request.chain
        return response

    async def GetTransactionByHash(
        self, request: transaction_pb2.GetTransactionByHashRequest, context: Any
    ) -> transaction_pb2.GetTransactionByHashResponse:
        """Return transactions by hash, each in its row."""
        check_items(lambda item: self._reader(item.chain).transaction_hash(item.hash), request.items)

        async def read(
            item: transaction_pb2.GetTransactionByHashItem,
        ) -> transaction_pb2.GetTransactionByHashResult:
            transaction = await self._reader(item.chain).read_transaction(item.hash, open_row())
            return transaction_pb2.GetTransactionByHashResult(chain=item.chain, hash=item.hash, value=transaction)

        rows = await gather_rows(
            [read(item) for item in request.items],
            lambda index, error: transaction_pb2.GetTransactionByHashResult(
                chain=request.items[index].chain, hash=request.items[index].hash, error=row_error(error)
            ),
            lambda index: request.items[index].chain,
        )
        return transaction_pb2.GetTransactionByHashResponse(count=len(rows), results=rows)

    async def TraceTransaction(
        self, request: transaction_pb2.TraceTransactionRequest, context: Any
    ) -> transaction_pb2.TraceTransactionResponse:
        """Return the calls inside a transaction."""
        tracer = self._chains.capability(request.chain, TracesTransactions)
        response = await tracer.read_trace(request.hash, open_view())
        response.chain, response.hash = request.chain, request.hash
        return response

    def _reader(self, slug: str) -> ReadsTransactions:
        return self._chains.capability(slug, ReadsTransactions)
