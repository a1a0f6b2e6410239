"""Transactions by hash and their receipts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from waypost.v1 import transaction_pb2

from server.chains.capabilities.blocks import ReadsReceipts, ReadsTransactions
from server.chains.evm.blocks import parse_hash
from server.chains.evm.contents import Contents, check_contents
from server.chains.evm.documents import parse_transaction
from server.chains.evm.receipts import is_mined, parse_receipt
from server.chains.shared.cache import CachedDocument
from server.chains.shared.validated_reads import ask_validated
from server.errors import GatewayError, NotFound, Pending, UpstreamUnavailable
from server.upstream.absence import absent, asked_of
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from waypost.v1 import receipt_pb2

    from server.chains.evm.chain import EvmChain
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

Document = TypeVar("Document")

# A lagging node answers null for a fresh transaction, so others are asked before a caller reads "not found".
_DOUBTED = CallPolicy(null_elsewhere=True)

_TRANSACTION = CachedDocument(
    "transaction",
    transaction_pb2.Transaction.SerializeToString,
    transaction_pb2.Transaction.FromString,
    block_of=lambda transaction: transaction.evm.block_number,
    hash_of=lambda transaction: transaction.evm.block_hash,
)
_RECEIPT = CachedDocument(
    "receipt",
    transaction_pb2.GetReceiptResponse.SerializeToString,
    transaction_pb2.GetReceiptResponse.FromString,
    block_of=lambda receipt: receipt.evm.block_number,
    hash_of=lambda receipt: receipt.evm.block_hash,
)


class _Lookup(NamedTuple, Generic[Document]):
    """What was found and its endpoint; where no endpoint has it, None and how many answered so."""

    document: Document | None
    endpoint: str = ""
    asked: int = 0


_Found = _Lookup[transaction_pb2.EvmMinedTransaction]


class TransactionReader(ReadsTransactions, ReadsReceipts):
    """Reads transactions of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool, cache: ChainCache) -> None:
        self._chain = chain
        self._pool = pool
        self._cache = cache
        self._contents = Contents(chain.facts)

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash in lower case; InvalidArgument unless it is 0x and 64 hex digits."""
        return parse_hash(text, "transaction")

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction with the block that holds it; Pending while none does, NotFound where unknown."""
        wanted = self.transaction_hash(text)
        return await self._cache.read_document(
            view, _TRANSACTION, wanted.encode(), lambda: self._read_transaction(wanted, view)
        )

    async def _read_transaction(self, wanted: str, view: ReadView) -> transaction_pb2.Transaction:
        lookup = await self._transaction(wanted, view)
        transaction = lookup.document
        if transaction is None:
            raise self._unknown(wanted, lookup.asked)
        if not transaction.block_hash:
            raise self._pending(wanted)
        return transaction_pb2.Transaction(evm=transaction)

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """Return the answer without its `chain`; Pending and NotFound as for transactions.

        Receipt and transaction are asked for in one JSON-RPC batch: the transaction distinguishes a pending hash
        from an unknown one, and has the price where an old receipt leaves it out.
        """
        wanted = self.transaction_hash(text)
        return await self._cache.read_document(
            view, _RECEIPT, wanted.encode(), lambda: self._read_receipt(wanted, view)
        )

    async def _read_receipt(self, wanted: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        found, lookup = await asyncio.gather(
            self._receipt(wanted, view), self._transaction(wanted, view), return_exceptions=True
        )
        if isinstance(found, BaseException):
            raise found
        transaction = None if isinstance(lookup, BaseException) else lookup.document
        if found is None and transaction is not None and transaction.block_hash:
            # The block is there: its receipts come a moment later, or from a node that keeps pace.
            found = await self._receipt(
                wanted, view, CallPolicy(null_elsewhere=True, min_block=transaction.block_number)
            )
        if found is None:
            raise self._missing(wanted, lookup)
        receipt, endpoint = found
        if not receipt.effective_gas_price:
            receipt.effective_gas_price = await self._price(receipt, endpoint, transaction, view)
        return transaction_pb2.GetReceiptResponse(evm=receipt)

    async def explain_absence(self, wanted: str, view: ReadView) -> GatewayError | None:
        """Return why a node has nothing about a hash: Pending or NotFound; None if the transaction is in a block."""
        lookup = await self._transaction(wanted, view)
        transaction = lookup.document
        if transaction is None:
            return self._unknown(wanted, lookup.asked)
        return None if transaction.block_hash else self._pending(wanted)

    async def _price(
        self,
        receipt: receipt_pb2.EvmReceipt,
        endpoint: str,
        found: transaction_pb2.EvmMinedTransaction | None,
        view: ReadView,
    ) -> str:
        """Return what the transaction of a receipt without that figure paid for a unit of gas.

        After a fail-over the transaction may come from an endpoint that has it in no block, or in another one, at
        another price: then the receipt's own endpoint is asked, then another; only the receipt's block is accepted.
        """
        again = CallPolicy(null_elsewhere=True, min_block=receipt.block_number)
        policies = [replace(again, prefer=endpoint), replace(again, avoid=frozenset({endpoint}))]
        while found is None or found.block_hash != receipt.block_hash:
            if not policies:
                raise self._disputed(receipt.transaction_hash)
            found = (await self._transaction(receipt.transaction_hash, view, policies.pop(0))).document
        return found.transaction.gas_price

    async def _transaction(self, wanted: str, view: ReadView, policy: CallPolicy = _DOUBTED) -> _Found:
        def read(result: bytes) -> transaction_pb2.EvmMinedTransaction:
            transaction = parse_transaction(result)
            _check(transaction.transaction.hash, wanted)
            return transaction

        lookup = await self._read("eth_getTransactionByHash", wanted, read, view, policy)
        if lookup.document is not None and lookup.document.block_hash:
            self._pool.observe_block(lookup.endpoint, lookup.document.block_number)
        return lookup

    async def _receipt(
        self, wanted: str, view: ReadView, policy: CallPolicy = _DOUBTED
    ) -> tuple[receipt_pb2.EvmReceipt, str] | None:
        """Return the receipt and its endpoint, None where the transaction is in no block."""

        def read(result: bytes) -> tuple[receipt_pb2.EvmReceipt, bool | None] | None:
            if result == b"null" or not is_mined(result):
                return None
            receipt = parse_receipt(result)
            _check(receipt.transaction_hash, wanted)
            return receipt, self._contents.fits_receipt(result)

        async def ask(policy: CallPolicy) -> tuple[tuple[receipt_pb2.EvmReceipt, bool | None] | None, str]:
            lookup = await self._read("eth_getTransactionReceipt", wanted, read, view, policy)
            return lookup.document, lookup.endpoint

        found, endpoint = await check_contents(self._pool, self._contents, "receipt", ask, policy)
        return None if found is None else (found[0], endpoint)

    async def _read(
        self, method: str, wanted: str, read: Callable[[bytes], Document | None], view: ReadView, policy: CallPolicy
    ) -> _Lookup[Document]:
        def read_present(reply: Reply) -> Document | None:
            return None if reply.result == b"null" else read(reply.result)

        try:
            document, reply = await ask_validated(
                self._pool,
                method,
                lambda steered: self._pool.call(method, [wanted], steered, deadline=view.deadline),
                read_present,
                policy,
            )
        except NotFound as error:
            return _Lookup(None, asked=asked_of(error))
        return _Lookup(document, reply.endpoint, reply.absences)

    def _missing(self, wanted: str, lookup: _Found | BaseException) -> BaseException:
        if isinstance(lookup, BaseException):
            return lookup
        transaction = lookup.document
        if transaction is None:
            return self._unknown(wanted, lookup.asked)
        if not transaction.block_hash:
            return self._pending(wanted)
        return UpstreamUnavailable(
            f"the nodes of {self._chain.slug} know that transaction {wanted} is in block {transaction.block_number}, "
            "but have no receipt of it yet; try again",
            retry_after_ms=int(self._chain.facts.block_time * 1000),
        )

    def _unknown(self, wanted: str, asked: int) -> NotFound:
        return absent(f"no node of {self._chain.slug} knows transaction {wanted}", asked)

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


def _check(answered: str, wanted: str) -> None:
    if answered.lower() != wanted:
        raise ValueError("another transaction than the one asked for")
