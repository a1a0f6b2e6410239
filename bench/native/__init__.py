"""The Go programs of a benchmark, built on demand: a node whose values are made up, and what asks.

They use nothing but Go's standard library. Where there is no Go, or one too old, the rows are measured with the local
chain and the load generators in Python instead, which cost as much as what they measure.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
import orjson

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FOLDER = Path(__file__).parents[2] / ".bench"
"""Where the programs are, and what a run writes; not part of the repository."""

OLD_BLOCK = 22_000_000
"""A final block of the node's invented chain, which stands at 23,000,000 when it starts."""

CHAINS = {"ethereum": (1, 12.0), "polygon": (137, 2.0)}
"""Chains that the node can pass for: id, and seconds between blocks."""

_SOURCES = Path(__file__).parent


async def build() -> str | None:
    """Build the programs; return why that cannot be done, else None."""
    if which("go") is None:
        return "there is no Go toolchain"
    FOLDER.mkdir(exist_ok=True)
    # Nothing is downloaded: no module is needed, and no other toolchain is fetched.
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": ""}
    child = await asyncio.create_subprocess_exec(
        *("go", "build", "-o", f"{FOLDER}/", "./node", "./load"),
        cwd=_SOURCES,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await child.communicate()
    return output.decode().strip() or "go build failed" if child.returncode else None


class Node(NamedTuple):
    """A node that runs: its URL, and a session by which it is asked how many requests it had."""

    url: str
    session: aiohttp.ClientSession

    async def requests(self) -> int:
        """Return how many HTTP requests reached it."""
        async with self.session.get(self.url) as answer:
            return int(orjson.loads(await answer.read())["requests"])


@asynccontextmanager
async def serve(chain: str, delay: float = 0.0) -> AsyncIterator[Node]:
    """Run a node that passes for a chain, each answer after `delay` seconds, until the block ends."""
    chain_id, period = CHAINS[chain]
    options = ("-chain", str(chain_id), "-period", f"{period}s", "-delay", f"{delay}s")
    child = await asyncio.create_subprocess_exec(str(FOLDER / "node"), *options, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    try:
        url = (await child.stdout.readline()).decode().strip()
        async with aiohttp.ClientSession() as session:
            yield Node(url, session)
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()
