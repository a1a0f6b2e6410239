"""Transactions by hash and their receipts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from waypost.v1 import transaction_pb2

from server.chains.evm.contents import Contents, check_contents
from server.chains.evm.documents import parse_transaction
from server.chains.evm.hashes import parse_hash
from server.chains.evm.receipts import is_mined, parse_receipt
from server.chains.sound_answers import read_sound
from server.errors import GatewayError, NotFound, Pending, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from waypost.v1 import receipt_pb2

    from server.chains.evm.chain import EvmChain
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

Document = TypeVar("Document")

# A lagging node answers null for a fresh transaction, so one more is asked before a caller reads "not found".
_DOUBTED = CallPolicy(null_elsewhere=True)


class TransactionReader:
    """Reads transactions of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool) -> None:
        self._chain = chain
        self._pool = pool
        self._contents = Contents(chain.facts)

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash in lower case; InvalidArgument unless it is 0x and 64 hex digits."""
        return parse_hash(text, "transaction")

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction with the block that holds it; Pending while none does, NotFound where unknown."""
        wanted = self.transaction_hash(text)
        transaction = await self._transaction(wanted, view)
        if transaction is None:
            raise self._unknown(wanted)
        if not transaction.block_number:
            raise self._pending(wanted)
        return transaction_pb2.Transaction(evm=transaction)

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """Return the answer without its `chain`; Pending and NotFound as for transactions.

        Receipt and transaction are asked for in one JSON-RPC batch: the transaction tells a pending hash from an
        unknown one, and the price where an old receipt leaves it out.
        """
        wanted = self.transaction_hash(text)
        found, transaction = await asyncio.gather(
            self._receipt(wanted, view), self._transaction(wanted, view), return_exceptions=True
        )
        if isinstance(found, BaseException):
            raise found
        if found is None and isinstance(transaction, transaction_pb2.EvmMinedTransaction) and transaction.block_number:
            # The block is there: its receipts come a moment later, or from a node that keeps pace.
            found = await self._receipt(wanted, view, CallPolicy(null_elsewhere=True, min_block=_block_of(transaction)))
        if found is None:
            raise self._missing(wanted, transaction)
        receipt, endpoint = found
        if not receipt.effective_gas_price:
            receipt.effective_gas_price = await self._price(receipt, endpoint, transaction, view)
        return transaction_pb2.GetReceiptResponse(evm=receipt)

    async def explain_absence(self, wanted: str, view: ReadView) -> GatewayError | None:
        """Return why a node has nothing about a hash: Pending or NotFound; None if the transaction is in a block."""
        transaction = await self._transaction(wanted, view)
        if transaction is None:
            return self._unknown(wanted)
        return None if transaction.block_number else self._pending(wanted)

    async def _price(
        self,
        receipt: receipt_pb2.EvmReceipt,
        endpoint: str,
        transaction: transaction_pb2.EvmMinedTransaction | BaseException | None,
        view: ReadView,
    ) -> str:
        """Return what the transaction of a receipt that does not tell it paid for a unit of gas.

        After a fail-over the transaction may be told by an endpoint that has it in no block, or in another one, at
        another price: then the receipt's own endpoint is asked, then another, and only the receipt's block believed.
        """
        told = None if isinstance(transaction, BaseException) else transaction
        again = CallPolicy(null_elsewhere=True, min_block=int(receipt.block_number))
        policies = [replace(again, prefer=endpoint), replace(again, avoid=frozenset({endpoint}))]
        while told is None or told.block_hash != receipt.block_hash:
            if not policies:
                raise self._disputed(receipt.transaction_hash)
            told = await self._transaction(receipt.transaction_hash, view, policies.pop(0))
        return told.transaction.gas_price

    async def _transaction(
        self, wanted: str, view: ReadView, policy: CallPolicy = _DOUBTED
    ) -> transaction_pb2.EvmMinedTransaction | None:
        def read(result: bytes) -> transaction_pb2.EvmMinedTransaction:
            transaction = parse_transaction(result)
            _check(transaction.transaction.hash, wanted)
            return transaction

        found = await self._read("eth_getTransactionByHash", wanted, read, view, policy)
        if found is None:
            return None
        transaction, endpoint = found
        if transaction.block_number:
            self._pool.observe_block(endpoint, _block_of(transaction))
        return transaction

    async def _receipt(
        self, wanted: str, view: ReadView, policy: CallPolicy = _DOUBTED
    ) -> tuple[receipt_pb2.EvmReceipt, str] | None:
        """Return the receipt and who told it, None where the transaction is in no block."""

        def read(result: bytes) -> tuple[receipt_pb2.EvmReceipt, bool | None] | None:
            if result == b"null" or not is_mined(result):
                return None
            receipt = parse_receipt(result)
            _check(receipt.transaction_hash, wanted)
            return receipt, self._contents.fits_receipt(result)

        async def ask(policy: CallPolicy) -> tuple[tuple[receipt_pb2.EvmReceipt, bool | None] | None, str]:
            method = "eth_getTransactionReceipt"
            return await read_sound(self._pool, method, [wanted], read, policy, deadline=view.deadline)

        try:
            found, endpoint = await check_contents(self._pool, self._contents, "receipt", ask, policy)
        except NotFound:
            return None
        return None if found is None else (found[0], endpoint)

    async def _read(
        self, method: str, wanted: str, read: Callable[[bytes], Document], view: ReadView, policy: CallPolicy
    ) -> tuple[Document, str] | None:
        def read_present(result: bytes) -> Document | None:
            return None if result == b"null" else read(result)

        try:
            document, endpoint = await read_sound(
                self._pool, method, [wanted], read_present, policy, deadline=view.deadline
            )
        except NotFound:
            return None
        return None if document is None else (document, endpoint)

    def _missing(
        self, wanted: str, transaction: transaction_pb2.EvmMinedTransaction | BaseException | None
    ) -> BaseException:
        if transaction is None:
            return self._unknown(wanted)
        if isinstance(transaction, BaseException):
            return transaction
        if not transaction.block_number:
            return self._pending(wanted)
        return UpstreamUnavailable(
            f"the nodes of {self._chain.slug} know that transaction {wanted} is in block {transaction.block_number}, "
            "but have no receipt of it yet; try again",
            retry_after_ms=int(self._chain.facts.block_time * 1000),
        )

    def _unknown(self, wanted: str) -> NotFound:
        return NotFound(f"no node of {self._chain.slug} knows transaction {wanted}")

    def _pending(self, wanted: str) -> Pending:
        return Pending(
            f"transaction {wanted} is in no block of {self._chain.slug} yet; try again after the next block",
            retry_after_ms=int(self._chain.facts.block_time * 1000),
        )

    def _disputed(self, wanted: str) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"the nodes of {self._chain.slug} do not agree on the block of transaction {wanted}; try again",
            retry_after_ms=int(self._chain.facts.block_time * 1000),
        )


def _check(told: str, wanted: str) -> None:
    if told.lower() != wanted:
        raise ValueError("another transaction than the one asked for")


def _block_of(transaction: transaction_pb2.EvmMinedTransaction) -> int:
    return int(transaction.block_number)
