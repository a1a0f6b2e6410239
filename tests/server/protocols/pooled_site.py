"""The readers of lend-a's and lend-d's yields on the local chains, and what the contracts store."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from eth_abi.abi import encode
from eth_utils.crypto import keccak
from waypost.v1 import yield_protocol_pb2

from devnet.evm.lending_a_v3 import price_source
from devnet.evm.treasury import token_of
from devnet.known_lending import LEND_A_V3, LEND_D
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.protocols.reader import ChainQuestion, ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion
from server.rpc.registration import PROTOCOLS
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from tests.operations import Operations
from tests.server.protocols.arithmetic import YEAR, ask, now
from tests.server.protocols.conftest import NoPrices
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from devnet.evm.node import Node
    from devnet.known_lending import Pool
    from server.upstream.transport import Observer

LENDING, BALANCE, PRICE = "GetYieldsLending", "GetYieldsBalance", "GetYieldsPrice"
RPCS = (LENDING, BALANCE, PRICE)
"""What lend-a answers; nobody asks lend-d for the price of a share."""

RPCS_D = (LENDING, BALANCE)
# Contract section 4.12.
CHAINS = {
    **dict.fromkeys(
        ("ethereum", "polygon", "optimism", "base", "avalanche", "arbitrum"), yield_protocol_pb2.YIELD_PROTOCOL_LEND_A
    ),
    "hyperliquid": yield_protocol_pb2.YIELD_PROTOCOL_LEND_D,
}
POOLS: Mapping[str, Pool] = {slug: (LEND_A_V3 | LEND_D)[slug] for slug in CHAINS}
RAY, DOLLAR = 10**27, 10**8
# Where `_reserves` of the pool and `_totalSupply` of its tokens stand: behind what an initializable contract keeps.
_RESERVES_SLOT, _SUPPLY_SLOT = 52, 54
_LOW = (1 << 128) - 1


class Stored(NamedTuple):
    """A reserve as the contracts store it: rates in rays per year, the price in dollars times 1e8."""

    symbol: str
    address: str
    decimals: int
    lent_at: int
    owed_at: int
    supplied: int
    price: int
    supply_token: str

    @property
    def size(self) -> float:
        """What is supplied, in US dollars."""
        return self.supplied * self.price / (10**self.decimals * DOLLAR)


async def word(node: Node, address: str, slot: int) -> int:
    """Return a word of a contract's storage."""
    return int(await node.call("eth_getStorageAt", address, hex(slot), "latest"), 16)


async def stored(node: Node, pool: Pool, symbol: str) -> Stored:
    """Return a reserve from storage alone; supplies are brought to the block by the published formula."""
    token = token_of(node.chain, symbol)
    start = int.from_bytes(keccak(encode(["address", "uint256"], [token.address, _RESERVES_SLOT])))
    settings, supply, debt, rest, supply_token = [await word(node, pool.pool, start + place) for place in range(5)]
    index, lent_at, updated = supply & _LOW, supply >> 128, rest >> 128 & ((1 << 40) - 1)
    address = f"0x{supply_token:040x}"
    scaled = await word(node, address, _SUPPLY_SLOT)
    income = ray(RAY + lent_at * (await now(node) - updated) // YEAR, index)
    price = await word(node, price_source(symbol), 0)
    return Stored(
        symbol, token.address, settings >> 48 & 0xFF, lent_at, debt >> 128, ray(scaled, income), price, address
    )


def ray(one: int, other: int) -> int:
    """Multiply rays, rounding half up."""
    return (one * other + RAY // 2) // RAY


async def holding(node: Node, pool: Pool, asset: str, wallet: str) -> tuple[int, int]:
    """Return what a wallet has and owes, as the reserve's own tokens say."""
    types = "address,address,address"
    tokens = await ask(node, pool.data_provider, "getReserveTokensAddresses(address)", asset, types=types)
    supply, _, debt = tokens
    return await ask(node, supply, "balanceOf(address)", wallet), await ask(node, debt, "balanceOf(address)", wallet)


def rpcs_of(chain: str) -> tuple[str, ...]:
    """Return what the chain's market answers."""
    return RPCS_D if chain == "hyperliquid" else RPCS


def pool_of(chain: str, symbol: str, address: str) -> str:
    """Return how the pool of an asset is identified on a chain."""
    return address if chain == "hyperliquid" else symbol


@dataclass
class Site:
    """The readers, asked as the servicer does."""

    readers: ProtocolReaders
    runner: Runner
    tally: ChainTally

    async def row(self, rpc: str, chain: str, pool: str, wallet: str = "") -> Any:
        """Return a pool's row."""
        question = PoolQuestion(chain, pool=pool, address=wallet)
        view = ReadView(cache=CacheContext())
        return (await self.readers.answer_pool(rpc, CHAINS[chain], question, view)).answer

    async def best(self, chain: str) -> dict[str, Any]:
        """Return the rows of all pools of a chain, by pool."""
        reader = self.readers.yields[CHAINS[chain]].best
        assert reader is not None
        rows = (await self.runner.answer(reader, ChainQuestion(chain), ReadView(cache=CacheContext()))).answer
        return {one.row.pool: one.row for one in rows}

    @contextmanager
    def sends(self, *chains: str) -> Iterator[None]:
        """Check that the block inside sends exactly these requests."""
        del self.tally.requests[:]
        yield
        assert self.tally.requests == list(chains)


@asynccontextmanager
async def open_site(
    endpoints: Mapping[str, Any], *, tally: Observer | None = None, kept: bool = False
) -> AsyncIterator[Site]:
    """Open readers without tables yet over these chains, by slug.

    With `kept` what was read of the chain's head stays until there is another block; otherwise nothing is kept.
    """
    settings = Settings.model_validate({"profile": "devnet", "chains": dict(endpoints)})
    counts = ChainTally()
    cache = Cache(1 << 26, clock=lambda: 0.0) if kept else None
    async with open_session() as http:
        chains = Chains.load(settings, http, observer=tally or counts, cache=cache)
        for slug in endpoints:
            driver: Any = Operations(chains.get(slug))
            await driver.pool.call("eth_chainId", [])
        store = TableStore()
        runner = Runner(chains.capability, store, NoPrices())
        yield Site(ProtocolReaders(PROTOCOLS, runner), runner, counts)
        await store.close()
        await chains.close()
