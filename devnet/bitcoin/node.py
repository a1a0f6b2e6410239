"""The process that serves Bitcoin: bcoin in Node.js, seeded from world.json before it answers."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from devnet.install import node_binary, packages_of
from devnet.local_chain import Endpoint, Guard, NodeError, Progress

SLUG = "bitcoin"
_HERE = Path(__file__).resolve().parent
_READY_WITHIN = 30.0


class BitcoinNode:
    """One bcoin node on a free loopback port; `endpoints` has Core's interface and Esplora's."""

    def __init__(self, http: aiohttp.ClientSession, progress: Progress) -> None:
        self.url = ""  # of Core's interface; known after `start`
        self._http = http
        self._progress = progress
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None

    @property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """Core's JSON-RPC and Esplora's routes, by chain slug."""
        return {
            SLUG: (
                Endpoint("bcoin", self.url, "core"),
                Endpoint("bcoin-esplora", f"{self.url}/api", "esplora"),
            )
        }

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self, guard: Guard) -> None:
        """Install bcoin if it is missing, start the process and wait for its port. Raises NodeError, InstallError."""
        note = "the Bitcoin node (npm, 18 MB on disk, once)"
        modules = await asyncio.to_thread(packages_of, _HERE, "bitcoin", note, self._progress)
        self._process = await asyncio.create_subprocess_exec(
            str(node_binary()),
            *("--no-deprecation", str(_HERE / "main.js")),
            env={"NODE_PATH": str(modules), "PATH": os.defpath},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches the launcher alone, which ends its nodes in order
        )
        self._guard = guard
        guard.watch(self._process.pid)
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_READY_WITHIN):
                port = (await self._process.stdout.readline()).strip()
        except TimeoutError:
            port = b""
        if not port.isdigit():
            await self.stop()
            raise NodeError("the bitcoin node did not start")
        self.url = f"http://127.0.0.1:{port.decode()}"

    async def call(self, method: str, *params: object) -> Any:
        """Return the result of one JSON-RPC request, amounts as float. Raises NodeError."""
        return await _call(self._http, self.url, method, params)

    async def mine(self, blocks: int = 1) -> int:
        """Mine blocks with what waits to be confirmed, and return the new height. Raises NodeError."""
        await self.call("generatetoaddress", blocks, "1PTGu4hDd7PBe7e22p3waTA5QeZ95cjPHx")
        return int(await self.call("getblockcount"))

    async def stop(self) -> None:
        """End the process; ending it twice does no harm."""
        if self._process is not None:
            if self._process.returncode is None:
                self._process.kill()  # it holds nothing that is worth an orderly end
            # To the end of its output: a pipe that is left open would be closed by the garbage collector.
            await self._process.communicate()
            if self._guard is not None:
                self._guard.forget(self._process.pid)
                self._guard = None


def open_chain(slugs: Sequence[str], http: aiohttp.ClientSession, progress: Progress, *, mines: bool) -> BitcoinNode:
    """Return the node, not started yet; its blocks never come by themselves."""
    return BitcoinNode(http, progress)


async def read_head(http: aiohttp.ClientSession, slug: str, url: str) -> int:
    """Return the newest height of a node that another process has started. Raises NodeError and aiohttp's errors."""
    return int(await _call(http, url, "getblockcount", ()))


async def _call(http: aiohttp.ClientSession, url: str, method: str, params: Sequence[object]) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})
    async with http.post(f"{url}/", data=body, headers={"content-type": "application/json"}) as response:
        answer = json.loads(await response.read())
    if "error" in answer:
        raise NodeError(f"{SLUG} answered {method} with {answer['error']}")
    return answer["result"]
