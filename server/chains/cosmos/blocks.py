"""Blocks by number and by hash, their transactions' outcomes, and what executing them did."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import block_pb2, cosmos_validator_pb2

from server.chains.cosmos.members import Members, members_of, rest_of, timestamp_of
from server.chains.cosmos.names import parse_hash
from server.chains.newest import NOBODY
from server.errors import InvalidArgument, NotFound
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.view import ReadView
    from server.upstream.policy import Reply

_BY_HEIGHT = "/cosmos/base/tendermint/v1beta1/blocks"
_MAX_NUMBER = (1 << 63) - 1
_TRIES = 2
_RESULTS_TYPED = frozenset(("height", "txs_results"))
_RESULT_TYPED = frozenset(("code", "gas_wanted", "gas_used"))


class _Header(msgspec.Struct):
    height: str
    time: str


class _Data(msgspec.Struct):
    txs: list[str] | None = None


class _Body(msgspec.Struct):
    header: _Header
    data: _Data


class _Id(msgspec.Struct):
    hash: str


class _Block(msgspec.Struct):
    block_id: _Id
    block: _Body | None


class _TxResult(msgspec.Struct):
    code: int = 0
    gas_wanted: str = "0"
    gas_used: str = "0"


class _Results(msgspec.Struct):
    height: str
    txs_results: list[_TxResult] | None = None


class _RawResults(msgspec.Struct):
    height: str
    txs_results: list[Members] | None = None


class BlockReader:
    """Reads blocks of one chain: by height from the REST gateway, by hash and with results from the CometBFT RPC."""

    def __init__(self, nodes: CosmosNodes) -> None:
        self._nodes = nodes

    def block_hash(self, text: str) -> str:
        """Return a block hash as 64 upper-case hex digits; InvalidArgument for anything else."""
        return parse_hash(text, "block")

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block; `hash` is in hex, the payload as the REST gateway writes it (hashes in base64)."""
        reply, block = await self._by_height(number, view)
        try:
            block_hash = base64.b64decode(block.block_id.hash, validate=True).hex().upper()
        except ValueError:
            raise self._nodes.malformed(reply.endpoint) from None
        return self._document(reply, block, block_hash)

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block, the payload as the CometBFT RPC writes it (hashes in hex)."""
        wanted = self.block_hash(block_hash)
        encoded = base64.b64encode(bytes.fromhex(wanted)).decode()
        avoid = NOBODY
        while True:
            reply = await self._nodes.call("block_by_hash", {"hash": encoded}, view, CallPolicy(avoid=avoid))
            block = self._nodes.read(reply, _Block)
            if block.block is not None:
                break
            # A node that does not have the block says so with a null, which is no error: the others may have it.
            if reply.endpoint in avoid or len(avoid) + 1 >= len(self._nodes.comet.labels):
                raise NotFound(f"{self._nodes.slug} has no block of that hash, or its nodes keep it no more")
            avoid |= {reply.endpoint}
        if block.block_id.hash.upper() != wanted:
            raise self._nodes.malformed(reply.endpoint)
        return self._document(reply, block, wanted)

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the outcomes of a block's transactions, joined with the block's transactions by their index.

        Hashes are those of the block's own bytes, so that a transaction that nobody can decode is there too.
        """
        (reply, block), (result_reply, results) = await asyncio.gather(
            self._by_height(number, view), self._results(number, view)
        )
        assert block.block is not None
        data, outcomes = block.block.data.txs or [], results.txs_results or []
        if len(data) != len(outcomes):
            raise self._nodes.malformed(result_reply.endpoint)
        try:
            rows = [_outcome(text, result, number) for text, result in zip(data, outcomes, strict=True)]
            block_hash = base64.b64decode(block.block_id.hash, validate=True).hex().upper()
            made_at = timestamp_of(block.block.header.time)
        except ValueError:
            raise self._nodes.malformed(reply.endpoint) from None
        return block_pb2.GetBlockTransactionsResponse(
            cosmos=block_pb2.CosmosBlockTransactions(
                block_number=number,
                hash=block_hash,
                timestamp=made_at,
                transaction_count=len(rows),
                transactions=rows,
            )
        )

    async def read_block_results(self, number: int, view: ReadView) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """Return what executing a block did, without `chain`."""
        reply, typed = await self._results(number, view)
        results = self._nodes.read(reply, _RawResults)
        rows = [
            cosmos_validator_pb2.CosmosTxResult(
                code=row.code, gas_wanted=row.gas_wanted, gas_used=row.gas_used, native=rest_of(raw, _RESULT_TYPED)
            )
            for row, raw in zip(typed.txs_results or [], results.txs_results or [], strict=True)
        ]
        return cosmos_validator_pb2.GetBlockResultsResponse(
            block_number=number, txs_results=rows, native=rest_of(members_of(reply.result), _RESULTS_TYPED)
        )

    async def _by_height(self, number: int, view: ReadView) -> tuple[Reply, _Block]:
        """Return the block of that height; another one is asked of one more endpoint."""
        _check(number)
        path, policy = f"{_BY_HEIGHT}/{number}", CallPolicy(min_block=number)
        for _ in range(_TRIES):
            try:
                reply = await self._nodes.get_document(_BY_HEIGHT, view, path=path, policy=policy)
            except NotFound:
                raise self._missing(number) from None
            block = self._nodes.read(reply, _Block)
            if block.block is not None and block.block.header.height == str(number):
                return reply, block
            policy = replace(policy, avoid=policy.avoid | {reply.endpoint})
        raise self._nodes.malformed(reply.endpoint)

    async def _results(self, number: int, view: ReadView) -> tuple[Reply, _Results]:
        """Return what executing the block of that height did; that of another is asked of one more endpoint."""
        _check(number)
        policy = CallPolicy(heavy=True, min_block=number)
        for _ in range(_TRIES):
            try:
                reply = await self._nodes.call("block_results", {"height": str(number)}, view, policy)
            except NotFound:
                raise self._missing(number) from None
            results = self._nodes.read(reply, _Results)
            if results.height == str(number):
                return reply, results
            policy = replace(policy, avoid=policy.avoid | {reply.endpoint})
        raise self._nodes.malformed(reply.endpoint)

    def _document(self, reply: Reply, block: _Block, block_hash: str) -> block_pb2.Block:
        if block.block is None:
            raise self._nodes.malformed(reply.endpoint)
        height = block.block.header.height
        if not (height.isascii() and height.isdigit()):
            raise self._nodes.malformed(reply.endpoint)
        rest = rest_of(members_of(reply.result), ())
        return block_pb2.Block(cosmos=block_pb2.CosmosBlock(number=height, hash=block_hash, native=rest))

    def _missing(self, number: int) -> NotFound:
        return NotFound(f"{self._nodes.slug} has no block {number}, or not yet")


def _outcome(text: str, result: _TxResult, number: int) -> block_pb2.CosmosTransactionOutcome:
    digest = hashlib.sha256(base64.b64decode(text, validate=True)).hexdigest().upper()
    return block_pb2.CosmosTransactionOutcome(
        txhash=digest, height=str(number), code=result.code, gas_wanted=result.gas_wanted, gas_used=result.gas_used
    )


def _check(number: int) -> None:
    if not 1 <= number <= _MAX_NUMBER:
        raise InvalidArgument("a block number is between 1 and 2^63-1", field="block")
