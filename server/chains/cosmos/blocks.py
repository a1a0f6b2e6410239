"""Blocks by number and by hash, their transactions' outcomes, and what executing them did."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from waypost.v1 import block_pb2, cosmos_validator_pb2

from server.chains.capabilities.blocks import ReadsBlockResults, ReadsBlocks, ReadsBlockTransactions
from server.chains.cosmos.answers import Gas, Height, Members, members_of, rest_of, timestamp_of
from server.chains.cosmos.names import parse_hash
from server.chains.shared.cache import CachedDocument, number_key
from server.chains.shared.validated_reads import Doubtful
from server.errors import NotFound, UpstreamUnavailable
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.timestamp_pb2 import Timestamp

    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView

Answer = TypeVar("Answer")
Row = TypeVar("Row")

_BY_HEIGHT = "/cosmos/base/tendermint/v1beta1/blocks"
_MAX_NUMBER = (1 << 63) - 1
_RESULTS_TYPED = frozenset(("height", "txs_results"))
_RESULT_TYPED = frozenset(("code", "gas_wanted", "gas_used"))

_BY_NUMBER = CachedDocument(
    "block",
    block_pb2.Block.SerializeToString,
    block_pb2.Block.FromString,
    block_of=lambda block: block.cosmos.number,
)
_BY_HASH = CachedDocument("block-by-hash", block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_TRANSACTIONS = CachedDocument(
    "block-transactions",
    block_pb2.GetBlockTransactionsResponse.SerializeToString,
    block_pb2.GetBlockTransactionsResponse.FromString,
    block_of=lambda response: response.cosmos.block_number,
)
_RESULTS = CachedDocument(
    "block-results",
    cosmos_validator_pb2.GetBlockResultsResponse.SerializeToString,
    cosmos_validator_pb2.GetBlockResultsResponse.FromString,
    block_of=lambda response: response.block_number,
)


class _Header(msgspec.Struct):
    height: Height
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
    gas_wanted: Gas = "0"
    gas_used: Gas = "0"


class _Results(msgspec.Struct):
    height: Height
    txs_results: list[_TxResult] | None = None


class _RawResults(msgspec.Struct):
    txs_results: list[Members] | None = None


class _Found(NamedTuple):
    """A block, and its hash in hex."""

    body: _Body
    hash: str


class _Listed(NamedTuple):
    """What is reported of a block beside its outcomes: hash, time, and the hashes of its transactions."""

    hash: str
    made_at: Timestamp
    hashes: list[str]


class BlockReader(ReadsBlocks, ReadsBlockTransactions, ReadsBlockResults):
    """Reads blocks of one chain: by height from the REST gateway, by hash and with results from the CometBFT RPC."""

    def __init__(self, nodes: CosmosNodes, cache: ChainCache) -> None:
        self._nodes = nodes
        self._cache = cache

    def block_hash(self, text: str) -> str:
        """Return a block hash as 64 upper-case hex digits; InvalidArgument for anything else."""
        return parse_hash(text, "block")

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block; `hash` is in hex, the payload as the REST gateway writes it (hashes in base64)."""
        return await self._cache.read_document(
            view,
            _BY_NUMBER,
            number_key(number),
            lambda: self._by_height(number, view, lambda body: _document(body, _found(body, number))),
        )

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Return the block, the payload as the CometBFT RPC writes it (hashes in hex)."""
        wanted = self.block_hash(block_hash)
        return await self._cache.read_document(view, _BY_HASH, wanted.encode(), lambda: self._by_hash(wanted, view))

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """Return the outcomes of a block's transactions, joined with the block's transactions by their index.

        Hashes are those of the block's own bytes, so that a transaction that cannot be decoded is included.
        """
        return await self._cache.read_document(
            view, _TRANSACTIONS, number_key(number), lambda: self._transactions(number, view)
        )

    async def read_block_results(self, number: int, view: ReadView) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """Return what executing a block did, without `chain`."""
        return await self._cache.read_document(
            view,
            _RESULTS,
            number_key(number),
            lambda: self._results(number, view, lambda result, rows: _results_document(result, rows, number)),
        )

    async def _by_hash(self, wanted: str, view: ReadView) -> block_pb2.Block:
        encoded = base64.b64encode(bytes.fromhex(wanted)).decode()

        def read(result: bytes) -> block_pb2.Block:
            block = msgspec.json.decode(result, type=_Block)
            if block.block is None:
                # A node that does not have the block answers null, which is no error: other endpoints may have it.
                missing = f"{self._nodes.slug} has no block of that hash, or its nodes keep it no more"
                raise Doubtful(NotFound(missing))
            if block.block_id.hash.upper() != wanted:
                raise ValueError("another block than the one asked for")
            return _document(result, _Found(block.block, wanted))

        policy = CallPolicy(null_elsewhere=True)
        return await self._nodes.call("block_by_hash", {"hash": encoded}, view, read, policy)

    async def _transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        block, results = await asyncio.gather(self._listed(number, view), self._results(number, view, _outcomes))
        if len(block.hashes) != len(results):
            block, results = await self._match(number, block, results, view)
        rows = [
            block_pb2.CosmosTransactionOutcome(
                txhash=txhash, height=number, code=row.code, gas_wanted=row.gas_wanted, gas_used=row.gas_used
            )
            for txhash, row in zip(block.hashes, results, strict=True)
        ]
        return block_pb2.GetBlockTransactionsResponse(
            cosmos=block_pb2.CosmosBlockTransactions(
                block_number=number,
                hash=block.hash,
                timestamp=block.made_at,
                transaction_count=len(rows),
                transactions=rows,
            )
        )

    async def _match(
        self, number: int, block: _Listed, results: list[_TxResult], view: ReadView
    ) -> tuple[_Listed, list[_TxResult]]:
        """Return a block and its results that are of so many transactions: results of as many, or else such a block.

        UpstreamUnavailable where no endpoint returns the one or the other.
        """
        try:
            return block, await self._results(number, view, lambda _, rows: _of_length(len(block.hashes), rows))
        except UpstreamUnavailable:
            return await self._listed(number, view, count=len(results)), results

    async def _listed(self, number: int, view: ReadView, count: int | None = None) -> _Listed:
        def read(body: bytes) -> _Listed:
            found = _found(body, number)
            hashes = [_digest(text) for text in found.body.data.txs or []]
            made_at = timestamp_of(found.body.header.time)
            return _Listed(found.hash, made_at, hashes if count is None else _of_length(count, hashes))

        return await self._by_height(number, view, read)

    async def _by_height(self, number: int, view: ReadView, read: Callable[[bytes], Answer]) -> Answer:
        """Return what `read` makes of the block of that height."""
        self._check(number)
        path, policy = f"{_BY_HEIGHT}/{number}", CallPolicy(null_elsewhere=True, min_block=number)
        try:
            return await self._nodes.get_document(_BY_HEIGHT, view, read, path=path, policy=policy)
        except NotFound as error:
            raise self._missing(number, error) from None

    async def _results(self, number: int, view: ReadView, read: Callable[[bytes, list[_TxResult]], Answer]) -> Answer:
        """Return what `read` makes of the results of executing the block of that height, and of its transactions'."""
        self._check(number)

        def read_checked(result: bytes) -> Answer:
            results = msgspec.json.decode(result, type=_Results)
            if results.height != str(number):
                raise ValueError("the results of another block")
            return read(result, results.txs_results or [])

        policy = CallPolicy(heavy=True, null_elsewhere=True, min_block=number)
        try:
            return await self._nodes.call("block_results", {"height": str(number)}, view, read_checked, policy)
        except NotFound as error:
            raise self._missing(number, error) from None

    def _check(self, number: int) -> None:
        """Raise NotFound for block 0, by which nodes mean the newest one, and for what is beyond all numbers."""
        if not 1 <= number <= _MAX_NUMBER:
            raise NotFound(f"{self._nodes.slug} has no block {number}: its blocks begin at 1")

    def _missing(self, number: int, error: NotFound) -> NotFound:
        return absent(f"{self._nodes.slug} has no block {number}, or not yet", error)


