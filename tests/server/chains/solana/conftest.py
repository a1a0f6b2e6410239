"""The local Solana chain in this process, the gateway's driver on it, and somebody else's client beside it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from solana.rpc.async_api import AsyncClient

from devnet.solana.facade import answer_one, application
from devnet.solana.ledger import Ledger
from devnet.solana.world import build_world
from runtime.settings import Settings
from server.chains.registry import Chains
from server.upstream import open_session
from tests.operations import Operations
from tests.serving import serve_app
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from server.upstream.cache import Cache


@dataclass
class Front:
    """One endpoint: the chain itself, or with answers of its own by method (`{"result"}` or `{"error"}`)."""

    url: str
    twists: dict[str, Callable[[list[Any]], Any]] = field(default_factory=dict)
    asked: list[tuple[str, list[Any]]] = field(default_factory=list)


@pytest.fixture(scope="session")
def ledger() -> Ledger:
    """The seeded chain; tests that send transactions only add to it."""
    seeded = Ledger()
    build_world(seeded)
    return seeded


@asynccontextmanager
async def serve(ledger: Ledger) -> AsyncIterator[Front]:
    """Serve the chain, with whatever the front's `twists` answer instead; None there lets a call pass."""
    front = Front("")

    @web.middleware
    async def twist(request: web.Request, handler: Any) -> web.StreamResponse:
        body = await request.json()
        items = body if isinstance(body, list) else [body]
        front.asked += [(item["method"], item.get("params", [])) for item in items]
        if not any(item["method"] in front.twists for item in items):
            return await handler(request)
        answers = [await _answer(front, item) for item in items]
        return web.json_response(answers if isinstance(body, list) else answers[0])

    async def _answer(front: Front, item: dict[str, Any]) -> dict[str, Any]:
        reported = front.twists[item["method"]](item["params"]) if item["method"] in front.twists else None
        if reported is None:
            return answer_one(ledger, item)
        return {"jsonrpc": "2.0", "id": item["id"], **reported}

    app = application(ledger)
    app.middlewares.append(twist)
    async with serve_app(app) as front.url:
        yield front


@pytest.fixture
async def node(ledger: Ledger) -> AsyncIterator[Front]:
    async with serve(ledger) as front:
        yield front


@pytest.fixture
async def judge(node: Front) -> AsyncIterator[AsyncClient]:
    """The unmodified client of the `solana` package."""
    async with AsyncClient(node.url) as client:
        yield client


@pytest.fixture
def tally() -> CallTally:
    return CallTally()


@asynccontextmanager
async def drive(tally: CallTally, cache: Cache | None = None, **urls: str) -> AsyncIterator[Operations]:
    """The gateway's driver on these endpoints, by label."""
    endpoints = [{"label": label, "url": url} for label, url in urls.items()]
    settings = Settings.model_validate({"profile": "devnet", "chains": {"solana": {"endpoints": endpoints}}})
    async with open_session() as http:
        chains = Chains.load(settings, http, observer=tally, cache=cache)
        driver: Any = Operations(chains.get("solana"))
        yield driver
        await chains.close()


@pytest.fixture
async def driver(node: Front, tally: CallTally) -> AsyncIterator[Operations]:
    """The driver on one endpoint, which has proved its genesis."""
    async with drive(tally, local=node.url) as opened:
        await opened.pool.call("getVersion", [])
        tally.requests.clear()
        node.asked.clear()
        yield opened
