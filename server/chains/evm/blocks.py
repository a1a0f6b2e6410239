"""Transaction and block hashes as callers write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from waypost.v1 import block_pb2

from server.chains.capabilities.blocks import ReadsBlocks, ReadsBlockTransactions
from server.chains.evm.contents import Contents, check_contents
from server.chains.evm.documents import parse_block, parse_block_transactions
from server.chains.shared.cache import CachedDocument, number_key
from server.chains.shared.validated_reads import ask_validated
from server.errors import GatewayError, InvalidArgument, NotFound
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from waypost.v1 import evm_pb2

    from server.chains.evm.chain import EvmChain
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool


_HASH = re.compile(r"0x[0-9a-fA-F]{64}")


def parse_hash(text: str, kind: str) -> str:
    """Return a hash of that kind (`block`, `transaction`) in lower case.

    Raises:
        InvalidArgument: not 0x and 64 hex digits; names the field `hash`.
    """
    if not _HASH.fullmatch(text):
        raise InvalidArgument(f"hash: an EVM {kind} hash is 0x and 64 hex digits", field="hash")
    return text.lower()


Document = TypeVar("Document")

_MAX_NUMBER = (1 << 63) - 1

# A lagging node answers null for a fresh block, so others are asked before a caller reads "not found".
_BLOCK = CallPolicy(null_elsewhere=True)

_BY_NUMBER = CachedDocument(
    "block",
    block_pb2.Block.SerializeToString,
    block_pb2.Block.FromString,
    block_of=lambda block: block.evm.number,
    hash_of=lambda block: block.evm.hash,
)
_BY_HASH = CachedDocument("block-by-hash", block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_TRANSACTIONS = CachedDocument(
    "block-transactions",
    block_pb2.GetBlockTransactionsResponse.SerializeToString,
    block_pb2.GetBlockTransactionsResponse.FromString,
    block_of=lambda response: response.evm.block_number,
    hash_of=lambda response: response.evm.hash,
)


class BlockReader(ReadsBlocks, ReadsBlockTransactions):
    """Reads blocks of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool, cache: ChainCache) -> None:
        self._chain = chain
        self._pool = pool
        self._cache = cache
        self._contents = Contents(chain.facts)
        # The Arbitrum sequencer charges the base fee alone, whatever the tip of a transaction.
        self._pays_tips = chain.facts.fees != "arbitrum"

    def block_hash(self, text: str) -> str:
        """Return a block hash in lower case; InvalidArgument unless it is 0x and 64 hex digits."""
        return parse_hash(text, "block")

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block with the hashes of its transactions."""
        return await self._cache.read_document(
            view, _BY_NUMBER, number_key(number), lambda: self._read_number(number, view)
        )

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block with the hashes of its transactions."""
        wanted = self.block_hash(block_hash)
        return await self._cache.read_document(view, _BY_HASH, wanted.encode(), lambda: self._read_hash(wanted, view))

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the block's full transactions with their effective gas prices."""
        return await self._cache.read_document(
            view, _TRANSACTIONS, number_key(number), lambda: self._read_transactions(number, view)
        )

    async def _read_number(self, number: int, view: ReadView) -> block_pb2.Block:
        params = [_tag(number), False]
        policy = CallPolicy(null_elsewhere=True, min_block=number)

        def read(result: bytes) -> evm_pb2.EvmBlock:
            block = parse_block(result)
            _check(block.number == number)
            return block

        block, endpoint = await self._read("eth_getBlockByNumber", params, read, policy, view, f"block {number}")
        self._pool.forks.observe(endpoint, number, block.hash)
        return block_pb2.Block(evm=block)

    async def _read_hash(self, wanted: str, view: ReadView) -> block_pb2.Block:
        def read(result: bytes) -> evm_pb2.EvmBlock:
            block = parse_block(result)
            _check(block.hash.lower() == wanted)
            return block

        block, _ = await self._read("eth_getBlockByHash", [wanted, False], read, _BLOCK, view, f"block {wanted}")
        return block_pb2.Block(evm=block)

    async def _read_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        params = [_tag(number), True]
        policy = CallPolicy(heavy=True, null_elsewhere=True, min_block=number)

        def read(result: bytes) -> block_pb2.EvmBlockTransactions:
            block = parse_block_transactions(result, pays_tips=self._pays_tips)
            _check(block.block_number == number)
            return block

        block, _ = await self._read("eth_getBlockByNumber", params, read, policy, view, f"block {number}")
        return block_pb2.GetBlockTransactionsResponse(evm=block)

    async def _read(
        self,
        method: str,
        params: list[object],
        read: Callable[[bytes], Document],
        policy: CallPolicy,
        view: ReadView,
        what: str,
    ) -> tuple[Document, str]:
        absences = 1

        def read_present(reply: Reply) -> tuple[Document, bool | None] | None:
            return None if reply.result == b"null" else (read(reply.result), self._contents.fits_block(reply.result))

        async def ask(policy: CallPolicy) -> tuple[tuple[Document, bool | None] | None, str]:
            nonlocal absences
            found, reply = await ask_validated(
                self._pool,
                method,
                lambda steered: self._pool.call(method, params, steered, deadline=view.deadline),
                read_present,
                policy,
            )
            absences = reply.absences
            return found, reply.endpoint

        try:
            found, endpoint = await check_contents(self._pool, self._contents, "block", ask, policy)
        except NotFound as error:
            raise self._missing(what, error) from None
        if found is None:
            raise self._missing(what, absences)
        return found[0], endpoint

    def _missing(self, what: str, absences: GatewayError | int) -> NotFound:
        return absent(f"{self._chain.slug} has no {what}, or not yet", absences)


def _tag(number: int) -> str:
    if not 0 <= number <= _MAX_NUMBER:
        raise InvalidArgument("a block number is between 0 and 2^63-1", field="block")
    return hex(number)


def _check(is_right: bool) -> None:
    if not is_right:
        raise ValueError("another block than the one asked for")
