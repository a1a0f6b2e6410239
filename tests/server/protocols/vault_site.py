"""Readers of vault-a and vault-b over the local chains, prices of the test's own, and the stand-ins of the APIs."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from waypost.v1 import yield_protocol_pb2

from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.offchain import beefy, kong
from runtime.settings import Settings
from server.apis.documents import DocumentStore
from server.apis.sources import Sources
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
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

    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from server.apis.documents import Document, DocumentRequest

VAULT_A = yield_protocol_pb2.YIELD_PROTOCOL_VAULT_A
VAULT_B = yield_protocol_pb2.YIELD_PROTOCOL_VAULT_B
PRICED_AT = datetime(2020, 1, 1, tzinfo=UTC)
PRICES = {"USDC": "1.5", "USDT": "0.5", "DAI": "2", "WBTC": "50000", "WETH": "2000", "LINK": "10", "USDC.e": "1.25"}
"""In US dollars; nothing else has a price. None is what the APIs' stand-ins say."""


@dataclass
class FixedPrices:
    """Prices of the test's own, by symbol."""

    by_symbol: dict[str, str] = field(default_factory=lambda: dict(PRICES))

    async def read_tokens(self, tokens: Iterable[Any], *, deadline: Any, cache: Any) -> dict[Any, Price]:
        found = {}
        for token in tokens:
            chain = load_world()[token.chain]
            for symbol, price in self.by_symbol.items():
                if any(one.symbol == symbol and one.address == token.address for one in chain.tokens):
                    found[token] = Price(Decimal(price), PRICED_AT, ("test",))
        return found


@dataclass
class Documents:
    """The store of documents, of which some fail."""

    store: DocumentStore
    failing: set[DocumentRequest] = field(default_factory=set)

    async def read(self, request: DocumentRequest, *, deadline: Any, cache: Any) -> Document:
        if request in self.failing:
            raise UpstreamUnavailable(f"{request.source} is away")
        return await self.store.read(request, deadline=deadline, cache=cache)


@dataclass
class Site:
    """The readers, asked as servicers do."""

    readers: ProtocolReaders
    tally: ChainTally
    prices: FixedPrices
    documents: Documents
    devnet: Devnet

    async def vault(self, protocol: int, pool: str, chain: str = "ethereum") -> Any:
        """Return a vault's row."""
        return await self._ask("GetYieldsVaults", protocol, PoolQuestion(chain, pool=pool))

    async def balance(self, protocol: int, pool: str, wallet: str, chain: str = "ethereum") -> Any:
        """Return a wallet's row."""
        return await self._ask("GetYieldsBalance", protocol, PoolQuestion(chain, pool=pool, address=wallet))

    async def best(self, protocol: int, chain: str = "ethereum") -> dict[str, Any]:
        """Return the rows of the comparison by pool."""
        reader: Any = self.readers.yields[protocol].best
        runner: Any = self.readers._runner
        rows = (await runner.answer(reader, ChainQuestion(chain), ReadView(cache=CacheContext()))).answer
        return {row.row.pool: row for row in rows}

    def sent(self) -> list[str]:
        """Return what was asked since the last time, chains and sources in alphabetical order."""
        found = sorted(self.tally.requests)
        del self.tally.requests[:]
        return found

    def node(self, chain: str = "ethereum") -> Node:
        """Return a chain's node."""
        return self.devnet.nodes[chain]

    async def _ask(self, rpc: str, protocol: int, question: PoolQuestion) -> Any:
        view = ReadView(cache=CacheContext())
        return (await self.readers.answer_pool(rpc, protocol, question, view)).answer


@asynccontextmanager
async def open_site(devnet: Devnet, *chains: str, mode: str | None = None) -> AsyncIterator[Site]:
    """Open the readers over these chains, without a memory of blocks; the stand-ins answer in a mode of theirs."""
    tally, prices = ChainTally(), FixedPrices()
    overrides = devnet.settings_overrides()
    authority = devnet.offchain.authority
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "chains": {slug: table for slug, table in overrides["chains"].items() if slug in chains},
            "sources": beefy.settings(authority, mode) | kong.settings(authority, mode),
        }
    )
    async with open_session() as http, AsyncExitStack() as lifetime:
        loaded = Chains.load(settings, http, observer=tally)
        lifetime.push_async_callback(loaded.close)
        for slug in chains:
            driver: Any = Operations(loaded.get(slug))
            await driver.pool.call("eth_chainId", [])
        tables = TableStore()
        lifetime.push_async_callback(tables.close)
        store = DocumentStore(open_yield_sources(Sources(settings, http, lifetime, observer=tally)))
        lifetime.push_async_callback(store.close)
        documents = Documents(store)
        runner = Runner(loaded.capability, tables, prices, documents)
        del tally.requests[:]
        yield Site(ProtocolReaders(PROTOCOLS, runner), tally, prices, documents, devnet)


def address_of(chain: str, symbol: str) -> str:
    """Return a token's address."""
    return token_of(load_world()[chain], symbol).address
