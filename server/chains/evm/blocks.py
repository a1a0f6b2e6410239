"""Blocks by number and by hash, and their transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import block_pb2

from server.chains.evm.documents import parse_block, parse_block_transactions
from server.chains.evm.hashes import parse_hash
from server.errors import GatewayError, InvalidArgument, NotFound, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.evm.chain import EvmChain
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_MAX_NUMBER = (1 << 63) - 1

# A lagging node answers null for a fresh block, so one more is asked before a caller reads "not found".
_BLOCK = CallPolicy(null_elsewhere=True)


class BlockReader:
    """Reads blocks of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool) -> None:
        self._chain = chain
        self._pool = pool
        # The Arbitrum sequencer charges the base fee alone, whatever tip a transaction names.
        self._pays_tips = chain.facts.fees != "arbitrum"

    def block_hash(self, text: str) -> str:
        """Return a block hash in lower case; InvalidArgument unless it is 0x and 64 hex digits."""
        return parse_hash(text, "block")

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block with the hashes of its transactions."""
        params = [_tag(number), False]
        policy = CallPolicy(null_elsewhere=True, min_block=number)
        result, endpoint = await self._read("eth_getBlockByNumber", params, policy, view, f"block {number}")
        block = self._block(result, endpoint)
        self._pool.agreement.observe(endpoint, number, block.evm.hash)
        return block

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block with the hashes of its transactions."""
        params = [self.block_hash(block_hash), False]
        result, endpoint = await self._read("eth_getBlockByHash", params, _BLOCK, view, f"block {params[0]}")
        return self._block(result, endpoint)

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the block's full transactions with their effective gas prices."""
        params = [_tag(number), True]
        policy = CallPolicy(heavy=True, null_elsewhere=True, min_block=number)
        result, endpoint = await self._read("eth_getBlockByNumber", params, policy, view, f"block {number}")
        try:
            block = parse_block_transactions(result, pays_tips=self._pays_tips)
        except ValueError:
            raise _malformed(endpoint) from None
        return block_pb2.GetBlockTransactionsResponse(evm=block)

    async def _read(
        self, method: str, params: list[object], policy: CallPolicy, view: ReadView, what: str
    ) -> tuple[bytes, str]:
        try:
            reply = await self._pool.call(method, params, policy, deadline=view.deadline)
        except NotFound:
            raise self._missing(what) from None
        if reply.result == b"null":
            raise self._missing(what)
        return reply.result, reply.endpoint

    def _block(self, result: bytes, endpoint: str) -> block_pb2.Block:
        try:
            return block_pb2.Block(evm=parse_block(result))
        except ValueError:
            raise _malformed(endpoint) from None

    def _missing(self, what: str) -> NotFound:
        return NotFound(f"{self._chain.slug} has no {what}, or not yet")


def _tag(number: int) -> str:
    if not 0 <= number <= _MAX_NUMBER:
        raise InvalidArgument("a block number is between 0 and 2^63-1", field="block")
    return hex(number)


def _malformed(endpoint: str) -> GatewayError:
    return UpstreamUnavailable(f"endpoint {endpoint} answered with a malformed block")
