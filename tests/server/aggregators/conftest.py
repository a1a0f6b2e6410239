"""Both faces of a gateway over the local Solana chain and a stand-in of the aggregator; what they are asked is kept."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from aiohttp import web

from devnet.offchain import swaps
from devnet.solana.ledger import Ledger
from devnet.solana.world import build_world
from runtime.settings import Settings, load_settings
from server.aggregators.jupiter import open_jupiter
from server.apis.sources import Sources
from server.upstream import open_session
from tests.e2e.gateway import run_gateway
from tests.server.chains.solana.conftest import Front, serve
from tests.server.rpc.refusals import BothFaces
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from server.aggregators.jupiter import Jupiter

KEY = "the secret key"


@dataclass
class Source:
    """The aggregator: its stand-in, or with `twist` an answer of a test's own (status, body, headers)."""

    twist: Callable[[], tuple[int, Any, dict[str, str]]] | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def application(self) -> web.Application:
        """Return the stand-in, in all its modes, behind this."""

        @web.middleware
        async def count(request: web.Request, handler: Any) -> web.StreamResponse:
            self.asked.append(dict(request.query))
            self.headers.append(dict(request.headers))
            if self.twist is None:
                return await handler(request)
            status, body, headers = self.twist()
            if isinstance(body, str):
                return web.Response(text=body, status=status, headers=headers, content_type="application/json")
            return web.json_response(body, status=status, headers=headers)

        app = web.Application(middlewares=[count])
        swaps.add_routes(app)
        return app


@dataclass
class Asked(BothFaces):
    """A gateway and what stands behind it."""

    source: Source
    node: Front

    @property
    def reads(self) -> list[tuple[str, list[Any]]]:
        """What the chain's node was asked for callers."""
        return [one for one in self.node.asked if one[0] != "getGenesisHash"]

    def forget(self) -> None:
        """Count from here on."""
        self.source.asked.clear()
        self.node.asked.clear()


@pytest.fixture(scope="session")
def ledger() -> Ledger:
    seeded = Ledger()
    build_world(seeded)
    return seeded


@asynccontextmanager
async def opened(ledger: Ledger, folder: Path, mode: str | None = None, **endpoint: Any) -> AsyncIterator[Asked]:
    """Run a gateway that asks the stand-in in a mode of it; `endpoint` are further members of its configuration."""
    source = Source()
    async with AsyncExitStack() as stack:
        node = await stack.enter_async_context(serve(ledger))
        url = await stack.enter_async_context(serve_app(source.application()))
        sources = swaps.settings(url.removeprefix("http://"), mode)
        sources["jupiter"]["endpoints"][0] |= endpoint
        overrides = {
            "profile": "devnet",
            "chains": {"solana": {"endpoints": [{"label": "local", "url": node.url}]}},
            "sources": sources,
            "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
            "grpc": {"host": "127.0.0.1", "port": 0},
            "http": {"host": "127.0.0.1"},
        }
        settings = load_settings(environ={"AGGREGATOR_KEY": KEY}, overrides=overrides)
        faces = await stack.enter_async_context(run_gateway(settings))
        running = Asked(faces, source, node)
        # The endpoint proves which chain it is of.
        await faces.ask("getBlockHeight", {"chain": "solana"})
        running.forget()
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def asked(ledger: Ledger, tmp_path: Path) -> AsyncIterator[Asked]:
    """A gateway that has asked for nothing yet."""
    async with opened(ledger, tmp_path) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def _shared(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asked]:
    async with opened(ledger, tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.fixture
def shared(_shared: Asked) -> Asked:
    """A gateway of several tests, which has forgotten what it was asked."""
    _shared.forget()
    return _shared


@pytest_asyncio.fixture(loop_scope="session")
async def source() -> AsyncIterator[tuple[Source, Jupiter]]:
    """The aggregator's client alone, and its source."""
    source = Source()
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(open_session())
        url = await stack.enter_async_context(serve_app(source.application()))
        settings = Settings.model_validate(
            {"profile": "devnet", "sources": swaps.settings(url.removeprefix("http://"))}
        )
        yield source, open_jupiter(Sources(settings, http, stack), is_kept=True)
