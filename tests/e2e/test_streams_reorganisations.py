"""Streams of a whole gateway while nodes replace their blocks: what a client holds is the node's chain, soon."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from runtime.metrics import REGISTRY
from tests.e2e.gateway import run_gateway_on
from tests.e2e.streams import LogClient, StreamEnded, Target, open_watch
from tests.server.chains.evm.log_nodes import LOGGER, logger_code, place_loggers, write_logs
from tests.server.chains.evm.nodes import Anvil
from tests.server.streams.clients import PROGRESS, REMOVED, BlockClient
from tests.server.streams.conftest import chain_of
from tests.vendors.nodes import run_vendor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

# Its block time is long beside what a busy machine delays, and short for a test that waits for looks.
SLUG, BLOCK_SECONDS = "gnosis", 5.0
GENESIS = ("--chain-id", "100", "--slots-in-an-epoch", "32")
BEGIN = 80
GAS = 1_000_000
TOPICS = ("0x1", "0x2", "0x3")


class Clients:
    """A stream of blocks and one of logs, read all the time, and every block that the node has had."""

    def __init__(self, target: Target, slug: str, node: Anvil, begin: int, block_seconds: float) -> None:
        self.blocks, self.logs = BlockClient(), LogClient()
        self.blocks.attach(open_watch("grpc", target, "watchBlocks", chain=slug))
        self.logs.attach(open_watch("sse", target, "watchLogs", chain=slug, address=LOGGER))
        self.had: set[str] = set()
        self._node, self._begin = node, begin
        self._within = 2 * block_seconds
        self._moved = asyncio.Event()
        self.readers: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        for client in (self.blocks, self.logs):
            await client.next()
            self.readers.append(asyncio.create_task(self._read(client)))

    async def _read(self, client: BlockClient | LogClient) -> None:
        while True:
            await client.next()
            self._moved.set()

    async def reach(self) -> None:
        """Return once both hold what the node has, which takes two block times at most."""
        blocks = await chain_of(self._node, self._begin)
        logs = await node_logs(self._node, self._begin)
        self.had.update(blocks.values())
        async with asyncio.timeout(self._within):
            while self.blocks.blocks != blocks or self.logs.logs != logs:
                self._moved.clear()
                moving = asyncio.create_task(self._moved.wait())
                done, _ = await asyncio.wait({moving, *self.readers}, return_when=asyncio.FIRST_COMPLETED)
                for ended in done - {moving}:
                    await ended

    def check(self) -> None:
        """Everything that was ever sent was of a block that the node had; what is held is checked with each event."""
        assert {event.block_hash for event in self.blocks.events if event.kind != PROGRESS} <= self.had

    async def end(self) -> None:
        for reader in self.readers:
            reader.cancel()
        await asyncio.gather(*self.readers, return_exceptions=True)
        for client in (self.blocks, self.logs):
            await client.close()


async def node_logs(node: Anvil, above: int) -> list[tuple[int, str, int]]:
    """Return the logs of the contract in blocks above a height, as `LogClient` holds them."""
    wanted = {"address": LOGGER, "fromBlock": hex(above + 1), "toBlock": "latest"}
    return [
        (int(log["blockNumber"], 16), log["blockHash"], int(log["logIndex"], 16))
        for log in await node.call("eth_getLogs", wanted)
    ]


@asynccontextmanager
async def following(
    node: Anvil, folder: Path, slug: str, block_seconds: float, **endpoint: str
) -> AsyncIterator[Clients]:
    chain = {"endpoints": [{"label": "node", "url": node.url, **endpoint}]}
    async with run_gateway_on({slug: chain}, folder) as gateway:
        begin = await node.height()
        clients = Clients(Target(gateway.http, gateway.grpc_target), slug, node, begin, block_seconds)
        await clients.begin()
        try:
            yield clients
        finally:
            await clients.end()


@pytest_asyncio.fixture(loop_scope="session")
async def node() -> AsyncIterator[Anvil]:
    """A chain whose newest final block is 64 below its newest."""
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, *GENESIS)
        await place_loggers(node)
        await node.call("anvil_mine", hex(BEGIN))
        yield node
        node.stop()


async def test_what_clients_hold_is_the_nodes_chain_through_reorganisations(node: Anvil, tmp_path: Path) -> None:
    async with following(node, tmp_path, SLUG, BLOCK_SECONDS) as clients:
        for _ in range(4):
            await write_logs(node, 2, *TOPICS)
        await node.call("anvil_mine", "0x12")
        await write_logs(node, 3, *TOPICS)
        await clients.reach()
        assert (len(clients.blocks.blocks), len(clients.logs.logs)) == (23, 11)
        for depth in (3, 20):
            await node.call("anvil_reorg", depth, [])
            await write_logs(node, 1, *TOPICS)
            await clients.reach()
        assert clients.blocks.kinds.count(REMOVED) == 3 + 20
        clients.check()


async def test_a_reorganisation_below_the_final_block_ends_the_streams(
    node: Anvil, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    labels = {"chain": SLUG, "reason": "UPSTREAM_DISAGREES"}
    before = REGISTRY.get_sample_value("waypost_stream_failures_total", labels) or 0.0
    async with following(node, tmp_path, SLUG, BLOCK_SECONDS) as clients:
        await node.call("anvil_reorg", 70, [])
        await node.call("anvil_mine", "0x1")
        async with asyncio.timeout(2 * BLOCK_SECONDS):
            endings: list[Any] = await asyncio.gather(*clients.readers, return_exceptions=True)
        for ended, client in zip(endings, (clients.blocks, clients.logs), strict=True):
            assert isinstance(ended, StreamEnded), ended
            assert (ended.reason, ended.cursor) == ("UPSTREAM_DISAGREES", client.cursor)
    assert REGISTRY.get_sample_value("waypost_stream_failures_total", labels) == before + 1
    assert any("streams ended" in record.getMessage() for record in caplog.records)


async def test_a_node_that_is_set_back_and_announces_blocks(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session, run_vendor("hardhat", session) as node:
        await node.call("hardhat_setCode", LOGGER, "0x" + logger_code(3).hex())
        async with following(node, tmp_path, "ethereum", 12.0, ws_url=node.url.replace("http", "ws")) as clients:
            for depth in (3, 20):
                snapshot = await node.call("evm_snapshot")
                await write_logs(node, 2, *TOPICS, gas=GAS)
                for _ in range(depth - 1):
                    # hardhat_mine makes long ranges on demand, whose blocks do not follow each other.
                    await node.call("evm_mine")
                await clients.reach()
                await node.call("evm_revert", snapshot)
                await write_logs(node, 1, *TOPICS, gas=GAS)
                await clients.reach()
            assert clients.blocks.kinds.count(REMOVED) == 3 + 20
            assert clients.logs.kinds.count(REMOVED) == 2 * 2
            clients.check()
