"""BlockService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import block_pb2, block_pb2_grpc

from server.chains.capabilities.blocks import ReadsBlocks, ReadsBlockTransactions, ReadsHeads
from server.rpc.pipeline.call import open_view
from server.rpc.rows import check_items, gather_rows, open_row, row_error

if TYPE_CHECKING:
    from server.chains.registry import Chains


class BlockServicer(block_pb2_grpc.BlockServiceServicer):
    """Reads of blocks (contract section 4.2)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def GetBlockHeight(
        self, request: block_pb2.GetBlockHeightRequest, context: Any
    ) -> block_pb2.GetBlockHeightResponse:
        """Return the newest block; `chain` is the hexadecimal chain id on EVM chains."""
        chain = self._chains.get(request.chain)
        height = await chain.capability(ReadsHeads).read_height(open_view())
        return block_pb2.GetBlockHeightResponse(chain=chain.hex_id, height=height)

    async def GetBlockTransactions(
        self, request: block_pb2.GetBlockTransactionsRequest, context: Any
    ) -> block_pb2.GetBlockTransactionsResponse:
        """Return the full transactions of one block."""
        reader = self._chains.capability(request.chain, ReadsBlockTransactions)
        response = await reader.read_block_transactions(request.block_number, open_view())
        response.chain = request.chain
        return response

    async def GetBlockByNumber(
        self, request: block_pb2.GetBlockByNumberRequest, context: Any
    ) -> block_pb2.GetBlockByNumberResponse:
        """Return blocks by number, each in its row."""

        async def read(item: block_pb2.GetBlockByNumberItem) -> block_pb2.GetBlockByNumberResult:
            block = await self._reader(item.chain).read_block_by_number(item.block, open_row())
            return block_pb2.GetBlockByNumberResult(chain=item.chain, height=str(item.block), value=block)

        rows = await gather_rows(
            [read(item) for item in request.items],
            lambda index, error: block_pb2.GetBlockByNumberResult(
                chain=request.items[index].chain, height=str(request.items[index].block), error=row_error(error)
            ),
            lambda index: request.items[index].chain,
        )
        return block_pb2.GetBlockByNumberResponse(count=len(rows), results=rows)

    async def GetBlockByHash(
        self, request: block_pb2.GetBlockByHashRequest, context: Any
    ) -> block_pb2.GetBlockByHashResponse:
        """Return blocks by hash, each in its row."""
        check_items(lambda item: self._reader(item.chain).block_hash(item.hash), request.items)

        async def read(item: block_pb2.GetBlockByHashItem) -> block_pb2.GetBlockByHashResult:
            block = await self._reader(item.chain).read_block_by_hash(item.hash, open_row())
            return block_pb2.GetBlockByHashResult(chain=item.chain, hash=item.hash, value=block)

        rows = await gather_rows(
            [read(item) for item in request.items],
            lambda index, error: block_pb2.GetBlockByHashResult(
                chain=request.items[index].chain, hash=request.items[index].hash, error=row_error(error)
            ),
            lambda index: request.items[index].chain,
        )
        return block_pb2.GetBlockByHashResponse(count=len(rows), results=rows)

    def _reader(self, slug: str) -> ReadsBlocks:
        return self._chains.capability(slug, ReadsBlocks)
