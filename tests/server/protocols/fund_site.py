"""Readers of vault-d and tokenized-a on two local chains, with the test's own prices and a database of share prices."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from waypost.v1 import yield_protocol_pb2

from runtime.settings import Settings
from server.apis.documents import DocumentStore
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.prices import Price
from server.protocols.reader import ChainQuestion, ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion
from server.rpc.registration import PROTOCOLS
from server.storage.database import open_database
from server.storage.share_records import ShareRecords
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from server.yields.share_prices import NAME, SharePrices
from tests.operations import Operations
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

VAULT_D = yield_protocol_pb2.YIELD_PROTOCOL_VAULT_D
TOKENIZED_A = yield_protocol_pb2.YIELD_PROTOCOL_TOKENIZED_A
CHAINS = {VAULT_D: "hyperliquid", TOKENIZED_A: "ethereum"}
PRICED_AT = datetime(2020, 1, 1, tzinfo=UTC)
PRICES = {
    ("hyperliquid", "native"): "40.5",
    ("hyperliquid", "0xB8CE59FC3717ada4C02eaDF9682A9e934F625ebb"): "0.998",
    ("ethereum", "0x68749665FF8D2d112Fa859AA293F07A622782F38"): "4000.25",
    ("bitcoin", "native"): "77777",
}


class FixedPrices:
    """Prices of the test's own, long ago, but for those of `missing`."""

    def __init__(self) -> None:
        self.missing: set[tuple[str, str]] = set()

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Price]:
        known = [token for token in tokens if token in PRICES and token not in self.missing]
        return {token: Price(Decimal(PRICES[token]), PRICED_AT, ("test",)) for token in known}


@dataclass
class Site:
    """The readers, asked as the servicer does."""

    readers: ProtocolReaders
    runner: Runner
    chains: Chains
    tally: ChainTally
    shares: SharePrices
    prices: FixedPrices

    async def row(
        self, rpc: str, protocol: int, pool: str, wallet: str = "", *, use: CacheContext | None = None
    ) -> Any:
        """Return a pool's row."""
        question = PoolQuestion(CHAINS[protocol], pool=pool, address=wallet)
        return (await self.readers.answer_pool(rpc, protocol, question, ReadView(cache=use or CacheContext()))).answer

    async def vault(self, pool: str) -> Any:
        """Return the rate of a vault of vault-d."""
        return await self.row("GetYieldsVaults", VAULT_D, pool)

    async def balance(self, pool: str, wallet: str) -> Any:
        """Return what a wallet has in one."""
        return await self.row("GetYieldsBalance", VAULT_D, pool, wallet)

    async def price(self, name: str) -> Any:
        """Return the price of a token of tokenized-a."""
        return await self.row("GetYieldsPrice", TOKENIZED_A, name)

    async def best(self) -> dict[str, Any]:
        """Return the rows of the comparison, by pool."""
        reader = self.readers.yields[VAULT_D].best
        assert reader is not None
        rows = (await self.runner.answer(reader, ChainQuestion("hyperliquid"), ReadView(cache=CacheContext()))).answer
        return {one.row.pool: one.row for one in rows}

    async def learn(self, chain: str) -> None:
        """Have the gateway notice the chain's newest block by a read that shares nothing with others."""
        await self.chains.capability(chain, ReadsBalances).read_balance("0x" + "0" * 37 + "bee", ReadView())

    @contextmanager
    def sends(self, *chains: str) -> Iterator[None]:
        """Check that the block inside sends exactly these requests."""
        del self.tally.requests[:]
        yield
        assert self.tally.requests == list(chains)


@asynccontextmanager
async def open_site(
    endpoints: Mapping[str, Any], folder: Path, *, kept: bool = False, wall: Any = None, records: Any = None
) -> AsyncIterator[Site]:
    """Open readers without tables yet over these chains, by slug; with `kept` what is read of a block is kept.

    Share prices stand in a database in the folder, unless `records` are handed over.
    """
    settings = Settings.model_validate({"profile": "devnet", "chains": dict(endpoints)})
    tally = ChainTally()
    cache = Cache(1 << 26, clock=lambda: 0.0) if kept else None
    async with open_session() as http, AsyncExitStack() as lifetime:
        database = await open_database(f"sqlite:///{folder}/waypost.db")
        lifetime.push_async_callback(database.dispose)
        chains = Chains.load(settings, http, observer=tally, cache=cache)
        lifetime.push_async_callback(chains.close)
        for slug in endpoints:
            driver: Any = Operations(chains.get(slug))
            await driver.pool.call("eth_chainId", [])
        store = TableStore()
        lifetime.push_async_callback(store.close)
        held = records or ShareRecords(database)
        shares = SharePrices(held) if wall is None else SharePrices(held, wall=wall)
        lifetime.push_async_callback(shares.close)
        documents = DocumentStore({NAME: shares}, is_kept=False)
        lifetime.push_async_callback(documents.close)
        prices = FixedPrices()
        runner = Runner(chains.capability, store, prices, documents)
        del tally.requests[:]
        yield Site(ProtocolReaders(PROTOCOLS, runner), runner, chains, tally, shares, prices)


def time_of(row: Any) -> int:
    """Return a row's time in unix seconds."""
    return int(row.updated_at.seconds)
