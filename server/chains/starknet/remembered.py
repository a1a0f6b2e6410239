"""Balances, blocks and transactions with a memory: each reader as it is, asked only for what is not kept.

A document is kept for good once its block is accepted on layer 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import block_pb2, transaction_pb2

from server.chains.memory import Codec
from server.chains.starknet.blocks import receipt_message, transaction_message
from server.chains.starknet.tokens import Amount

if TYPE_CHECKING:
    from server.chains.memory import ChainMemory
    from server.chains.starknet.blocks import BlockReader, Placed, TransactionReader
    from server.chains.starknet.tokens import TokenReader
    from server.chains.view import ReadView

_NUMBER_BYTES = 32

_BLOCK = Codec(
    block_pb2.GetBlockTransactionsResponse.SerializeToString, block_pb2.GetBlockTransactionsResponse.FromString
)
_TRANSACTION = Codec(transaction_pb2.Transaction.SerializeToString, transaction_pb2.Transaction.FromString)
_RECEIPT = Codec(transaction_pb2.GetReceiptResponse.SerializeToString, transaction_pb2.GetReceiptResponse.FromString)
# Amounts go beyond the integers of any packed format.
_AMOUNT = Codec(
    lambda amount: msgspec.msgpack.encode((str(amount.raw), amount.decimals)), lambda data: _read_amount(data)
)


class Remembered:
    """The readers of one chain behind its memory."""

    def __init__(
        self, tokens: TokenReader, blocks: BlockReader, transactions: TransactionReader, memory: ChainMemory
    ) -> None:
        self._tokens = tokens
        self._blocks = blocks
        self._transactions = transactions
        self._memory = memory

    async def read_amount(self, token: str, owner: str, view: ReadView) -> Amount:
        """See `TokenReader.read`."""
        body = f"{token} {owner}".encode()
        return await self._memory.read_state(
            view, "balance", body, _AMOUNT, lambda: self._tokens.read(token, owner, view)
        )

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """See `BlockReader.read_block_transactions`."""

        async def read() -> block_pb2.GetBlockTransactionsResponse:
            response = await self._blocks.read_block_transactions(number, view)
            self._memory.see_hash(number, response.starknet.hash)
            return response

        # Wider than any number that the reader lets through, and signed: refusing numbers is the reader's part.
        body = number.to_bytes(_NUMBER_BYTES, signed=True)
        return await self._memory.read_document(view, "block-transactions", body, _BLOCK, read, lambda _: number)

    async def read_transaction(self, wanted: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `TransactionReader.read`."""

        async def read() -> transaction_pb2.Transaction:
            return transaction_message(await self._placed(wanted, view))

        return await self._memory.read_document(
            view, "transaction", wanted.encode(), _TRANSACTION, read, lambda found: int(found.starknet.block_number)
        )

    async def read_receipt(self, wanted: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """See `TransactionReader.read`."""

        async def read() -> transaction_pb2.GetReceiptResponse:
            return receipt_message(await self._placed(wanted, view))

        return await self._memory.read_document(
            view, "receipt", wanted.encode(), _RECEIPT, read, lambda found: int(found.starknet.block_number)
        )

    async def _placed(self, wanted: str, view: ReadView) -> Placed:
        placed = await self._transactions.read(wanted, view)
        self._memory.see_hash(placed.block, placed.block_hash)
        return placed


def _read_amount(data: bytes) -> Amount:
    raw, decimals = msgspec.msgpack.decode(data, type=tuple[str, int])
    return Amount(int(raw), decimals)
