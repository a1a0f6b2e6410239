"""The Starknet engine's process and the way to talk to it."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from devnet.environments import SetUpError
from devnet.local_chain import Endpoint, Guard, NodeError, Progress
from devnet.ports import free_port
from devnet.starknet.install import installed_engine

_SLUG = "starknet"
_ROOT = Path(__file__).resolve().parents[2]
_READY_WITHIN = 60.0
_ATTEMPTS = 3


class StarknetNode:
    """The chain of `devnet/starknet/engine` on a free loopback port."""

    def __init__(self, http: aiohttp.ClientSession, progress: Progress) -> None:
        self._http = http
        self._progress = progress
        self._url = ""
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None

    @property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """The endpoint; known after `start`."""
        return {_SLUG: (Endpoint("cairo", self._url),)}

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self, guard: Guard) -> None:
        """Install the engine if needed, start it and wait until its world is built. Raises NodeError."""
        try:
            python = await asyncio.to_thread(installed_engine, self._progress)
        except SetUpError as error:
            raise NodeError(str(error)) from None
        self._guard = guard
        for _ in range(_ATTEMPTS):
            port = free_port()
            self._url = f"http://127.0.0.1:{port}"
            self._process = await asyncio.create_subprocess_exec(
                str(python),
                *("-m", "devnet.starknet.engine", str(port)),
                cwd=_ROOT,
                env={"PATH": os.defpath, "HOME": str(python.parent), "PYTHONPATH": str(_ROOT)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C reaches the launcher alone, which ends its nodes in order
            )
            guard.watch(self._process.pid)
            if await self._answers():
                return
            await self.stop()
        raise NodeError("the Starknet engine did not start; run `python -m devnet.starknet.engine 0` to see why")

    async def call(self, method: str, *params: object) -> Any:
        """Return the result of one JSON-RPC request. Raises NodeError."""
        return await ask(self._http, self._url, method, *params)

    async def stop(self) -> None:
        """End the process; ending it twice does no harm."""
        if self._process is not None:
            if self._process.returncode is None:
                self._process.kill()  # it holds nothing that is worth an orderly end
            await self._process.wait()
            if self._guard is not None:
                self._guard.forget(self._process.pid)
                self._guard = None

    async def _answers(self) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _READY_WITHIN
        while loop.time() < deadline and self.pid is not None:
            try:
                found = await self.call("starknet_chainId")
            except (aiohttp.ClientError, OSError, ValueError, NodeError):
                await asyncio.sleep(0.05)
                continue
            return found == "0x534e5f4d41494e" and self.pid is not None
        return False


def open_chain(slugs: Sequence[str], http: aiohttp.ClientSession, progress: Progress, *, mines: bool) -> StarknetNode:
    """Return the chain, not started yet; its blocks never come by themselves."""
    return StarknetNode(http, progress)


async def read_head(http: aiohttp.ClientSession, slug: str, url: str) -> int:
    """Return the number of the newest block. Raises NodeError and aiohttp's errors."""
    return int(await ask(http, url, "starknet_blockNumber"))


async def ask(http: aiohttp.ClientSession, url: str, method: str, *params: object) -> Any:
    """Return the result of one JSON-RPC request to a node. Raises NodeError."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})
    async with http.post(url, data=body, headers={"content-type": "application/json"}) as response:
        answer = json.loads(await response.read())
    if "error" in answer:
        raise NodeError(f"starknet answered {method} with {answer['error']}")
    return answer["result"]
