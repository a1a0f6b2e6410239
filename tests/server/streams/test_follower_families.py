"""Chains of the other families followed on their local nodes: each block once, in order, linked to the one before."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet.cosmos import comet, rest
from devnet.cosmos.ledger import Ledger as CosmosLedger
from devnet.cosmos.world import CHAINS
from devnet.launcher import Devnet
from devnet.solana.facade import application
from devnet.solana.ledger import Ledger as SolanaLedger
from devnet.solana.world import build_world
from server.chains.capabilities.blocks import ReadsBlocks
from server.chains.capabilities.following import FollowsBlocks
from server.chains.view import ReadView
from server.errors import HeightMissing
from server.streams.blocks import BLOCKS
from server.streams.cursor import digest_source, encode_cursor, encode_marks, mark_of
from tests.server.streams.clients import ADDED, FINAL, PROGRESS, REMOVED, BlockClient
from tests.server.streams.conftest import open_gateway
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp

    from tests.server.streams.conftest import Gateway

    Mine = Callable[[], Awaitable[object]]
    Opened = tuple[list[dict[str, str]], Mine]

pytestmark = pytest.mark.devnet

_MINING: dict[str, tuple[str, list[Any]]] = {
    "bitcoin": ("generatetoaddress", [3, "1PTGu4hDd7PBe7e22p3waTA5QeZ95cjPHx"]),
    "starknet": ("devnet_mine", [3]),
}
SLUGS = ("solana", "bitcoin", "starknet", "cosmoshub")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def nodes() -> AsyncIterator[Devnet]:
    """Nodes in processes of their own; nothing moves by itself."""
    async with Devnet.start(["bitcoin", "starknet"], mines=False) as devnet:
        yield devnet


@pytest_asyncio.fixture(params=SLUGS, loop_scope="session")
async def followed(
    request: pytest.FixtureRequest, nodes: Devnet, plain_session: aiohttp.ClientSession
) -> AsyncIterator[tuple[str, Gateway, Mine]]:
    """A chain, the gateway on its nodes, and what makes three blocks of it."""
    slug = request.param
    opened = {"solana": _solana, "cosmoshub": _cosmos}.get(slug)
    chain = _process(slug, nodes, plain_session) if opened is None else opened()
    async with chain as (endpoints, mine), open_gateway(slug=slug, endpoints=endpoints) as gateway:
        yield slug, gateway, mine


@asynccontextmanager
async def _process(slug: str, nodes: Devnet, session: aiohttp.ClientSession) -> AsyncIterator[Opened]:
    endpoints = nodes.settings_overrides()["chains"][slug]["endpoints"]
    url = next(one["url"] for one in endpoints if one["kind"] in ("core", "jsonrpc"))
    method, params = _MINING[slug]

    async def mine() -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with session.post(url, json=body) as response:
            assert "error" not in await response.json()

    yield endpoints, mine


@asynccontextmanager
async def _solana() -> AsyncIterator[Opened]:
    ledger = SolanaLedger()
    build_world(ledger)

    async def mine() -> None:
        for _ in range(3):
            ledger.advance()

    async with serve_app(application(ledger)) as url:
        yield [{"label": "local", "url": url}], mine


@asynccontextmanager
async def _cosmos() -> AsyncIterator[Opened]:
    ledger = CosmosLedger(CHAINS["cosmoshub"], mines=False)

    async def mine() -> None:
        for _ in range(3):
            ledger.make_block([])

    async with serve_app(rest.build_app(ledger)) as by_rest, serve_app(comet.build_app(ledger)) as by_comet:
        endpoints = [
            {"label": "rest", "url": by_rest, "kind": "rest"},
            {"label": "comet", "url": by_comet, "kind": "comet"},
        ]
        yield endpoints, mine


async def test_every_block_comes_once_and_a_cursor_goes_on(followed: tuple[str, Gateway, Mine]) -> None:
    slug, gateway, mine = followed
    followers, client = gateway.followers, BlockClient()
    client.attach(followers.watch(slug, BLOCKS))
    first = await client.next()
    assert (first.kind, first.chain) == (PROGRESS, slug)
    await mine()
    followers.wake(slug)
    await client.until(lambda client: len(client.blocks) >= 3)
    assert client.kinds[1:] == [ADDED] * 3
    newest, block = client.events[-1], client.events[-1].block
    assert block.HasField("timestamp")
    assert (newest.finality == FINAL) is (slug == "cosmoshub")
    assert block.HasField("transaction_count") is (slug != "solana")
    assert not block.HasField("gas_used")
    await client.close()
    again = BlockClient()
    again.attach(followers.watch(slug, BLOCKS, first.cursor))
    await again.until(lambda again: newest.block_number in again.blocks)
    assert again.blocks == client.blocks
    assert again.kinds == client.kinds
    await again.close()


async def test_links_are_what_lies_at_their_heights(followed: tuple[str, Gateway, Mine]) -> None:
    slug, gateway, mine = followed
    await mine()
    reads = gateway.chains.capability(slug, FollowsBlocks)
    newest = await reads.read_newest_link(ReadView())
    parent = await reads.read_link(newest.parent_number, ReadView())
    assert (parent.number, parent.hash) == (newest.parent_number, newest.parent_hash)
    with pytest.raises(HeightMissing):
        await reads.read_link(newest.number + 1000, ReadView())


@pytest.mark.parametrize("followed", ["bitcoin", "cosmoshub"], indirect=True)
async def test_hashes_are_those_of_block_reads(followed: tuple[str, Gateway, Mine]) -> None:
    slug, gateway, _ = followed
    link = await gateway.chains.capability(slug, FollowsBlocks).read_newest_link(ReadView())
    block: Any = await gateway.chains.capability(slug, ReadsBlocks).read_block_by_number(link.number, ReadView())
    assert getattr(block, block.WhichOneof("family")).hash == link.hash


@pytest.mark.parametrize("depth", [3, 20])
async def test_blocks_of_bitcoin_that_are_invalid_later_are_taken_back(depth: int, nodes: Devnet) -> None:
    node: Any = nodes.others[0]
    endpoints = nodes.settings_overrides()["chains"]["bitcoin"]["endpoints"]

    async def chain() -> dict[int, str]:
        """Return the node's blocks above the height that the stream began at."""
        height = (await node.call("getblockchaininfo"))["blocks"]
        return {number: await node.call("getblockhash", number) for number in range(begin + 1, height + 1)}

    async with open_gateway(slug="bitcoin", endpoints=endpoints) as gateway:
        client = BlockClient()
        client.attach(gateway.followers.watch("bitcoin", BLOCKS))
        begin = (await client.next()).block_number
        had: set[str] = set()
        await node.mine(depth + 1)
        before = await chain()
        for replaced in (None, before[begin + 2]):
            if replaced is not None:
                await node.call("invalidateblock", replaced)
                await node.mine(depth + 1)
            wanted = await chain()
            had |= set(wanted.values())
            gateway.followers.wake("bitcoin")
            while client.blocks != wanted:
                await client.next()
        assert client.kinds == [PROGRESS] + [ADDED] * (depth + 1) + [REMOVED] * depth + [ADDED] * (depth + 1)
        assert {event.block_hash for event in client.events[1:]} == had
        await client.close()


async def test_slots_without_a_block_are_left_out() -> None:
    ledger = SolanaLedger()
    build_world(ledger)
    slots = ledger.slots(ledger.first, ledger.slot)
    assert len(slots) < slots[-1] - slots[0] + 1, "the chain has slots without a block"
    begin = ledger.blocks[slots[0]]
    marks = encode_marks([mark_of(begin.slot, begin.blockhash)])
    cursor = encode_cursor("solana", begin.slot, marks, digest_source(BLOCKS.key))
    async with (
        serve_app(application(ledger)) as url,
        open_gateway(slug="solana", endpoints=[{"label": "local", "url": url}]) as gateway,
    ):
        client = BlockClient()
        client.attach(gateway.followers.watch("solana", BLOCKS, cursor))
        await client.until(lambda client: slots[-1] in client.blocks)
        assert list(client.blocks) == slots[1:]
        await client.close()
