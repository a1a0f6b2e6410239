"""Blocks by height and by hash, in the node's own bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from waypost.v1 import block_pb2, common_pb2

from server.chains.bitcoin.answers import malformed, read_hash
from server.chains.newest import NOBODY, UNTOLD, Told, read_newest
from server.errors import InvalidArgument, NotFound, UpstreamDisagrees
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_MAX_HEIGHT = (1 << 31) - 1
_HASH_DIGITS = 64
_TRIES = 3

# Transactions as their ids: a full block is megabytes.
_VERBOSITY = 1


class _Block(msgspec.Struct):
    hash: str
    height: int
    confirmations: int


class _Found(NamedTuple):
    block: _Block
    payload: bytes


class BlockReader:
    """Reads blocks of the chain; each read settles its view at the head that the block's confirmations count from."""

    def __init__(self, facts: ChainFacts, pool: Pool) -> None:
        self._facts = facts
        self._pool = pool

    def block_hash(self, text: str) -> str:
        """Return a block hash in lower case; InvalidArgument unless it is 64 hex digits."""
        if len(text) != _HASH_DIGITS or not all(digit in "0123456789abcdefABCDEF" for digit in text):
            raise InvalidArgument("hash: a block hash is 64 hex digits, without 0x", field="hash")
        return text.lower()

    def check_height(self, number: int) -> int:
        """Return a height that nodes can be asked for; InvalidArgument for any other."""
        if not 0 <= number <= _MAX_HEIGHT:
            raise InvalidArgument("block: a height is between 0 and 2^31-1", field="block")
        return number

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block of that height in the best chain, with its transactions' ids.

        Raises:
            NotFound: the chain has none, or not yet.
        """
        self.check_height(number)
        avoid = NOBODY
        for _ in range(_TRIES):
            policy = CallPolicy(min_block=number, avoid=avoid)
            try:
                named = await self._pool.call("getblockhash", [number], policy, deadline=view.deadline)
                try:
                    block_hash = read_hash(named.result)
                except ValueError:
                    raise malformed(named, "block hash") from None
                block, confirmations = await self._read(block_hash, named.endpoint, view)
            except NotFound:
                raise self._missing(f"block {number}") from None
            # Between the two calls the block may have lost its place in the chain.
            if confirmations > 0 and block.bitcoin.number == str(number):
                return block
            avoid |= {named.endpoint}
        raise UpstreamDisagrees(f"the nodes of {self._facts.slug} do not agree on block {number}; try again")

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block, `confirmations` -1 where it is not in the best chain.

        Raises:
            NotFound: no node knows it.
        """
        try:
            block, _ = await self._read(block_hash, None, view)
        except NotFound:
            raise self._missing(f"block {block_hash}") from None
        return block

    async def _read(self, block_hash: str, prefer: str | None, view: ReadView) -> tuple[block_pb2.Block, int]:
        async def read(avoid: frozenset[str]) -> Told[_Found]:
            for _ in range(_TRIES):
                policy = CallPolicy(prefer=None if prefer in avoid else prefer, avoid=avoid)
                reply = await self._pool.call("getblock", [block_hash, _VERBOSITY], policy, deadline=view.deadline)
                block = _block(reply.result)
                if block is not None and block.hash.lower() == block_hash:
                    break
                # What is no block, or another one, is asked of somebody else.
                avoid |= {reply.endpoint}
            else:
                raise malformed(reply, "block")
            # How many blocks confirm it tells how far the node is; of a block outside of the best chain nothing does.
            tip = block.height + block.confirmations - 1 if block.confirmations > 0 else UNTOLD
            return Told(_Found(block, reply.result), reply.endpoint, tip)

        told = await read_newest(self._pool, read)
        block, payload = told.answer
        if told.block != UNTOLD:
            self._pool.agreement.observe(told.endpoint, block.height, block_hash)
            view.settle(told.block, told.endpoint)
        native = common_pb2.NativeJson(json=payload)
        message = block_pb2.BitcoinBlock(number=str(block.height), hash=block.hash, native=native)
        return block_pb2.Block(bitcoin=message), block.confirmations

    def _missing(self, what: str) -> NotFound:
        return NotFound(f"{self._facts.slug} has no {what}, or not yet")


def _block(result: bytes) -> _Block | None:
    try:
        return msgspec.json.decode(result, type=_Block)
    except (msgspec.MsgspecError, RecursionError):
        return None
