"""`waypost` commands as processes, and how they are asked and watched."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.forkserver import COMMAND, Forked, fork

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

ROOT = Path(__file__).parents[2]
CREDENTIAL = "0123456789abcdef0123456789abcdef"
HEIGHT = {"jsonrpc": "2.0", "id": 1, "method": "getBlockHeight", "params": {"chain": "ethereum"}}


class Waypost:
    """A running `waypost` process and what it has printed."""

    def __init__(self, process: Process | Forked) -> None:
        self.process = process
        self.out = ""
        self.err = ""
        self._readers = [asyncio.create_task(self._read("out")), asyncio.create_task(self._read("err"))]

    async def _read(self, name: str) -> None:
        stream = self.process.stdout if name == "out" else self.process.stderr
        assert stream is not None
        while chunk := await stream.read(4096):
            setattr(self, name, getattr(self, name) + chunk.decode())

    async def printed(self, pattern: str, seconds: float = 90.0, *, stream: str = "out") -> re.Match[str]:
        """Wait until standard output (or `err`) matches."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if match := re.search(pattern, getattr(self, stream)):
                return match
            if self.process.returncode is not None:
                break
            await asyncio.sleep(0.02)
        raise AssertionError(f"{pattern!r} was not printed\n{self.out}\n{self.err}")

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = 15.0) -> int:
        code = await asyncio.wait_for(self.process.wait(), seconds)
        await asyncio.gather(*self._readers)
        return code


@asynccontextmanager
async def waypost(*arguments: str, folder: Path, anew: bool = False, **variables: str) -> AsyncIterator[Waypost]:
    """A `waypost` process, killed at the end; a variable that is empty is left out.

    With `anew` an interpreter is started for it, as operators do; otherwise it is forked, which takes less time.
    """
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WAYPOST_STORAGE__URL": f"sqlite:///{folder}/waypost.db",
        # Two seconds that most tests need not wait for; those of leaving take the default.
        "WAYPOST_SERVER_LIMITS__NOTICE": "0s",
        **variables,
    }
    environ = {name: value for name, value in environ.items() if value}
    process: Process | Forked
    if anew:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "cli", *arguments, cwd=ROOT, env=environ, stdout=PIPE, stderr=PIPE, stdin=PIPE
        )
    else:
        process = await open_fork(COMMAND, *arguments, environ=environ)
    running = Waypost(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await running.ended()


async def open_fork(code: str, *arguments: str, environ: Mapping[str, str]) -> Forked:
    """Return a fork that runs the code, its outputs ready to be read."""
    # At its first use it waits for an interpreter to start.
    process = await asyncio.to_thread(fork, code, *arguments, environ=environ)
    await process.open()
    return process


async def post(base: str, body: Any) -> Any:
    async with aiohttp.ClientSession() as session, session.post(f"{base}/v1", json=body) as response:
        return await response.json()


async def base_of(running: Waypost) -> str:
    return (await running.printed(r"Base URL  (\S+)"))[1]


def children(pid: int) -> list[int]:
    """Return the processes that one has started; in a template's place those that it has forked."""
    found: list[int] = []
    for child in _children(pid):
        is_template = b"--template=" in Path(f"/proc/{child}/cmdline").read_bytes()
        found += _children(child) if is_template else [child]
    return found


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def page_of(url: str) -> tuple[str, list[str]]:
    """Return what a browser gets at a URL, and the first bytes of the files that it names there."""
    async with aiohttp.ClientSession(headers={"Accept": "text/html,*/*;q=0.8"}) as session:
        async with session.get(url) as response:
            assert response.status == 200
            page = await response.text()
        contents = []
        for path in re.findall(r' (?:src|href)="(/[^"]*)"', page):
            async with session.get(url + path) as response:
                assert response.status == 200, path
                contents.append((await response.text())[:100])
    return page, contents