def _found(body: bytes, number: int) -> _Found:
    """Return the block of that height in an answer of the REST gateway; ValueError, or msgspec's error, for others."""
    block = msgspec.json.decode(body, type=_Block)
    if block.block is None or block.block.header.height != str(number):
        raise ValueError("another block than the one asked for")
    return _Found(block.block, base64.b64decode(block.block_id.hash, validate=True).hex().upper())


def _document(body: bytes, found: _Found) -> block_pb2.Block:
    rest = rest_of(members_of(body), ())
    return block_pb2.Block(
        cosmos=block_pb2.CosmosBlock(number=int(found.body.header.height), hash=found.hash, native=rest)
    )


def _outcomes(_: bytes, rows: list[_TxResult]) -> list[_TxResult]:
    return rows


def _results_document(
    result: bytes, typed: list[_TxResult], number: int
) -> cosmos_validator_pb2.GetBlockResultsResponse:
    raws = msgspec.json.decode(result, type=_RawResults).txs_results or []
    rows = [
        cosmos_validator_pb2.CosmosTxResult(
            code=row.code, gas_wanted=row.gas_wanted, gas_used=row.gas_used, native=rest_of(raw, _RESULT_TYPED)
        )
        for row, raw in zip(typed, raws, strict=True)
    ]
    return cosmos_validator_pb2.GetBlockResultsResponse(
        block_number=number, txs_results=rows, native=rest_of(members_of(result), _RESULTS_TYPED)
    )


def _digest(transaction: str) -> str:
    return hashlib.sha256(base64.b64decode(transaction, validate=True)).hexdigest().upper()


def _of_length(count: int, rows: list[Row]) -> list[Row]:
    if len(rows) != count:
        raise ValueError("of another number of transactions")
    return rows
