"""Thousands of sockets without a subscription, of two client processes: little memory, and callers are served."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import psutil
import pytest

from devnet.ports import free_port
from tests.faults.floods.attack import FULL

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
MEBIBYTE = 1 << 20
# `FLOODS=full` opens as many as are promised (docs/decisions/0075); fewer have their share of the memory.
SOCKETS = 10_000 if FULL else 2_000
GROWTH = 250 * MEBIBYTE * SOCKETS // 10_000
PROCESSES = 2
GOOD_CALLS = 40
CALL_SECONDS = 5.0 if FULL else 30.0
OPEN_SECONDS = 240
# What every process may have open is asked for when it starts: the usual limit would not do.
SOFT_LIMIT = 1024
HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "getHealth", "params": {}}


class Served:
    """A gateway in a process of its own, with little room for descriptors unless it asks for more."""

    def __init__(self, url: str, process: psutil.Process, log: Path) -> None:
        self.url = url
        self.process = process
        self.log = log

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextlib.contextmanager
def serve(folder: Path, limit: str) -> Iterator[Served]:
    """Run a gateway under a limit of descriptors, which `ulimit` sets."""
    config, port = folder / "waypost.toml", free_port()
    config.write_text(
        f'profile = "devnet"\n[storage]\nurl = "sqlite:///{folder / "waypost.db"}"\n'
        f"[http]\nport = {port}\nmax_connections = 20000\nmax_connections_per_client = 20000\n"
        f"[grpc]\nport = {free_port()}\n[chains.ethereum]\n"
        f'endpoints = [{{ label = "none", url = "http://127.0.0.1:{free_port()}" }}]\n'
    )
    command = f'ulimit {limit}; exec "$@"'
    serve = [sys.executable, "-P", "-m", "cli", "serve", "--config", str(config)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["/bin/sh", "-c", command, "sh", *serve], cwd=ROOT, stdout=log, stderr=log)
    try:
        yield Served(f"http://127.0.0.1:{port}", psutil.Process(process.pid), folder / "log")
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()


async def ask(session: aiohttp.ClientSession, url: str) -> Any:
    """Return the answer to one good call."""
    timeout = aiohttp.ClientTimeout(CALL_SECONDS)
    async with session.post(f"{url}/local/v1", json=HEALTH, timeout=timeout) as response:
        return await response.json()


async def wait_for(served: Served, session: aiohttp.ClientSession) -> None:
    """Return once it answers."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                assert "result" in await ask(session, served.url)
                return
            await asyncio.sleep(0.1)


async def test_a_limit_that_is_too_low_is_logged(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session:
        with serve(tmp_path, "-n 500") as served:
            await wait_for(served, session)
            lines = [line for line in served.log.read_text().splitlines() if "few file descriptors" in line]
    assert len(lines) == 1
    assert (json.loads(lines[0])["limit"], json.loads(lines[0])["wanted"]) == (500, 20_000)


@pytest.mark.timeout(600 if FULL else 300)
async def test_idle_sockets_take_little_and_callers_are_served(tmp_path: Path) -> None:
    with serve(tmp_path, f"-Sn {SOFT_LIMIT}") as served:
        await stand(served)


async def stand(served: Served) -> None:
    """Open the sockets, with good calls while they are opened and beside them."""
    async with aiohttp.ClientSession() as session:
        await wait_for(served, session)
        before = served.process.memory_info().rss
        crowd = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.faults.floods.idle_sockets", str(served.port)),
                str(SOCKETS // PROCESSES),
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(PROCESSES)
        ]
        try:
            # A caller that comes while they are opened.
            async with aiohttp.ClientSession() as good:
                while_opened = [await ask(good, served.url) for _ in range(GOOD_CALLS)]
            async with asyncio.timeout(OPEN_SECONDS):
                opened = [int(await one.stdout.readline()) for one in crowd if one.stdout]
            assert opened == [SOCKETS // PROCESSES] * PROCESSES
            # Another one, once all of them are there.
            async with aiohttp.ClientSession() as good:
                beside = [await ask(good, served.url) for _ in range(GOOD_CALLS)]
            grown = served.process.memory_info().rss - before
            held = []
            for one in crowd:
                output, _ = await one.communicate(b"\n")
                held.append(int(output))
        finally:
            for one in crowd:
                if one.returncode is None:
                    one.kill()
                    await one.wait()
    print(f"{SOCKETS} sockets: {before / MEBIBYTE:.0f} MiB and {grown / MEBIBYTE:.0f} more")
    assert all("result" in answer for answer in while_opened + beside)
    assert held == [SOCKETS // PROCESSES] * PROCESSES
    assert grown < GROWTH, f"{grown / MEBIBYTE:.0f} MiB more"
