"""What stands while rows are measured: the two echoes, two nodes, one of them 30 ms away, and a gateway.

The servers share one processor, everything else has the others. Nothing of the nodes' values is real, so the gateway
runs on the devnet profile, with a database of its own.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import aiohttp

from bench import gateway, native
from bench.loads import Reading, ask
from bench.processes import processor_seconds, python
from bench.relay import CountingRelay
from devnet.launcher import Devnet
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from bench.gateway import Gateway
    from bench.loads import Pace, Question, Round

NEAR, FAR = "ethereum", "polygon"
FAR_SECONDS = 0.03
ROUNDS = 5
SECONDS = 1.5


class Node(Protocol):
    """A node that counts what reaches it."""

    @property
    def url(self) -> str:
        """Where it listens."""
        ...

    async def requests(self) -> int:
        """Return how many HTTP requests reached it."""
        ...


@dataclass(frozen=True)
class RelayedNode:
    """A node of the local chain behind a relay, where there is no Go toolchain."""

    relay: CountingRelay

    @property
    def url(self) -> str:
        """Where the relay listens."""
        return self.relay.url

    async def requests(self) -> int:
        """Return how many HTTP requests reached it."""
        return self.relay.requests


@dataclass(frozen=True)
class Echo:
    """A bare echo: where it listens, and its process."""

    url: str
    pid: int


@dataclass
class World:
    """What rows are measured in. `tree` is the checkout whose gateway is measured, ours for None."""

    is_native: bool
    tree: Path | None
    apart: set[int] | None
    old_block: int
    near: Node
    far: Node
    echoes: dict[str, Echo]
    gateway: Gateway

    @property
    def endpoints(self) -> dict[str, str]:
        """The nodes by the chains that they pass for."""
        return {NEAR: self.near.url, FAR: self.far.url}

    def serve(
        self, *, settings: str = "", workers: int = 1, processors: set[int] | None = None
    ) -> AbstractAsyncContextManager[Gateway]:
        """Serve from another gateway until the block ends."""
        places = processors or self.apart
        return gateway.serve(self.endpoints, places, self.tree, settings=settings, workers=workers)

    async def ask(self, question: Question, pace: Pace, served: Gateway | None = None) -> Round:
        """Ask a gateway, the world's own for None; raise AssertionError where a request fails."""
        asked = served or self.gateway
        node = self.far if pace.rate else self.near

        async def watch() -> Reading:
            return Reading(processor_seconds(asked.processes()), await node.requests())

        url = asked.grpc_url if question.method else asked.url
        return await ask(url, question, pace, watch, key=asked.key, is_native=self.is_native)

    async def ask_echo(self, kind: str, question: Question, pace: Pace) -> Round:
        """Ask an echo (`http`, `grpc`)."""
        echo = self.echoes[kind]

        async def watch() -> Reading:
            return Reading(processor_seconds((echo.pid,)), 0)

        return await ask(echo.url, question, pace, watch, key="local", is_native=self.is_native)

    async def ask_node(self, question: Question, pace: Pace, node: Node | None = None) -> Round:
        """Ask a node, the near one for None."""

        async def watch() -> Reading:
            return Reading(0.0, 0)

        return await ask((node or self.near).url, question, pace, watch, key="", is_native=self.is_native)


@asynccontextmanager
async def open_world(tree: Path | None, apart: set[int] | None) -> AsyncIterator[World]:
    """Start everything, the servers on the processors `apart`; all of it ends with the block."""
    missing = await native.build()
    if missing is not None:
        print(f"  node and load generator in Python, which cost as much as what they measure: {missing}", flush=True)
    async with AsyncExitStack() as stack:
        echoes = {}
        for kind, path in (("http", "/v1"), ("grpc", "")):
            port = free_port()
            child = python("-m", "bench.echoes", kind, str(port), port=port, processors=apart)
            echoes[kind] = Echo(f"http://127.0.0.1:{port}{path}", await stack.enter_async_context(child))
        near, far, old_block = await (_run_native(stack) if missing is None else _run_local(stack))
        served = await stack.enter_async_context(gateway.serve({NEAR: near.url, FAR: far.url}, apart, tree))
        yield World(missing is None, tree, apart, old_block, near, far, echoes, served)


async def _run_native(stack: AsyncExitStack) -> tuple[Node, Node, int]:
    near = await stack.enter_async_context(native.serve(NEAR))
    far = await stack.enter_async_context(native.serve(FAR, FAR_SECONDS))
    return near, far, native.OLD_BLOCK


async def _run_local(stack: AsyncExitStack) -> tuple[Node, Node, int]:
    devnet = await stack.enter_async_context(Devnet.start([NEAR, FAR], progress=lambda _: None, mines=False))
    nodes = []
    for slug, delay in ((NEAR, 0.0), (FAR, FAR_SECONDS)):
        relay = CountingRelay(devnet.endpoints[slug], delay)
        await relay.start()
        stack.push_async_callback(relay.close)
        nodes.append(RelayedNode(relay))
    asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["finalized", False]}
    async with aiohttp.ClientSession() as session, session.post(devnet.endpoints[NEAR], json=asked) as answer:
        final = int((await answer.json())["result"]["number"], 16)
    return nodes[0], nodes[1], final
