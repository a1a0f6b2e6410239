"""The process of the modelled Cosmos chains."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from devnet.local_chain import Endpoint, Guard, NodeError, Progress

STILL = "--still"
"""The flag that keeps the chains from making blocks as time passes."""

_ROOT = Path(__file__).resolve().parents[2]
_READY_WITHIN = 20.0


class CosmosChains:
    """One child process that serves several chains, each on two loopback ports of its own choice.

    Without `mines` a block is made by a transaction that is sent, and by nothing else.
    """

    def __init__(self, slugs: Sequence[str], *, mines: bool = True) -> None:
        self._slugs = tuple(slugs)
        self._flags = () if mines else (STILL,)
        self._urls: dict[str, dict[str, str]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None

    @property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """The REST gateway and the CometBFT RPC of each chain."""
        return {
            slug: (Endpoint("model", urls["rest"], "rest"), Endpoint("model-rpc", urls["comet"], "comet"))
            for slug, urls in self._urls.items()
        }

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self, guard: Guard) -> None:
        """Start the process, which seeds its chains first, and wait until it serves them. Raises NodeError."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "devnet.cosmos", *self._flags, *self._slugs),
            cwd=_ROOT,
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
                self._urls = json.loads(await self._process.stdout.readline())
        except (TimeoutError, ValueError):
            await self.stop()
            raise NodeError("the cosmos chains did not start; run `python -m devnet.cosmos` to see why") from None

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


def open_chain(slugs: Sequence[str], http: aiohttp.ClientSession, progress: Progress, *, mines: bool) -> CosmosChains:
    """Return the chains, not started yet."""
    return CosmosChains(slugs, mines=mines)


async def read_head(http: aiohttp.ClientSession, slug: str, url: str) -> int:
    """Return the newest height. Raises NodeError and aiohttp's errors."""
    async with http.get(f"{url}/cosmos/base/tendermint/v1beta1/blocks/latest") as response:
        answer = await response.json()
    if "block" not in answer:
        raise NodeError(f"{slug} answered the latest block with {answer}")
    return int(answer["block"]["header"]["height"])
