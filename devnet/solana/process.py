"""The process of the local Solana chain."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from devnet import known_solana as known
from devnet.local_chain import Endpoint, Guard, NodeError, Progress
from devnet.ports import free_port

SLUG = "solana"
_ROOT = Path(__file__).resolve().parents[2]
_READY_WITHIN = 20.0
_ATTEMPTS = 4


class SolanaChain:
    """A child process that serves the chain on a free loopback port."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.url = ""
        self._http = http
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None

    @property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """The one endpoint."""
        return {SLUG: (Endpoint("litesvm", self.url),)}

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self, guard: Guard) -> None:
        """Start the process, which builds its world first, and wait until it answers. Raises NodeError."""
        for _ in range(_ATTEMPTS):
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "devnet.solana", str(port)),
                cwd=_ROOT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C reaches the launcher alone, which ends its nodes in order
            )
            self._guard = guard
            guard.watch(self._process.pid)
            if await self._answers():
                return
            await self.stop()
        raise NodeError("the solana chain did not start; run `python -m devnet.solana 8899` to see why")

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
        deadline = asyncio.get_running_loop().time() + _READY_WITHIN
        while asyncio.get_running_loop().time() < deadline and self.pid is not None:
            try:
                found = await _ask(self._http, self.url, "getGenesisHash")
            except (aiohttp.ClientError, OSError, ValueError, NodeError):
                await asyncio.sleep(0.02)
                continue
            # Another process may have taken the port between the choice and the start.
            return bool(found == known.GENESIS) and self.pid is not None
        return False


def open_chain(slugs: Sequence[str], http: aiohttp.ClientSession, progress: Progress, *, mines: bool) -> SolanaChain:
    """Return the chain, not started yet; its blocks never come by themselves."""
    return SolanaChain(http)


async def read_head(http: aiohttp.ClientSession, slug: str, url: str) -> int:
    """Return the newest slot. Raises NodeError and aiohttp's errors."""
    return int(await _ask(http, url, "getSlot"))


async def _ask(http: aiohttp.ClientSession, url: str, method: str) -> Any:
    async with http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": []}) as response:
        answer = await response.json()
    if "result" not in answer:
        raise NodeError(f"solana answered {method} with {answer.get('error')}")
    return answer["result"]
