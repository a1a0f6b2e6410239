"""Callers without a key cannot keep others out: connections, bodies and answers that are held open on purpose.

The attackers come from 127.0.0.2, those who are kept out or not from 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.e2e.commands import ROOT, Waypost, base_of
from tests.forkserver import COMMAND

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ATTACKER = "127.0.0.2"
CROWD = 2000
# A crowd of this size takes its time on a machine that has other work.
pytestmark = pytest.mark.timeout(300)
HEALTH = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "getHealth"}).encode()
DEAD = '[chains.ethereum]\nendpoints = [{ label = "dead", url = "http://127.0.0.1:1" }]\n'
MOST_MEMORY = 192 << 20
# What a shell usually allows, and more than the crowd needs.
USUAL, PLENTY = 1024, 8192


class Door:
    """A gateway as a process of its own, with few descriptors if asked."""

    def __init__(self, process: Waypost, base: str) -> None:
        self._pid = process.process.pid
        self.base = base.rpartition("/")[0]
        self.host, _, port = self.base.removeprefix("http://").partition(":")
        self.port = int(port)

    def memory(self) -> int:
        """Return the resident bytes of the gateway's process."""
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self._pid}/fd").iterdir()))

    async def good_calls(self, count: int) -> float:
        """Ask with a good key, over a new connection and over a kept one in turn; return the longest seconds."""
        longest = 0.0
        timeout = aiohttp.ClientTimeout(total=45)
        async with aiohttp.ClientSession(timeout=timeout) as kept:
            for _ in range(count):
                async with aiohttp.ClientSession(timeout=timeout) as fresh:
                    for session in (fresh, kept):
                        began = time.monotonic()
                        async with session.post(f"{self.base}/local/v1", data=HEALTH) as response:
                            assert response.status == 200
                            assert "result" in await response.json()
                        longest = max(longest, time.monotonic() - began)
                await asyncio.sleep(0.02)
        return longest


@asynccontextmanager
async def door(folder: Path, *, descriptors: int = PLENTY, settings: str = "") -> AsyncIterator[Door]:
    config = folder / "waypost.toml"
    config.write_text(f'profile = "devnet"\n{settings}\n{DEAD}')
    limited = f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}))\n{COMMAND}"
    arguments = ("serve", "--config", str(config), "--http-port", "0", "--grpc-port", "0")
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "WAYPOST_STORAGE__URL": f"sqlite:///{folder}/waypost.db"}
    # An interpreter of its own: what a fork shares with its parent would count as memory that it takes later.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", limited, *arguments, cwd=ROOT, env=environ, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    running = Waypost(process)
    try:
        yield Door(running, await base_of(running))
    finally:
        process.kill()
        await running.ended()


@asynccontextmanager
async def crowd(target: Door, size: int, sent: bytes) -> AsyncIterator[list[int]]:
    """Hold connections from one address that have sent this and read nothing; those that are closed come back.

    Yields how often one was opened, as the only element of a list.
    """
    opened = [0]

    async def hold() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(target.host, target.port, local_addr=(ATTACKER, 0))
                opened[0] += 1
                try:
                    writer.write(sent)
                    while await reader.read(4096):
                        pass
                finally:
                    writer.transport.abort()
            except OSError:
                pass
            await asyncio.sleep(1)

    tasks = [asyncio.create_task(hold()) for _ in range(size)]
    try:
        async with asyncio.timeout(90):
            while opened[0] < size:  # noqa: ASYNC110  # the tasks count on their own
                await asyncio.sleep(0.05)
        yield opened
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def unfinished(path: str, length: int = 60_000, sent: int = 40_000) -> bytes:
    """Return a request whose body never ends."""
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode() + b" " * sent


