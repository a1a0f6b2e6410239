"""One anvil process and the way to talk to it."""

import asyncio
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from devnet.evm.world import Chain
from devnet.install import STATE, anvil_binary
from devnet.local_chain import Endpoint, Guard, NodeError
from devnet.ports import free_port

DEPTH = 560  # states that stay readable: the seeded blocks and some 540 further ones
EPOCH = 4  # safe trails the head by this many blocks, finalized by twice as many
LABEL = "anvil"
_READY_WITHIN = 20.0
_ATTEMPTS = 4


class Node:
    """An anvil process on a free loopback port."""

    def __init__(self, chain: Chain, http: aiohttp.ClientSession, url: str = "") -> None:
        self.chain = chain
        self.url = url  # known after `start`, or of a node that another process has started
        self._http = http
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None
        self._ids = itertools.count(1)

    @property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """The node's endpoint by chain slug; known after `start`."""
        return {self.chain.slug: (Endpoint(LABEL, self.url, ws_url=self.url.replace("http", "ws", 1)),)}

    @property
    def pid(self) -> int | None:
        """The process id while the node runs, else None."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self, guard: Guard, flags: Sequence[str], output: int | None = None) -> None:
        """Start the process and wait until it answers; what it prints goes to `output`. Raises NodeError."""
        binary = str(anvil_binary())
        for _ in range(_ATTEMPTS):
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            self._process = await asyncio.create_subprocess_exec(
                binary,
                *("--host", "127.0.0.1", "--port", str(port), "--no-mining", "--order", "fifo", "--color", "never"),
                *("--chain-id", str(self.chain.chain_id), "--base-fee", str(self.chain.base_fee)),
                *("--number", str(self.chain.height), "--slots-in-an-epoch", str(EPOCH)),
                # Without --prune-history anvil keeps 500 states and writes the others to the home directory.
                *("--prune-history", str(DEPTH), "--accounts", "3", "--balance", "1000"),
                *(["--quiet"] if output is None else []),
                *flags,
                env={"HOME": str(STATE)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL if output is None else output,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C reaches the launcher alone, which ends its nodes in order
            )
            self._guard = guard
            guard.watch(self._process.pid)
            if await self._answers():
                return
            await self.stop()
        raise NodeError(f"the {self.chain.slug} node did not start; run `{binary} --version` to see whether it can")

    async def call(self, method: str, *params: object) -> Any:
        """Return the result of one JSON-RPC request. Raises NodeError."""
        [result] = await self._post([(method, params)])
        return result

    async def calls(self, requests: Sequence[tuple[str, Sequence[object]]]) -> list[Any]:
        """Return the results of a batch, in order. The node may work on a batch's requests in any order."""
        return await self._post(requests) if requests else []

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
                found = int(await self.call("eth_chainId"), 16)
            except (aiohttp.ClientError, OSError, ValueError, NodeError):
                await asyncio.sleep(0.01)
                continue
            # Another process may have taken the port between the choice and the start.
            return found == self.chain.chain_id and self.pid is not None
        return False

    async def _post(self, requests: Sequence[tuple[str, Sequence[object]]]) -> list[Any]:
        batch = [
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}
            for method, params in requests
        ]
        body = json.dumps(batch)
        async with self._http.post(self.url, data=body, headers={"content-type": "application/json"}) as response:
            answers = {answer["id"]: answer for answer in json.loads(await response.read())}
        results = []
        for request in batch:
            answer = answers[request["id"]]
            if "error" in answer:
                raise NodeError(f"{self.chain.slug} answered {request['method']} with {answer['error']}")
            results.append(answer["result"])
        return results


def genesis_flags(genesis: Path, timestamp: int, gas_limit: int | None) -> list[str]:
    """Return the flags that start a node on a finished world."""
    flags = ["--init", str(genesis), "--timestamp", str(timestamp)]
    return flags if gas_limit is None else [*flags, "--gas-limit", str(gas_limit)]
