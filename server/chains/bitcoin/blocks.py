"""Blocks by height and by hash, in the node's own bytes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from waypost.v1 import block_pb2, common_pb2

from server.chains.bitcoin.answers import MAX_HEIGHT, Height, explain_missing_height, read_hash
from server.chains.capabilities.blocks import ReadsBlocks
from server.chains.shared.cache import CachedState
from server.chains.shared.validated_reads import read_validated
from server.chains.view import NO_BLOCK, NO_ENDPOINTS, BlockAnswer, read_newest
from server.errors import InvalidArgument, NotFound, UpstreamDisagrees
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_HASH_DIGITS = 64
_TRIES = 3
_HEIGHT_BYTES = 4
_CACHED = CachedState("block", block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_CACHED_BY_HASH = _CACHED._replace(kind="block-by-hash")

# Transactions as their ids: a full block is megabytes.
_VERBOSITY = 1


class _Block(msgspec.Struct):
    hash: str
    height: Height
    confirmations: Annotated[int, msgspec.Meta(ge=-1, le=MAX_HEIGHT)]


class _Found(NamedTuple):
    block: _Block
    payload: bytes


class BlockReader(ReadsBlocks):
    """Reads blocks of the chain; each read settles its view at the head that the block's confirmations count from.

    No block is cached for good: its `confirmations` count with every new block, so it is cached like a balance, under
    the newest block known.
    """

    def __init__(self, facts: ChainFacts, pool: Pool, cache: ChainCache) -> None:
        self._facts = facts
        self._pool = pool
        self._cache = cache

    def block_hash(self, text: str) -> str:
        """Return a block hash in lower case; InvalidArgument unless it is 64 hex digits."""
        if len(text) != _HASH_DIGITS or not all(digit in "0123456789abcdefABCDEF" for digit in text):
            raise InvalidArgument("hash: a block hash is 64 hex digits, without 0x", field="hash")
        return text.lower()

    def check_height(self, number: int) -> int:
        """Return a height that nodes can be asked for; NotFound for any other."""
        if not 0 <= number <= MAX_HEIGHT:
            raise NotFound(f"{self._facts.slug} has no block {number}: heights end at {MAX_HEIGHT}")
        return number

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block of that height in the best chain, with its transactions' ids.

        Raises:
            NotFound: the chain has none, or not yet.
        """
        body = self.check_height(number).to_bytes(_HEIGHT_BYTES)
        return await self._cache.read_state(view, _CACHED, body, lambda: self._read_height(number, view))

    async def _read_height(self, number: int, view: ReadView) -> block_pb2.Block:
        avoid = NO_ENDPOINTS
        for _ in range(_TRIES):
            policy = CallPolicy(null_elsewhere=True, min_block=number, avoid=avoid)
            try:
                block_hash, endpoint = await read_validated(
                    self._pool, "getblockhash", [number], read_hash, policy, deadline=view.deadline
                )
            except NotFound as error:
                raise await explain_missing_height(self._pool, number, view, error) from None
            # A hash of no block is no answer, and between the two calls the block may have lost its place in the chain.
            with suppress(NotFound):
                block, confirmations = await self._read(block_hash, endpoint, view)
                if confirmations > 0 and block.bitcoin.number == number:
                    return block
            avoid |= {endpoint}
        raise UpstreamDisagrees(f"the nodes of {self._facts.slug} do not agree on block {number}; try again")

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block, `confirmations` -1 where it is not in the best chain.

        Raises:
            NotFound: no node has it.
        """
        wanted = self.block_hash(block_hash)
        return await self._cache.read_state(
            view, _CACHED_BY_HASH, wanted.encode(), lambda: self._read_hash(wanted, view)
        )

    async def _read_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        try:
            block, _ = await self._read(block_hash, None, view)
        except NotFound as error:
            raise self._missing(f"block {block_hash}", error) from None
        return block

    async def _read(self, block_hash: str, prefer: str | None, view: ReadView) -> tuple[block_pb2.Block, int]:
        async def read(avoid: frozenset[str]) -> BlockAnswer[_Found]:
            policy = CallPolicy(null_elsewhere=True, prefer=None if prefer in avoid else prefer, avoid=avoid)
            params = [block_hash, _VERBOSITY]
            found, endpoint = await read_validated(
                self._pool, "getblock", params, lambda result: _find(result, block_hash), policy, deadline=view.deadline
            )
            # Its confirmations show the node's height; a block outside of the best chain has none.
            block = found.block
            tip = block.height + block.confirmations - 1 if block.confirmations > 0 else NO_BLOCK
            return BlockAnswer(found, endpoint, tip)

        block_answer = await read_newest(self._pool, read)
        block, payload = block_answer.answer
        if block_answer.block != NO_BLOCK:
            self._pool.forks.observe(block_answer.endpoint, block.height, block_hash)
            view.settle(block_answer.block, block_answer.endpoint)
        native = common_pb2.NativeJson(json=payload.decode())
        message = block_pb2.BitcoinBlock(number=block.height, hash=block.hash, native=native)
        return block_pb2.Block(bitcoin=message), block.confirmations

    def _missing(self, what: str, error: NotFound) -> NotFound:
        return absent(f"{self._facts.slug} has no {what}, or not yet", error)


def _find(result: bytes, block_hash: str) -> _Found:
    """Return the block of that hash; ValueError, or msgspec's error, for what is none."""
    block = msgspec.json.decode(result, type=_Block)
    if block.hash.lower() != block_hash:
        raise ValueError("another block than the one asked for")
    return _Found(block, result)
