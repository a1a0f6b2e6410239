"""Streams that go on at their cursors at two gateways that are killed, stopped and started anew: nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import aiohttp
import pytest

from devnet.ports import free_port
from tests.e2e.commands import Waypost, waypost
from tests.e2e.streams import WAYS, LogClient, StreamEnded, Target, open_watch
from tests.e2e.test_streams_reorganisations import GENESIS, SLUG, node_logs
from tests.server.chains.evm.log_nodes import LOGGER, place_loggers, write_logs
from tests.server.chains.evm.nodes import Anvil
from tests.server.streams.clients import ROLLED_BACK, BlockClient
from tests.server.streams.conftest import chain_of

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

BEGIN = 30
PAUSE = 0.2
CONFIG = """
profile = "devnet"
[http]
port = {http}
[grpc]
port = {grpc}
[chains.{slug}]
endpoints = [{{ label = "node", url = "{node}", ws_url = "{socket}" }}]
"""
TOPICS = ("0x1", "0x2", "0x3")


class Replica:
    """A gateway at ports of its own, in whichever process it is at present."""

    def __init__(self, folder: Path, name: str, node: str) -> None:
        http, grpc = free_port(), free_port()
        self.target = Target(f"http://127.0.0.1:{http}", f"127.0.0.1:{grpc}")
        self._folder = folder / name
        self._folder.mkdir()
        self._config = self._folder / "waypost.toml"
        socket = node.replace("http", "ws")
        self._config.write_text(CONFIG.format(http=http, grpc=grpc, slug=SLUG, node=node, socket=socket))
        self._running: tuple[AbstractAsyncContextManager[Waypost], Waypost] | None = None

    async def start(self) -> None:
        command = waypost("serve", "--config", str(self._config), folder=self._folder)
        self._running = command, await command.__aenter__()
        await self._running[1].printed("Ctrl-C ends it")

    async def end(self, number: signal.Signals) -> None:
        """End the process by a signal."""
        assert self._running is not None
        command, process = self._running
        process.signal(number)
        await process.ended(30)
        await command.__aexit__(None, None, None)
        self._running = None

    async def close(self) -> None:
        if self._running is not None:
            await self.end(signal.SIGKILL)


class Patient:
    """Reads a stream of one client, and where it ends goes on at its cursor at the other replica."""

    def __init__(self, way: str, client: BlockClient | LogClient, replicas: list[Replica]) -> None:
        self.way, self.client = way, client
        self.ends: list[str] = []
        self._replicas = replicas
        self.moved = asyncio.Event()

    async def read(self) -> None:
        at = 0
        while True:
            self._attach(self._replicas[at % 2].target)
            try:
                while True:
                    await self.client.next()
                    self.moved.set()
            except StreamEnded as ended:
                if ended.reason:
                    self.ends.append(ended.reason)
                if ended.cursor not in ("", self.client.cursor):
                    # A gateway that goes names where to go on, one that is killed cannot.
                    self.ends.append("another cursor")
            at += 1
            await asyncio.sleep(PAUSE)

    def _attach(self, target: Target) -> None:
        params = {"chain": SLUG} | ({"cursor": self.client.cursor} if self.client.cursor else {})
        if isinstance(self.client, LogClient):
            self.client.attach(open_watch(self.way, target, "watchLogs", address=LOGGER, **params))
        else:
            self.client.attach(open_watch(self.way, target, "watchBlocks", **params))

    @property
    def held(self) -> object:
        return self.client.logs if isinstance(self.client, LogClient) else self.client.blocks


async def reach(patients: list[Patient], readers: list[asyncio.Task[None]], node: Anvil) -> None:
    """Return once all hold what the node has."""
    blocks, logs = await chain_of(node, BEGIN), await node_logs(node, BEGIN)
    async with asyncio.timeout(60):
        for patient in patients:
            wanted = logs if isinstance(patient.client, LogClient) else blocks
            while patient.held != wanted:
                patient.moved.clear()
                moving = asyncio.create_task(patient.moved.wait())
                done, _ = await asyncio.wait({moving, *readers}, return_when=asyncio.FIRST_COMPLETED)
                for ended in done - {moving}:
                    await ended


@pytest.mark.timeout(150)
async def test_nothing_is_lost_between_replicas_that_go_and_return(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, *GENESIS)
        await place_loggers(node)
        await node.call("anvil_mine", hex(BEGIN))
        replicas = [Replica(tmp_path, name, node.url) for name in ("a", "b")]
        a, b = replicas
        readers: list[asyncio.Task[None]] = []
        patients = [Patient(way, client(), replicas) for way in WAYS for client in (BlockClient, LogClient)]
        try:
            await asyncio.gather(a.start(), b.start())
            readers += [asyncio.create_task(patient.read()) for patient in patients]
            async with asyncio.timeout(60):
                await asyncio.gather(*(patient.moved.wait() for patient in patients))
            await grow(node)
            await reach(patients, readers, node)
            # Killed in the middle of what it sends, while the chain goes on and is replaced.
            growing = asyncio.create_task(grow(node))
            await asyncio.sleep(0.1)
            await a.end(signal.SIGKILL)
            await growing
            await node.call("anvil_reorg", 3, [])
            await grow(node)
            await reach(patients, readers, node)
            await a.start()
            # The other one leaves in order; what it knew of is replaced before any client is at the first one.
            leaving = asyncio.create_task(b.end(signal.SIGTERM))
            await node.call("anvil_reorg", 5, [])
            await grow(node)
            await leaving
            await reach(patients, readers, node)
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
            await asyncio.gather(*(patient.client.close() for patient in patients), a.close(), b.close())
            node.stop()
    for patient in patients:
        # The first gateway was killed without a word, the second one left with one.
        assert patient.ends == ["UPSTREAM_UNAVAILABLE"], patient.way
    kinds = [kind for patient in patients for kind in getattr(patient.client, "kinds", ())]
    assert ROLLED_BACK in kinds


async def grow(node: Anvil) -> None:
    """Make blocks with logs and without."""
    for count in (1, 2, 3):
        await write_logs(node, count, *TOPICS)
        await node.call("anvil_mine", "0x2")
