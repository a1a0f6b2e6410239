"""Blocks with their transactions, in the node's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import block_pb2, common_pb2

from server.chains.shared.cache import CachedDocument, number_key
from server.chains.sound_answers import read_sound
from server.chains.starknet.answers import json_items, json_members, json_number, json_text, without
from server.errors import InvalidArgument, NotFound
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    import msgspec

    from server.chains.shared.cache import ChainCache
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


class BlockReader:
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
            block, endpoint = await read_sound(
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
    block.native.json = without(members, _TYPED_IN_BLOCK)
    return block


def _transaction(raw: msgspec.Raw) -> block_pb2.StarknetBlockTransaction:
    members = json_members(raw)
    native = common_pb2.NativeJson(json=without(members, _TYPED_IN_TRANSACTION))
    return block_pb2.StarknetBlockTransaction(hash=json_text(members["transaction_hash"]), native=native)
