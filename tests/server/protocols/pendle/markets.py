"""Readers of yield-a over the local chains, with prices of the test's own and the stand-in of the protocol's API."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from waypost.v1 import yield_protocol_pb2

from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.offchain import pendle
from runtime.settings import Settings
from server.apis.documents import DocumentStore
from server.apis.sources import Sources
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.prices import Price
from server.protocols.reader import ChainQuestion, ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion
from server.rpc.registration import PROTOCOLS
from server.upstream import open_session
from server.upstream.cache import CacheContext
from server.yields.factory import open_yield_sources
from tests.operations import Operations
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from devnet.launcher import Devnet

YIELD_A = yield_protocol_pb2.YIELD_PROTOCOL_YIELD_A
PRICED_AT = datetime(2020, 1, 1, tzinfo=UTC)
PRICES = {"USDS": "1.25", "USDC": "0.75"}
"""In US dollars, by asset; nothing else has a price."""


@dataclass
class FixedPrices:
    """Prices of the test's own."""

    at: datetime = PRICED_AT
    asked: list[Any] = field(default_factory=list)

    async def read_tokens(self, tokens: Iterable[Any], *, deadline: Any, cache: Any) -> dict[Any, Price]:
        wanted = list(tokens)
        self.asked += wanted
        known = {
            (slug, token_of(chain, symbol).address): Price(Decimal(price), self.at, ("test",))
            for slug, chain in load_world().items()
            for symbol, price in PRICES.items()
            if any(token.symbol == symbol for token in chain.tokens) or (slug, symbol) == ("ethereum", "USDS")
        }
        return {token: known[token] for token in wanted if tuple(token) in known}


@dataclass
class Markets:
    """The readers, asked as servicers do."""

    readers: ProtocolReaders
    tally: ChainTally
    prices: FixedPrices

    async def pool(self, rpc: str, pool: str, wallet: str = "", chain: str = "ethereum") -> Any:
        """Return a pool's row."""
        question = PoolQuestion(chain, pool=pool, address=wallet)
        return (await self.readers.answer_pool(rpc, YIELD_A, question, self.view())).answer

    async def implied(self, pool: str, wallet: str, chain: str = "ethereum") -> Any:
        """Return what a wallet's principal earns."""
        question = PoolQuestion(chain, pool=pool, address=wallet)
        return (await self.readers.answer("GetYieldsYieldAImpliedApy", question, self.view())).answer

    async def best(self, chain: str) -> Any:
        """Return the rows of the comparison."""
        reader = self.readers.yields[YIELD_A].best
        runner: Any = self.readers._runner
        return (await runner.answer(reader, ChainQuestion(chain), self.view())).answer

    def view(self) -> ReadView:
        """Return a view of a request of its own."""
        return ReadView(cache=CacheContext())

    def sent(self) -> list[str]:
        """Return what was asked since the last time, chains and sources in alphabetical order."""
        found = sorted(self.tally.requests)
        del self.tally.requests[:]
        return found


@asynccontextmanager
async def open_markets(
    devnet: Devnet, *chains: str, mode: str | None = None, is_kept: bool = False
) -> AsyncIterator[Markets]:
    """Open the readers over these chains, without a memory of blocks, and of documents unless `is_kept`."""
    tally, prices = ChainTally(), FixedPrices()
    overrides = devnet.settings_overrides()
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "chains": {slug: table for slug, table in overrides["chains"].items() if slug in chains},
            "sources": pendle.settings(devnet.offchain.authority, mode),
        }
    )
    async with open_session() as http, AsyncExitStack() as lifetime:
        loaded = Chains.load(settings, http, observer=tally)
        lifetime.push_async_callback(loaded.close)
        for slug in chains:
            driver: Any = Operations(loaded.get(slug))
            await driver.pool.call("eth_chainId", [])
        store = TableStore()
        lifetime.push_async_callback(store.close)
        documents = DocumentStore(
            open_yield_sources(Sources(settings, http, lifetime, observer=tally)), is_kept=is_kept
        )
        lifetime.push_async_callback(documents.close)
        runner = Runner(loaded.capability, store, prices, documents)
        del tally.requests[:]
        yield Markets(ProtocolReaders(PROTOCOLS, runner), tally, prices)
