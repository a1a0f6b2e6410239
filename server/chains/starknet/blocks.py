"""Blocks with their transactions, in the node's own shape."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import block_pb2, common_pb2

from server.chains.starknet.answers import json_items, json_members, json_number, json_text, without
from server.errors import InvalidArgument, NotFound, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    import msgspec

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_MAX_NUMBER = (1 << 63) - 1
_TRIES = 2
# What the answer has typed members for, by their names in JSON.
_TYPED_IN_BLOCK = frozenset({"chain", "blockNumber", "hash", "timestamp", "transactionCount", "transactions"})
_TYPED_IN_TRANSACTION = frozenset({"hash"})


class BlockReader:
    """Reads blocks of one chain."""

    def __init__(self, slug: str, pool: Pool) -> None:
        self._slug = slug
        self._pool = pool

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the block with its transactions; NotFound where no node has it. A pre-confirmed block is none yet."""
        if not 0 <= number <= _MAX_NUMBER:
            raise InvalidArgument("a block number is between 0 and 2^63-1", field="blockNumber")
        policy = CallPolicy(heavy=True, min_block=number)
        try:
            block, endpoint = await self._read(number, policy, view)
        except NotFound:
            raise NotFound(f"{self._slug} has no block {number}, or not yet") from None
        self._pool.observe_block(endpoint, number)
        return block_pb2.GetBlockTransactionsResponse(starknet=block)

    async def _read(
        self, number: int, policy: CallPolicy, view: ReadView
    ) -> tuple[block_pb2.StarknetBlockTransactions, str]:
        """Return the block and who answered; what is no block, or another one, is asked of one more endpoint."""
        for _ in range(_TRIES):
            params = [{"block_number": number}]
            reply = await self._pool.call("starknet_getBlockWithTxs", params, policy, deadline=view.deadline)
            with suppress(ValueError):
                block = parse_block_transactions(reply.result)
                if block.block_number == number:
                    return block, reply.endpoint
            policy = replace(policy, avoid=policy.avoid | {reply.endpoint})
        raise UpstreamUnavailable(f"endpoint {reply.endpoint} answered with a malformed block, or with another one")


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
    block.native.json = without(members, _TYPED_IN_BLOCK)
    return block


def _transaction(raw: msgspec.Raw) -> block_pb2.StarknetBlockTransaction:
    members = json_members(raw)
    native = common_pb2.NativeJson(json=without(members, _TYPED_IN_TRANSACTION))
    return block_pb2.StarknetBlockTransaction(hash=json_text(members["transaction_hash"]), native=native)
