"""All documents of all sources at the products' size: what they take of memory, and that one too large is refused."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from bench import yield_documents
from devnet.offchain.server import OffchainServer
from runtime.settings import load_settings
from server.apis.documents import MOST_BYTES, DocumentRequest, DocumentStore
from server.apis.sources import Sources
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from server.venues import dydx, hyperliquid
from server.venues.dydx import open_dydx
from server.venues.hyperliquid import open_hyperliquid
from server.yields import beefy, kong, morpho, pendle
from server.yields.factory import open_yield_sources

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.slow

MOST_MEMORY = 64 << 20

# All documents that the gateway keeps, by source.
DOCUMENTS: dict[str, tuple[DocumentRequest, ...]] = {
    beefy.NAME: (beefy.VAULTS, beefy.RATES, beefy.VALUES, beefy.POOL_PRICES, beefy.TOKEN_PRICES),
    kong.NAME: tuple(map(kong.vaults_of, ("ethereum", "arbitrum"))),
    morpho.NAME: tuple(map(morpho.vaults_of, morpho.CHAINS)),
    pendle.NAME: (pendle.MARKETS,),
    hyperliquid.NAME: (DocumentRequest(hyperliquid.NAME),),
    dydx.NAME: (DocumentRequest(dydx.NAME),),
}


@asynccontextmanager
async def store_over(add_routes: Callable[[web.Application], None]) -> AsyncIterator[DocumentStore]:
    """Open every source over a server of these routes."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(OffchainServer((add_routes,)))
        overrides = {"profile": "devnet", "sources": yield_documents.settings(server.authority)}
        settings = load_settings(environ={}, overrides=overrides)
        http = await stack.enter_async_context(open_session())
        configured = Sources(settings, http, stack)
        sources = open_yield_sources(configured)
        sources[hyperliquid.NAME] = open_hyperliquid(configured)
        sources[dydx.NAME] = open_dydx(configured)
        store = DocumentStore(sources)
        stack.push_async_callback(store.close)
        yield store


async def test_all_documents_together_take_less_than_64_mb() -> None:
    async with store_over(yield_documents.add_documents) as store:
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for requests in DOCUMENTS.values():
                for request in requests:
                    document = await store.read(request, deadline=None, cache=None)
                    assert document.value is not None
                    del document
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        vaults: Any = (await store.read(beefy.VAULTS, deadline=None, cache=None)).value
        listing: Any = (await store.read(morpho.vaults_of("ethereum"), deadline=None, cache=None)).value
        assert (len(vaults.by_id), len(listing.vaults)) == (yield_documents.VAULTS_A, sum(yield_documents.VAULTS_C[1]))
    print(f"all documents: {taken / (1 << 20):.1f} MB")
    assert taken < MOST_MEMORY


@pytest.mark.parametrize("source", DOCUMENTS)
@pytest.mark.parametrize("size", [MOST_BYTES, MOST_BYTES + (8 << 20)])
async def test_a_document_of_32_mb_is_refused(source: str, size: int) -> None:
    """Blanks are part of any JSON: the document is right in every other way."""

    def add_padded(app: web.Application) -> None:
        @web.middleware
        async def pad(request: web.Request, handler: Any) -> web.StreamResponse:
            response = await handler(request)
            assert isinstance(response.body, bytes)
            response.body = response.body + b" " * (size - len(response.body))
            return response

        app.middlewares.append(pad)
        yield_documents.add_documents(app)

    async with store_over(add_padded) as store:
        with pytest.raises(UpstreamUnavailable, match="32 MB"):
            await store.read(DOCUMENTS[source][0], deadline=None, cache=None)
