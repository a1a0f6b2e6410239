"""Transactions by hash and their receipts, in the node's own shape.

A transaction does not name its block, its receipt does: both are asked for at once and travel in one request. A
pre-confirmed transaction (0.9: its receipt names no block hash; 0.8: no block number) is in no block yet.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from waypost.v1 import common_pb2, receipt_pb2, transaction_pb2

from server.chains.starknet.answers import json_felt, json_members, json_number, json_text, without
from server.chains.starknet.felts import parse_hash
from server.errors import NotFound, Pending, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
    from server.chains.starknet.answers import Members
    from server.chains.view import ReadView
    from server.upstream.policy import Reply
    from server.upstream.pool import Pool

_TYPED_IN_TRANSACTION = frozenset({"blockNumber", "from", "to"})
_TYPED_IN_RECEIPT = frozenset({"chain", "transactionHash", "blockNumber"})
# Who a transaction belongs to, by the kinds of the specification.
_OWNERS = ("sender_address", "contract_address")
_NULL = b"null"
_PLAIN = CallPolicy()
_TRIES = 2


@dataclass(frozen=True, slots=True)
class Placed:
    """A transaction with its receipt and the block that holds both."""

    block: int
    block_hash: str
    transaction: Members
    receipt: Members


class TransactionReader:
    """Reads transactions of one chain."""

    def __init__(self, facts: ChainFacts, pool: Pool) -> None:
        self._facts = facts
        self._pool = pool

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash as nodes want it; InvalidArgument for what is none."""
        return parse_hash(text)

    async def read(self, wanted: str, view: ReadView) -> Placed:
        """Return the transaction of a hash that `transaction_hash` returned.

        Raises Pending while it is in no block, NotFound where no node knows it.
        """
        transaction, receipt = await asyncio.gather(
            self._ask("starknet_getTransactionByHash", wanted, view),
            self._ask("starknet_getTransactionReceipt", wanted, view),
            return_exceptions=True,
        )
        for outcome in (transaction, receipt):
            if isinstance(outcome, BaseException):
                raise outcome
        assert not isinstance(transaction, BaseException)
        assert not isinstance(receipt, BaseException)
        place = None if receipt is None else self._place(receipt)
        if transaction is None and place is not None:
            # The node that answered the first question lags behind the one that answered the second.
            policy = CallPolicy(min_block=place[0])
            transaction = await self._ask("starknet_getTransactionByHash", wanted, view, policy)
        if transaction is None:
            if receipt is None:
                raise NotFound(f"no node of {self._facts.slug} knows transaction {wanted}")
            raise self._pending(wanted)
        if receipt is None or place is None:
            raise self._pending(wanted)
        self._pool.observe_block(receipt.endpoint, place[0])
        return Placed(place[0], place[1], self._members(transaction), self._members(receipt))

    async def _ask(self, method: str, wanted: str, view: ReadView, policy: CallPolicy = _PLAIN) -> Reply | None:
        """Return what a node has of the transaction; another one's document is asked of one more endpoint."""
        for _ in range(_TRIES):
            try:
                reply = await self._pool.call(method, [wanted], policy, deadline=view.deadline)
            except NotFound:
                return None
            if reply.result == _NULL:
                return None
            if _hash_of(reply) == int(wanted, 16):
                return reply
            policy = replace(policy, avoid=policy.avoid | {reply.endpoint})
        raise self._malformed(reply)

    def _place(self, receipt: Reply) -> tuple[int, str] | None:
        members = self._members(receipt)
        number, block_hash = members.get("block_number"), members.get("block_hash")
        if number is None or block_hash is None or _NULL in (bytes(number), bytes(block_hash)):
            return None
        try:
            return json_number(number), json_text(block_hash)
        except ValueError:
            raise self._malformed(receipt) from None

    def _members(self, reply: Reply) -> Members:
        try:
            members = json_members(reply.result)
            json_text(members["transaction_hash"])
            for name in _OWNERS:
                if name in members:
                    json_text(members[name])
        except (KeyError, ValueError):
            raise self._malformed(reply) from None
        return members

    def _pending(self, wanted: str) -> Pending:
        return Pending(
            f"transaction {wanted} is in no block of {self._facts.slug} yet; try again after the next block",
            retry_after_ms=int(self._facts.block_time * 1000),
        )

    def _malformed(self, reply: Reply) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"endpoint {reply.endpoint} answered with a malformed transaction, or with another one"
        )


def _hash_of(reply: Reply) -> int | None:
    """Return the hash that a document says to be of, None where it says none."""
    try:
        return json_felt(json_members(reply.result)["transaction_hash"])
    except (KeyError, ValueError):
        return None


def transaction_message(placed: Placed) -> transaction_pb2.Transaction:
    """Return the transaction as it is answered; `from` is its sender, or the contract that it belongs to."""
    owner = next((placed.transaction[name] for name in _OWNERS if name in placed.transaction), None)
    message = transaction_pb2.StarknetTransaction(
        block_number=str(placed.block),
        from_address=None if owner is None else json_text(owner),
        native=common_pb2.NativeJson(json=without(placed.transaction, _TYPED_IN_TRANSACTION)),
    )
    return transaction_pb2.Transaction(starknet=message)


def receipt_message(placed: Placed) -> transaction_pb2.GetReceiptResponse:
    """Return the receipt as it is answered, without its `chain`."""
    message = receipt_pb2.StarknetReceipt(
        transaction_hash=json_text(placed.receipt["transaction_hash"]),
        block_number=str(placed.block),
        native=common_pb2.NativeJson(json=without(placed.receipt, _TYPED_IN_RECEIPT)),
    )
    return transaction_pb2.GetReceiptResponse(starknet=message)
