"""A collector in this process, and a traced gateway over two copies of a real node, the second of which is trusted."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest_asyncio

from runtime.settings import load_settings
from runtime.telemetry import open_telemetry
from tests.collector import run_collector
from tests.e2e.gateway import CREDENTIAL, run_gateway
from tests.faults import simulator
from tests.faults.simulator import FaultyNode
from tests.server.chains.evm.nodes import Anvil, build_world

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    from runtime.spans import SpanTracer
    from tests.collector import Collector
    from tests.e2e.gateway import RunningGateway
    from tests.faults.simulator import Asked


@dataclass
class Traced:
    """A gateway with what it exports, and its two endpoints."""

    gateway: RunningGateway
    tracer: SpanTracer
    collector: Collector
    alpha: FaultyNode
    beta: FaultyNode
    seen: int = field(default=0)

    @property
    def asked(self) -> list[Asked]:
        """What reached the endpoints in this test."""
        return self.alpha.asked + self.beta.asked

    async def spans(self) -> list[Span]:
        """Return what was exported since this was asked last; what the gateway asked by itself is left out."""
        await asyncio.to_thread(self.tracer.flush)
        first, self.seen = self.seen, len(self.collector.requests)
        return [
            span
            for span in self.collector.spans(first)
            if facts(span).get("waypost.purpose", "call") in ("call", "heavy")
        ]


def facts(span: Span) -> dict[str, Any]:
    """Return the attributes of a span."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def traced(tmp_path_factory: Any) -> AsyncIterator[Traced]:
    folder = tmp_path_factory.mktemp("traced")
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        collector = await stack.enter_async_context(run_collector())
        anvil = await Anvil.start(session, "--chain-id", "1", "--number", "20000000")
        stack.callback(anvil.stop)
        await build_world(anvil)
        nodes = FaultyNode(anvil.url), FaultyNode(anvil.url)
        for node in nodes:
            await node.start()
            stack.push_async_callback(node.close)
        endpoints = [
            {"label": "alpha", "url": nodes[0].url, "weight": 1000},
            {"label": "beta", "url": nodes[1].url, "trace": True},
        ]
        settings = load_settings(
            environ={"COLLECTOR_TOKEN": "t1"},
            overrides={
                "profile": "devnet",
                "http": {"port": 0},
                "grpc": {"port": 0, "private_listen": f"unix:{folder}/private.sock", "credential": CREDENTIAL},
                "cache": {"near_head": 0},
                "storage": {"url": f"sqlite:///{folder}/keys.db"},
                "chains": {"ethereum": {"endpoints": endpoints}},
                "telemetry": {"endpoint": collector.url, "headers_env": {"Token": "COLLECTOR_TOKEN"}},
            },
        )
        tracer = await open_telemetry(stack, settings)
        assert tracer is not None
        gateway = await stack.enter_async_context(run_gateway(settings))
        # Whose chain and head are known asks for nothing else.
        await gateway.ask("getBlockHeight", {"chain": "ethereum"})
        made = Traced(gateway, tracer, collector, *nodes)
        await made.spans()
        yield made


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def fresh(traced: Traced) -> AsyncIterator[None]:
    """Let a test see its own spans alone."""
    traced.alpha.fault = traced.beta.fault = simulator.honest
    traced.alpha.asked.clear()
    traced.beta.asked.clear()
    await traced.spans()
    yield
