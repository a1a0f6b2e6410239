"""Blocks, by which a chain is followed, of the REST gateway or of the CometBFT RPC: neither has a call for headers."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import FollowsBlocks, Link
from server.chains.cosmos.answers import LATEST, Height, timestamp_of
from server.chains.shared.validated_reads import read_validated
from server.chains.view import NO_ENDPOINTS, BlockAnswer, read_newest
from server.errors import HeightMissing, NotFound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_BY_HEIGHT = "/cosmos/base/tendermint/v1beta1/blocks"


class _Id(msgspec.Struct):
    hash: str = ""


class _Header(msgspec.Struct):
    height: Height
    time: str
    last_block_id: _Id | None = None


class _Data(msgspec.Struct):
    txs: list[msgspec.Raw] | None = None


class _Body(msgspec.Struct):
    header: _Header
    data: _Data


class _Block(msgspec.Struct):
    block_id: _Id
    block: _Body


class LinkReader(FollowsBlocks):
    """Reads blocks of one chain, of the CometBFT RPC where the REST gateway does not answer. A block is final at once.

    Endpoints to avoid are not heeded but for the newest block: nodes of such a chain cannot be of two minds.
    """

    finalizes_at_once = True

    def __init__(self, nodes: CosmosNodes) -> None:
        self._nodes = nodes

    async def read_newest_link(self, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the newest block of an endpoint that keeps pace; raises as `read_newest`."""
        nodes = self._nodes
        return await nodes.ask_either(
            lambda: self._newest(nodes.rest, LATEST, _link_of_rest, avoid, view),
            lambda: self._newest(nodes.comet, "block", _link_of_comet, avoid, view),
        )

    async def read_link(self, number: int, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the block of that height; HeightMissing where no node has it."""
        policy = CallPolicy(null_elsewhere=True, min_block=number, avoid=avoid)

        def check(link: Link) -> Link:
            if link.number != number:
                raise ValueError("another block than the one asked for")
            return link

        def rest() -> Awaitable[Link]:
            path = f"{_BY_HEIGHT}/{number}"
            return self._nodes.get_document(
                _BY_HEIGHT, view, lambda body: check(_link_of_rest(body)), path=path, policy=policy
            )

        def comet() -> Awaitable[Link]:
            named = {"height": str(number)}
            return self._nodes.call("block", named, view, lambda body: check(_link_of_comet(body)), policy)

        try:
            return await self._nodes.ask_either(rest, comet)
        except NotFound as error:
            raise HeightMissing(f"{self._nodes.slug} has no block {number}, or not yet") from error

    async def read_final(self, view: ReadView) -> int:
        """Return the newest block."""
        return (await self.read_newest_link(view)).number

    @staticmethod
    async def _newest(
        pool: Pool, method: str, parse: Callable[[bytes], Link], avoid: frozenset[str], view: ReadView
    ) -> Link:
        async def read(lagging: frozenset[str]) -> BlockAnswer[Link]:
            policy = CallPolicy(avoid=avoid | lagging)
            link, endpoint = await read_validated(pool, method, [], parse, policy, deadline=view.deadline)
            return BlockAnswer(link, endpoint, link.number, float(link.header.timestamp.seconds))

        newest = await read_newest(pool, read)
        view.endpoint = newest.endpoint
        return newest.answer


def _link_of_rest(body: bytes) -> Link:
    return _link(body, lambda text: base64.b64decode(text, validate=True))


def _link_of_comet(body: bytes) -> Link:
    return _link(body, bytes.fromhex)


def _link(body: bytes, read: Callable[[str], bytes]) -> Link:
    """Return the link that a block is, its hashes as `read` reads them; ValueError, or msgspec's error, for others."""
    block = msgspec.json.decode(body, type=_Block)
    header = block.block.header
    number, below = int(header.height), header.last_block_id or _Id()
    block_hash, parent_hash = read(block.block_id.hash).hex().upper(), read(below.hash).hex().upper()
    if not block_hash:
        raise ValueError("a block without its hash")
    message = stream_pb2.BlockHeader(
        number=number,
        hash=block_hash,
        parent_number=number - 1,
        parent_hash=parent_hash,
        timestamp=timestamp_of(header.time),
        transaction_count=len(block.block.data.txs or ()),
    )
    return Link(number, block_hash, number - 1, parent_hash, message)