@pytest.mark.parametrize(
    ("sent", "descriptors"),
    [
        (unfinished("/v1"), USUAL),
        (unfinished("/wp_" + "a" * 43 + "/v1"), PLENTY),
        (unfinished("/demo/v1"), PLENTY),
        (b"POST /local/v1 HTTP/1.1\r\nHost: x\r\n", USUAL),
        (b"POST /local/v1 HTTP/1.1\r\n" + b"".join(b"H%d: %s\r\n" % (n, b"x" * 8000) for n in range(30)), PLENTY),
    ],
    ids=["no key", "unknown key", "demo", "headers without end", "large headers"],
)
async def test_a_crowd_without_a_key_keeps_no_caller_out(tmp_path: Path, sent: bytes, descriptors: int) -> None:
    async with door(tmp_path, descriptors=descriptors) as gateway:
        await gateway.good_calls(2)
        before = gateway.memory()
        async with crowd(gateway, CROWD, sent):
            longest = await gateway.good_calls(15)
            grown = gateway.memory() - before
        # For measurements; on a machine that is busy with other things seconds mean little.
        print(f"{grown >> 20} MiB more, longest good call {longest:.2f} s")
        assert grown < MOST_MEMORY
        await gateway.good_calls(2)


async def test_idle_connections_make_room_where_descriptors_run_short(tmp_path: Path) -> None:
    async with door(tmp_path, descriptors=400) as gateway, crowd(gateway, 600, b"") as opened:
        await gateway.good_calls(15)
        # Held to the bound, not refused at it: newcomers replaced others of their own address.
        assert 200 < gateway.descriptors() < 400
        assert opened[0] >= 600


async def test_one_client_has_only_so_many_connections(tmp_path: Path) -> None:
    settings = "[http]\nmax_connections_per_client = 20"
    async with door(tmp_path, settings=settings) as gateway:
        held = [await asyncio.open_connection(gateway.host, gateway.port, local_addr=(ATTACKER, 0)) for _ in range(20)]
        reader, writer = await asyncio.open_connection(gateway.host, gateway.port, local_addr=(ATTACKER, 0))
        answer = await asyncio.wait_for(reader.read(), 10)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == 503
        writer.close()
        await gateway.good_calls(2)
        # One that ends makes room.
        held.pop()[1].close()
        async with asyncio.timeout(10):
            while True:
                reader, writer = await asyncio.open_connection(gateway.host, gateway.port, local_addr=(ATTACKER, 0))
                writer.write(b"POST /local/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(HEALTH) + HEALTH)
                status = await reader.readline()
                writer.close()
                if b" 200 " in status:
                    break
        for _, writer in held:
            writer.close()


async def test_trusted_proxies_may_have_more(tmp_path: Path) -> None:
    settings = f'[http]\nmax_connections_per_client = 20\ntrusted_proxies = ["{ATTACKER}"]'
    async with door(tmp_path, settings=settings) as gateway:
        held = [await asyncio.open_connection(gateway.host, gateway.port, local_addr=(ATTACKER, 0)) for _ in range(40)]
        reader, writer = held[-1]
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in await asyncio.wait_for(reader.readline(), 10)
        for _, writer in held:
            writer.close()


def batch_of_documents() -> bytes:
    body = b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'] * 50) + b"]"
    return b"POST /local/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body


# Each is more than sockets hold: eight and twenty megabytes.
@pytest.mark.parametrize(
    "request_bytes",
    [b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20, batch_of_documents()],
    ids=["pages", "batch of fifty"],
)
async def test_clients_that_never_read_are_closed_and_hold_up_no_other(tmp_path: Path, request_bytes: bytes) -> None:
    # What sockets hold is taken at once, so that by the default rate it is a hundred seconds until they are too slow.
    async with door(tmp_path, settings="[http]\nmin_transfer_rate = 32768") as gateway:
        await gateway.good_calls(2)
        before = gateway.memory()
        deaf = []
        for _ in range(200):
            reader, writer = await asyncio.open_connection(
                gateway.host, gateway.port, local_addr=(ATTACKER, 0), limit=1024
            )
            writer.transport.pause_reading()
            writer.write(request_bytes)
            deaf.append((reader, writer))
        await gateway.good_calls(15)
        assert gateway.memory() - before < MOST_MEMORY
        idle = gateway.descriptors()
        async with asyncio.timeout(90):
            while gateway.descriptors() > idle - 150:  # noqa: ASYNC110  # another process closes them
                await asyncio.sleep(0.2)
        for _, writer in deaf:
            writer.transport.abort()
