"""Blocks with their transactions, in the node's own shape."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import block_pb2, common_pb2, receipt_pb2, transaction_pb2

from server.chains.capabilities.blocks import ReadsBlockTransactions, ReadsReceipts, ReadsTransactions
from server.chains.shared.cache import CachedDocument, number_key
from server.chains.shared.validated_reads import ask_validated, read_validated
from server.chains.starknet.answers import (
    ADDRESS_BOUND,
    json_felt,
    json_items,
    json_members,
    json_number,
    json_text,
    parse_hash,
    without,
)
from server.errors import InvalidArgument, NotFound, Pending, release
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.starknet.answers import Members
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


_MAX_NUMBER = (1 << 63) - 1
# What the answer has typed members for, by their names in JSON.
_TYPED_IN_BLOCK = frozenset({"chain", "blockNumber", "hash", "timestamp", "transactionCount", "transactions"})
_TYPED_IN_TRANSACTION = frozenset({"hash"})


_BLOCK = CachedDocument(
    "block-transactions",
    block_pb2.GetBlockTransactionsResponse.SerializeToString,
    block_pb2.GetBlockTransactionsResponse.FromString,
    block_of=lambda response: response.starknet.block_number,
    hash_of=lambda response: response.starknet.hash,
)


class BlockReader(ReadsBlockTransactions):
    """Reads blocks of one chain; they are cached, for good once they are accepted on layer 1."""

    def __init__(self, slug: str, pool: Pool, cache: ChainCache) -> None:
        self._slug = slug
        self._pool = pool
        self._cache = cache

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the block with its transactions; NotFound where no node has it. A pre-confirmed block is none yet."""
        return await self._cache.read_document(view, _BLOCK, number_key(number), lambda: self._read(number, view))

    async def _read(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        if not 0 <= number <= _MAX_NUMBER:
            raise InvalidArgument("a block number is between 0 and 2^63-1", field="blockNumber")
        policy = CallPolicy(heavy=True, null_elsewhere=True, min_block=number)

        def read(result: bytes) -> block_pb2.StarknetBlockTransactions:
            block = parse_block_transactions(result)
            if block.block_number != number:
                raise ValueError("another block than the one asked for")
            return block

        try:
            block, endpoint = await read_validated(
                self._pool,
                "starknet_getBlockWithTxs",
                [{"block_number": number}],
                read,
                policy,
                deadline=view.deadline,
            )
        except NotFound as error:
            raise absent(f"{self._slug} has no block {number}, or not yet", error) from None
        self._pool.observe_block(endpoint, number)
        return block_pb2.GetBlockTransactionsResponse(starknet=block)


def parse_block_transactions(result: bytes) -> block_pb2.StarknetBlockTransactions:
    """Return the block of a `starknet_getBlockWithTxs` answer; ValueError for what is no accepted block."""
    members = json_members(result)
    try:
        transactions = [_transaction(raw) for raw in json_items(members["transactions"])]
        block = block_pb2.StarknetBlockTransactions(
            block_number=json_number(members["block_number"]),
            hash=json_text(members["block_hash"]),
            timestamp=Timestamp(seconds=json_number(members["timestamp"])),
            transaction_count=len(transactions),
            transactions=transactions,
        )
    except KeyError:
        raise ValueError("a block lacks members") from None
    block.native.json = without(members, _TYPED_IN_BLOCK).decode()
    return block


def _transaction(raw: msgspec.Raw) -> block_pb2.StarknetBlockTransaction:
    members = json_members(raw)
    native = common_pb2.NativeJson(json=without(members, _TYPED_IN_TRANSACTION).decode())
    return block_pb2.StarknetBlockTransaction(hash=json_text(members["transaction_hash"]), native=native)


# A transaction does not name its block, its receipt does: both are asked for at once and travel in one request. A
# pre-confirmed transaction (0.9: its receipt names no block hash; 0.8: no block number) is in no block yet.

_BY_HASH = "starknet_getTransactionByHash"
_RECEIPT = "starknet_getTransactionReceipt"
_TYPED_OF_TRANSACTION = frozenset({"blockNumber", "from", "to"})
_TYPED_IN_RECEIPT = frozenset({"chain", "transactionHash", "blockNumber"})
# The account that a transaction belongs to, by the kinds of the specification.
_OWNERS = ("sender_address", "contract_address")
# What accounts are called with: the number of calls, then each call. Cairo 1 writes a call as receiver, selector and
# its own calldata behind their number; Cairo 0 lists the calls first (receiver, selector, offset, length) and the
# calldata of all of them, behind their number, after that.
_HEAD_CAIRO_1 = 4
_HEAD_CAIRO_0 = 6
_NULL = b"null"
_DOUBTED = CallPolicy(null_elsewhere=True)

_CACHED_TRANSACTION = CachedDocument(
    "transaction",
    transaction_pb2.Transaction.SerializeToString,
    transaction_pb2.Transaction.FromString,
    block_of=lambda transaction: transaction.starknet.block_number,
)
_CACHED_RECEIPT = CachedDocument(
    "receipt",
    transaction_pb2.GetReceiptResponse.SerializeToString,
    transaction_pb2.GetReceiptResponse.FromString,
    block_of=lambda receipt: receipt.starknet.block_number,
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A transaction with its receipt and the block that holds both."""

    block: int
    block_hash: str
    transaction: Members
    receipt: Members


class _Document(NamedTuple):
    """A transaction or a receipt, and the block (number, hash) that it states to be in."""

    members: Members
    place: tuple[int, str] | None = None


class TransactionReader(ReadsTransactions, ReadsReceipts):
    """Reads transactions of one chain; they are cached, for good once their block is accepted on layer 1."""

    def __init__(self, facts: ChainFacts, pool: Pool, cache: ChainCache) -> None:
        self._facts = facts
        self._pool = pool
        self._cache = cache

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash as nodes accept it; InvalidArgument for what is none."""
        return parse_hash(text)

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction; raises Pending while it is in no block, NotFound where no node has it."""
        wanted = self.transaction_hash(text)

        async def read() -> transaction_pb2.Transaction:
            return _transaction_message(await self._read(wanted, view))

        return await self._cache.read_document(view, _CACHED_TRANSACTION, wanted.encode(), read)

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """Return the receipt without its `chain`; raises as `read_transaction`."""
        wanted = self.transaction_hash(text)

        async def read() -> transaction_pb2.GetReceiptResponse:
            return _receipt_message(await self._read(wanted, view))

        return await self._cache.read_document(view, _CACHED_RECEIPT, wanted.encode(), read)

    async def _read(self, wanted: str, view: ReadView) -> Placed:
        transaction, receipt = await asyncio.gather(
            self._ask(_BY_HASH, _read_transaction, wanted, view),
            self._ask(_RECEIPT, _read_receipt, wanted, view),
            return_exceptions=True,
        )
        for outcome in (transaction, receipt):
            if isinstance(outcome, BaseException) and not isinstance(outcome, NotFound):
                raise outcome
        assert not isinstance(transaction, BaseException) or isinstance(transaction, NotFound)
        assert not isinstance(receipt, BaseException) or isinstance(receipt, NotFound)
        place = None if isinstance(receipt, NotFound) else receipt[0].place
        if isinstance(transaction, NotFound) and place is not None:
            # The node that answered the first request lags behind the one that answered the second.
            policy = CallPolicy(null_elsewhere=True, min_block=place[0])
            transaction = await self._ask(_BY_HASH, _read_transaction, wanted, view, policy)
        if isinstance(transaction, NotFound):
            if isinstance(receipt, NotFound):
                raise absent(f"no node of {self._facts.slug} knows transaction {wanted}", transaction)
            raise self._pending(wanted)
        if isinstance(receipt, NotFound) or place is None:
            raise self._pending(wanted)
        document, endpoint = receipt
        self._pool.observe_block(endpoint, place[0])
        self._cache.see_hash(*place)
        return Placed(place[0], place[1], transaction[0].members, document.members)

    async def _ask(
        self,
        method: str,
        read: Callable[[bytes, int], _Document],
        wanted: str,
        view: ReadView,
        policy: CallPolicy = _DOUBTED,
    ) -> tuple[_Document, str] | NotFound:
        """Return what a node has of the transaction and its endpoint; the NotFound of the nodes where none has it."""
        number = int(wanted, 16)
        try:
            document, reply = await ask_validated(
                self._pool,
                method,
                lambda steered: self._pool.call(method, [wanted], steered, deadline=view.deadline),
                lambda reply: None if reply.result == _NULL else read(reply.result, number),
                policy,
            )
        except NotFound as error:
            release(error)
            return error
        if document is None:
            return absent("no node knows the transaction", reply.absences)
        return document, reply.endpoint

    def _pending(self, wanted: str) -> Pending:
        return Pending(
            f"transaction {wanted} is in no block of {self._facts.slug} yet; try again after the next block",
            retry_after_ms=int(self._facts.block_time * 1000),
        )


def _read_transaction(result: bytes, wanted: int) -> _Document:
    members = _members(result, wanted)
    for name in _OWNERS:
        if name in members:
            json_text(members[name])
    return _Document(members)


def _read_receipt(result: bytes, wanted: int) -> _Document:
    members = _members(result, wanted)
    number, block_hash = members.get("block_number"), members.get("block_hash")
    if number is None or block_hash is None or _NULL in (bytes(number), bytes(block_hash)):
        return _Document(members)
    return _Document(members, (json_number(number), json_text(block_hash)))


def _members(result: bytes, wanted: int) -> Members:
    """Return the members of a document of that hash; ValueError for what is none."""
    members = json_members(result)
    if "transaction_hash" not in members or json_felt(members["transaction_hash"]) != wanted:
        raise ValueError("another transaction than the one asked for")
    return members


def _transaction_message(placed: Placed) -> transaction_pb2.Transaction:
    """Return the transaction as it is answered.

    `from` is its sender, or the contract that it belongs to; `to` is the contract that an invoke of one call calls.
    """
    owner = next((placed.transaction[name] for name in _OWNERS if name in placed.transaction), None)
    message = transaction_pb2.StarknetTransaction(
        block_number=placed.block,
        from_address=None if owner is None else json_text(owner),
        to=_receiver(placed.transaction),
        native=common_pb2.NativeJson(json=without(placed.transaction, _TYPED_OF_TRANSACTION).decode()),
    )
    return transaction_pb2.Transaction(starknet=message)


def _receiver(transaction: Members) -> str | None:
    """Return the contract that an invoke calls, as the node wrote it; None where it makes no or several calls.

    None too for calldata in another layout than accounts take, and for kinds that call nothing.
    """
    try:
        if json_text(transaction["type"]) != "INVOKE" or "sender_address" not in transaction:
            return None
        items = json_items(transaction["calldata"])
        felts = [json_felt(item) for item in items]
    except (KeyError, ValueError):
        return None
    if len(felts) < _HEAD_CAIRO_1 or felts[0] != 1 or not 0 < felts[1] < ADDRESS_BOUND:
        return None
    is_cairo_1 = len(felts) == _HEAD_CAIRO_1 + felts[3]
    is_cairo_0 = (
        len(felts) >= _HEAD_CAIRO_0 and felts[3:6] == [0, felts[5], felts[5]] and len(felts) == _HEAD_CAIRO_0 + felts[5]
    )
    return json_text(items[1]) if is_cairo_1 or is_cairo_0 else None


def _receipt_message(placed: Placed) -> transaction_pb2.GetReceiptResponse:
    """Return the receipt as it is answered, without its `chain`."""
    message = receipt_pb2.StarknetReceipt(
        transaction_hash=json_text(placed.receipt["transaction_hash"]),
        block_number=placed.block,
        native=common_pb2.NativeJson(json=without(placed.receipt, _TYPED_IN_RECEIPT).decode()),
    )
    return transaction_pb2.GetReceiptResponse(starknet=message)
