"""How large requests are for protocols of the size that they have on Ethereum: what readers plan, sent to a real node.

Nothing stands at the addresses there but Multicall3: calls succeed and return nothing, which is enough to be counted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet.evm.artifacts import multicall3
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.contracts.calls import CallGroup
from server.protocols.aave_v3.tables import Reserve
from server.protocols.compound_v3.tables import Market, market_addresses
from server.protocols.llamalend.tables import Tables, Vault
from server.protocols.plan import WalletPlan
from server.protocols.reader import WalletQuestion
from server.protocols.tokens import TokenFacts
from server.rpc.registration import PROTOCOLS
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.faults.simulator import FaultyNode, honest
from tests.operations import Operations
from tests.server.chains.evm.nodes import MULTICALL3, Anvil, contracts_of
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.faults.simulator import Request

pytestmark = pytest.mark.devnet


def place(number: int) -> str:
    return f"0x{0xABCDEF << 64 | number:040x}"


TOKENS = [TokenFacts(place(number), f"T{number}", 18) for number in range(200)]
# facts/protocol_reads_2, 2.4: the reserves, markets, collaterals and vaults of Ethereum.
VAULTS = tuple(Vault(place(3000 + number), f"V{number}", "s", 18, TOKENS[0]) for number in range(48))
COLLATERALS = (5, 2, 6, 2, 5, 2)
TABLES: dict[str, Any] = {
    "lend_a_v2": tuple(TOKENS[:37]),
    "lend_a_v3": tuple(Reserve(place(n), f"T{n}", 18, n, place(1000 + n), place(2000 + n)) for n in range(67)),
    "lend_b_v2": None,
    "lend_b_v3": tuple(
        Market(address, "market", TOKENS[0], tuple(TOKENS[:count]))
        for address, count in zip(market_addresses("ethereum"), COLLATERALS, strict=True)
    ),
    "lend_c": None,
    "stake_a": None,
    "pool_a_lend": Tables((40, 8), (VAULTS[:40], VAULTS[40:])),
}
READERS = {one.member: one.readers[one.in_summary] for one in PROTOCOLS if one.in_summary is not None}


def plan(member: str, wallet: int) -> list[CallGroup]:
    question = WalletQuestion("ethereum", address=f"0x{0xFEDCBA << 96 | wallet:040x}")
    groups = READERS[member].plan(question, TABLES[member]).groups.values()
    return [CallGroup(group.calls, group.is_known) for group in groups]


@pytest.mark.parametrize("member", TABLES)
def test_a_plan_serves_every_wallet(member: str) -> None:
    made_for, *wallets = (f"0x{0xABCDEF << 130 | number << 64 | number:040x}" for number in range(1, 4))
    question = WalletQuestion("ethereum", address=made_for)
    shared = WalletPlan(READERS[member].plan(question, TABLES[member]), made_for)
    for wallet in wallets:
        own = READERS[member].plan(WalletQuestion("ethereum", address=wallet), TABLES[member])
        assert shared.of_wallet(wallet) == own


class Measured(FaultyNode):
    """Passes everything on and lists how long the bodies with calls were."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self.sizes: list[int] = []
        self.fault = self._measure

    async def _measure(self, request: Request) -> None:
        if "eth_call" in request.asked.methods:
            self.sizes.append(len(request.body))
        await honest(request)


@pytest.fixture
def tally() -> CallTally:
    return CallTally()


@pytest_asyncio.fixture(loop_scope="session")
async def measured() -> AsyncIterator[Measured]:
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, "--chain-id", "1", "--number", "26000000")
        await node.place(MULTICALL3, multicall3())
        front = Measured(node.url)
        await front.start()
        yield front
        await front.close()
        node.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def contracts(measured: Measured, tally: CallTally) -> AsyncIterator[Any]:
    settings = {"profile": "devnet", "chains": {"ethereum": {"endpoints": [{"label": "front", "url": measured.url}]}}}
    async with open_session() as http:
        chains = Chains.load(
            Settings.model_validate(settings), http, observer=tally, cache=Cache(1 << 26, clock=lambda: 0.0)
        )
        driver: Any = Operations(chains.get("ethereum"))
        await driver.pool.call("eth_chainId", [])
        tally.requests.clear()
        yield contracts_of(driver)
        await chains.close()


async def test_a_summary_is_one_request_of_five_executions_at_most(contracts, measured, tally):
    assert READERS.keys() == TABLES.keys()
    groups = [group for member in TABLES for group in plan(member, 1)]
    assert 400 <= sum(len(group.calls) for group in groups) <= 500
    await contracts.call_groups(groups, ReadView())
    [executions] = tally.requests
    assert executions <= 5
    [size] = measured.sizes
    assert size <= 205_000


async def test_positions_of_fifty_wallets_are_sixteen_requests_at_most(contracts, measured, tally):
    wallets = range(50)
    await asyncio.gather(*(contracts.call_groups(plan("lend_a_v3", wallet), ReadView()) for wallet in wallets))
    assert len(tally.requests) <= 16
    assert max(measured.sizes) <= 256 * 1024
    # What does not depend on the wallet is asked for once.
    assert sum(measured.sizes) <= 50 * 135 * 500 + 50_000
