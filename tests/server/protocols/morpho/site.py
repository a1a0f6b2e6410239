"""lend-c's vaults on the local chains, behind readers that have Morpho's stand-in beside them."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any

from waypost.v1 import yield_protocol_pb2

from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.known_lending import PRICES
from devnet.known_lending_c_vaults import FACTORIES
from devnet.offchain import morpho as stand_in
from runtime.settings import Settings
from server.apis.documents import DocumentStore
from server.apis.sources import Sources
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.prices import Price
from server.protocols.reader import ChainQuestion, ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion, VaultsQuestion
from server.rpc.registration import PROTOCOLS
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from server.yields import morpho
from tests.operations import Operations
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from devnet.launcher import Devnet

LEND_C = yield_protocol_pb2.YIELD_PROTOCOL_LEND_C
_FRESH = count(0xA000)
PRICED_AT = datetime(2030, 1, 1, tzinfo=UTC)  # later than any block


class FixedPrices:
    """Prices of the world's tokens; `missing` has those that have none."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self.updated_at = PRICED_AT
        self._known = {
            (slug, token_of(load_world()[slug], symbol).address): (symbol, Decimal(PRICES[symbol]))
            for slug in FACTORIES
            for symbol in ("USDC", "WETH")
            if any(token.symbol == symbol for token in load_world()[slug].tokens)
        }

    async def read_tokens(self, tokens: Any, *, deadline: float | None, cache: Any) -> dict[Any, Price]:
        """Return the prices of the tokens asked for."""
        found = {}
        for token in tokens:
            symbol, value = self._known[tuple(token)]
            if symbol not in self.missing:
                found[tuple(token)] = Price(value, self.updated_at, ("fixed",))
        return found


@dataclass
class VaultSite:
    """The readers, asked as servicers do; `nodes` and `api` list the requests that left for either."""

    devnet: Devnet
    readers: ProtocolReaders
    chains: Chains
    nodes: ChainTally
    api: ChainTally
    prices: FixedPrices
    within: float | None = None

    async def pool(self, rpc: str, chain: str, pool: str, wallet: str = "") -> Any:
        """Return the row of a vault."""
        question = PoolQuestion(chain, pool=pool, address=wallet)
        return (await self.readers.answer_pool(rpc, LEND_C, question, self.view())).answer

    async def vaults(self, chain: str) -> list[Any]:
        """Return the listed vaults of a chain."""
        found: list[Any] = (await self.readers.answer("GetLendCVaults", ChainQuestion(chain), self.view())).answer
        return found

    async def data(self, chain: str, *vaults: str) -> list[Any]:
        """Return figures of vaults."""
        question = VaultsQuestion(chain, vaults=vaults)
        found: list[Any] = (await self.readers.answer("GetLendCVaultData", question, self.view())).answer
        return found

    async def best(self, chain: str) -> list[Any]:
        """Return the rows of the comparison of all pools."""
        reader = self.readers.yields[LEND_C].best
        assert reader is not None
        found: list[Any] = (await self.readers._runner.answer(reader, ChainQuestion(chain), self.view())).answer
        return found

    async def mine(self, chain: str) -> None:
        """Make a block that the gateway knows of."""
        await self.devnet.mine(chain, 1)
        await self.learn(chain)

    async def learn(self, chain: str) -> None:
        """Let the gateway learn of the head by a read that shares nothing with others."""
        await self.chains.capability(chain, ReadsBalances).read_balance(f"0x{next(_FRESH):040x}", ReadView())

    def view(self) -> ReadView:
        """Return a view of a request of its own."""
        return ReadView(cache=CacheContext(), deadline=None if self.within is None else time.monotonic() + self.within)

    @contextmanager
    def sends(self, *chains: str, api: int = 0) -> Iterator[None]:
        """Check that the block inside sends exactly these requests, and so many to the API."""
        del self.nodes.requests[:], self.api.requests[:]
        yield
        assert sorted(self.nodes.requests) == sorted(chains)
        assert len(self.api.requests) == api


@asynccontextmanager
async def vault_site(devnet: Devnet, mode: str | None = None) -> AsyncIterator[VaultSite]:
    """Readers without tables or documents yet; the API's stand-in answers in that mode."""
    overrides = devnet.settings_overrides()
    overrides["chains"] = {slug: table for slug, table in overrides["chains"].items() if slug in FACTORIES}
    overrides["sources"] = stand_in.settings(devnet.offchain.authority, mode)
    settings = Settings.model_validate(overrides)
    nodes, api = ChainTally(), ChainTally()
    async with open_session() as http, AsyncExitStack() as lifetime:
        chains = Chains.load(settings, http, observer=nodes, cache=Cache(1 << 26, clock=lambda: 0.0))
        lifetime.push_async_callback(chains.close)
        for slug in overrides["chains"]:
            driver: Any = Operations(chains.get(slug))
            await driver.pool.call("eth_chainId", [])
        documents = DocumentStore(morpho.open_morpho(Sources(settings, http, lifetime, observer=api)))
        lifetime.push_async_callback(documents.close)
        store, prices = TableStore(), FixedPrices()
        lifetime.push_async_callback(store.close)
        readers = ProtocolReaders(PROTOCOLS, Runner(chains.capability, store, prices, documents))
        yield VaultSite(devnet, readers, chains, nodes, api, prices)
