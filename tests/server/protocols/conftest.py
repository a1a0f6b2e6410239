"""The readers on the local chains, where the protocols stand at their addresses; what they send is listed."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.protocols.reader import ChainQuestion, ProtocolReaders, SwapQuestion, WalletQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.rpc.registration import PROTOCOLS
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from tests.operations import Operations
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from devnet.launcher import Devnet
    from server.protocols.reader import SummaryRow

_FRESH = count(0x9000)
CHAINS = ("ethereum", "arbitrum", "polygon")


class NoPrices:
    """No reader of these operations asks for prices."""

    async def read_tokens(self, tokens: Any, *, deadline: float | None, cache: Any) -> dict[Any, Any]:
        raise AssertionError(f"prices of {tokens} were asked for")


@dataclass
class Asked:
    """The readers, asked as servicers do."""

    readers: ProtocolReaders
    tally: ChainTally
    store: TableStore
    chains: Chains
    devnet: Devnet

    async def wallet(self, rpc: str, chain: str, address: str) -> Any:
        """Return a wallet's positions."""
        found = await self.readers.answer(rpc, WalletQuestion(chain, address=address), self.view())
        return found.answer

    async def listing(self, rpc: str, chain: str) -> Any:
        """Return what a protocol has on a chain."""
        found = await self.readers.answer(rpc, ChainQuestion(chain), self.view())
        return found.answer

    async def swap(self, rpc: str, chain: str, sell: str, buy: str, amount: str, **more: Any) -> Any:
        """Return a quote."""
        question = SwapQuestion(chain, token_in=sell, token_out=buy, amount=amount, **more)
        return (await self.readers.answer(rpc, question, self.view(question.block))).answer

    async def summary(self, chain: str, address: str) -> dict[str, SummaryRow]:
        """Return the rows of the summary by member."""
        rows = await self.readers.summarize(chain, address, self.view())
        return {row.member: row for row in rows}

    async def mine(self, chain: str) -> None:
        """Make a block, and let the gateway learn of it by a read that shares nothing with others."""
        await self.devnet.mine(chain, 1)
        await self.chains.capability(chain, ReadsBalances).read_balance(f"0x{next(_FRESH):040x}", ReadView())

    def view(self, block: int | None = None) -> ReadView:
        """Return a view of a request of its own."""
        return ReadView(block=block, cache=CacheContext())

    @contextmanager
    def sends(self, *chains: str) -> Iterator[None]:
        """Check that the block inside sends exactly these requests, in any order, each given by its chain."""
        del self.tally.requests[:]
        yield
        assert sorted(self.tally.requests) == sorted(chains)


@pytest_asyncio.fixture(loop_scope="session")
async def asked(devnet: Devnet) -> AsyncIterator[Asked]:
    """Readers without tables yet, over a memory that never grows old by itself: blocks alone renew it."""
    tally = ChainTally()
    overrides = devnet.settings_overrides()
    chains = {slug: table for slug, table in overrides["chains"].items() if slug in CHAINS}
    settings = Settings.model_validate({"profile": "devnet", "chains": chains})
    async with open_session() as http:
        loaded = Chains.load(settings, http, observer=tally, cache=Cache(1 << 26, clock=lambda: 0.0))
        for slug in CHAINS:
            driver: Any = Operations(loaded.get(slug))
            await driver.pool.call("eth_chainId", [])
        store = TableStore()
        yield Asked(
            ProtocolReaders(PROTOCOLS, Runner(loaded.capability, store, NoPrices())), tally, store, loaded, devnet
        )
        await store.close()
        await loaded.close()


@pytest.fixture
def stranger() -> str:
    """An address that has nothing anywhere."""
    return "0x00000000000000000000000000000000000bEEF1"
