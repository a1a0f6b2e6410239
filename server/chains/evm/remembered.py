"""Blocks, transactions and code with a memory: each reader as it is, asked only for what is not kept.

A document is kept for good once the block that it depends on is final; one named by its own block hash always is.
Every fresh document tells the hash of its block, by which a reorganisation is noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import block_pb2, transaction_pb2

from server.chains.capabilities import Code
from server.chains.memory import Codec
from server.contracts.address import address_bytes, parse_address

if TYPE_CHECKING:
    from server.chains.evm.accounts import CodeReader
    from server.chains.evm.blocks import BlockReader
    from server.chains.evm.transactions import TransactionReader
    from server.chains.memory import ChainMemory
    from server.chains.view import ReadView

_NUMBER_BYTES = 32

_BLOCK = Codec(block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_BLOCK_TRANSACTIONS = Codec(
    block_pb2.GetBlockTransactionsResponse.SerializeToString, block_pb2.GetBlockTransactionsResponse.FromString
)
_TRANSACTION = Codec(transaction_pb2.Transaction.SerializeToString, transaction_pb2.Transaction.FromString)
_RECEIPT = Codec(transaction_pb2.GetReceiptResponse.SerializeToString, transaction_pb2.GetReceiptResponse.FromString)
_CODE = Codec(msgspec.msgpack.encode, msgspec.msgpack.Decoder(Code).decode, lambda code: bool(code.code))


class RememberedBlocks:
    """See `BlockReader`."""

    def __init__(self, blocks: BlockReader, memory: ChainMemory) -> None:
        self._blocks = blocks
        self._memory = memory

    def block_hash(self, text: str) -> str:
        """See `BlockReader.block_hash`."""
        return self._blocks.block_hash(text)

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """See `BlockReader.read_block_by_number`."""

        async def read() -> block_pb2.Block:
            block = await self._blocks.read_block_by_number(number, view)
            self._memory.see_hash(number, block.evm.hash)
            return block

        return await self._memory.read_document(view, "block", _number(number), _BLOCK, read, lambda _: number)

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """See `BlockReader.read_block_by_hash`."""
        wanted = self._blocks.block_hash(block_hash)
        return await self._memory.read_document(
            view,
            "block-by-hash",
            wanted.encode(),
            _BLOCK,
            lambda: self._blocks.read_block_by_hash(wanted, view),
            lambda _: None,
        )

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """See `BlockReader.read_block_transactions`."""

        async def read() -> block_pb2.GetBlockTransactionsResponse:
            response = await self._blocks.read_block_transactions(number, view)
            self._memory.see_hash(number, response.evm.hash)
            return response

        return await self._memory.read_document(
            view, "block-transactions", _number(number), _BLOCK_TRANSACTIONS, read, lambda _: number
        )


class RememberedTransactions:
    """See `TransactionReader`."""

    def __init__(self, transactions: TransactionReader, memory: ChainMemory) -> None:
        self._transactions = transactions
        self._memory = memory

    def transaction_hash(self, text: str) -> str:
        """See `TransactionReader.transaction_hash`."""
        return self._transactions.transaction_hash(text)

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `TransactionReader.read_transaction`."""
        wanted = self.transaction_hash(text)

        async def read() -> transaction_pb2.Transaction:
            transaction = await self._transactions.read_transaction(wanted, view)
            self._memory.see_hash(int(transaction.evm.block_number), transaction.evm.block_hash)
            return transaction

        return await self._memory.read_document(
            view,
            "transaction",
            wanted.encode(),
            _TRANSACTION,
            read,
            lambda transaction: int(transaction.evm.block_number),
        )

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """See `TransactionReader.read_receipt`."""
        wanted = self.transaction_hash(text)

        async def read() -> transaction_pb2.GetReceiptResponse:
            receipt = await self._transactions.read_receipt(wanted, view)
            self._memory.see_hash(int(receipt.evm.block_number), receipt.evm.block_hash)
            return receipt

        return await self._memory.read_document(
            view, "receipt", wanted.encode(), _RECEIPT, read, lambda receipt: int(receipt.evm.block_number)
        )


class RememberedCode:
    """See `CodeReader`."""

    def __init__(self, code: CodeReader, memory: ChainMemory) -> None:
        self._code = code
        self._memory = memory

    async def read_code(self, address: str, view: ReadView) -> Code:
        """See `CodeReader.read_code`."""
        account = address_bytes(parse_address(address, "address"))
        return await self._memory.read_state(view, "code", account, _CODE, lambda: self._code.read_code(address, view))


def _number(number: int) -> bytes:
    # Wider than any number that the reader lets through, and signed: refusing numbers is the reader's part.
    return number.to_bytes(_NUMBER_BYTES, signed=True)
