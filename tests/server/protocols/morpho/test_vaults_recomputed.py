"""What lend-c's vaults earn and are worth, found out on the original contracts by other ways than the reader's.

A vault's rate: each of its markets is accrued for good, an hour passes, and each is accrued again. A share's price and
a wallet's balance: the wallet redeems on a snapshot. A block is made twice at one time: empty for the reader, then
with the transactions in it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.lending_c_vaults import Parameters, market_id, queue_of
from devnet.evm.treasury import token_of
from devnet.known_lending import PRICES
from devnet.known_lending_c import MORPHO
from devnet.known_lending_c_vaults import IDLE, SECOND_GENERATION, VAULTS, Vault
from server.protocols.morpho.rates import Market, advance, borrow_rate
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import YEAR, ask, mine_at, now, send
from tests.server.protocols.morpho.site import VaultSite, vault_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

HOUR = 3600
NO_MODEL = "0x" + "00" * 20
TOTALS = ",".join(["uint128"] * 6)
PARAMETERS = "(address,address,address,address,uint256)"
KNOWN = [vault for vault in VAULTS["ethereum"] if vault.factory]


@pytest_asyncio.fixture(loop_scope="session")
async def site(devnet: Devnet) -> AsyncIterator[VaultSite]:
    async with vault_site(devnet) as opened:
        yield opened


async def in_markets(node: Node, vault: Vault) -> list[Fraction]:
    """What the vault has in each of its markets, as they are stored, not rounded."""
    amounts = []
    for parameters in queue_of(node.chain, vault):
        key = market_id(parameters)
        shares = await ask(
            node, MORPHO, "position(bytes32,address)", key, vault.address, types="uint256,uint128,uint128"
        )
        totals = await ask(node, MORPHO, "market(bytes32)", key, types=TOTALS)
        amounts.append(Fraction(shares[0] * (totals[0] + 1), totals[1] + 10**6))
    return amounts


async def accrue(node: Node, vault: Vault, time: int) -> list[Fraction]:
    """Accrue the vault's markets for good in a block of that time; what it has in each of them then."""
    for parameters in queue_of(node.chain, vault):
        await send(node, known.BOB, MORPHO, f"accrueInterest({PARAMETERS})", parameters)
    await mine_at(node, time)
    return await in_markets(node, vault)


async def earned_in_an_hour(node: Node, vault: Vault, time: int) -> tuple[float, float]:
    """The rate per year that an hour of interest comes to, less the vault's fee, in percent, and how exact that is."""
    async with rewound(node):
        before = await accrue(node, vault, time)
        after = await accrue(node, vault, time + HOUR)
    interest = float(sum(after) - sum(before))
    kept = interest * (1 - vault.fee / 10**18) / float(sum(before))
    # Each market rounds its interest down to a unit.
    return (math.exp(math.log1p(kept) * YEAR / HOUR) - 1) * 100, len(after) / interest


@pytest.mark.parametrize("days", [0, 40])
@pytest.mark.parametrize("vault", KNOWN, ids=lambda vault: vault.symbol)
async def test_a_vault_earns_what_its_markets_bring_in_the_next_hour(site: VaultSite, vault: Vault, days: int) -> None:
    """Also where no market was touched for a while: the average since then is another figure."""
    slug, node = "ethereum", site.devnet.nodes["ethereum"]
    time = await now(node) + 10 + days * 86_400
    async with rewound(node):
        await mine_at(node, time)
        row = await site.pool("GetYieldsLending", slug, vault.address)
    rate, rounding = await earned_in_an_hour(node, vault, time)
    # The model moves a rate by 50 / 8760 in an hour at most, which is half as much on average.
    assert row.supply_apy == pytest.approx(rate, rel=3e-3 + rounding)
    assert row.borrow_apy == 0
    assert (row.HasField("basis"), row.updated_at.seconds) == (True, time)


@pytest.mark.parametrize("seconds", [1, 86_400, 40 * 86_400, 800 * 86_400])
async def test_accruing_by_the_formula_is_the_models_own_to_the_wei(site: VaultSite, seconds: int) -> None:
    """A market some time after it was touched, its rate at target, and what is charged from then on."""
    node = site.devnet.nodes["ethereum"]
    async with rewound(node):
        for vault in KNOWN:
            await accrue(node, vault, await now(node) + 1)
        lent = [one for vault in KNOWN for one in queue_of(node.chain, vault) if one[3] != NO_MODEL]
        before = [await in_model(node, parameters) for parameters in lent]
        time = await now(node) + seconds
        for parameters in lent[:1] + lent[2:]:  # the second market is shared by two vaults
            await send(node, known.BOB, MORPHO, f"accrueInterest({PARAMETERS})", parameters)
        await mine_at(node, time)
        for parameters, (totals, at_target) in zip(lent, before, strict=True):
            market, moved = advance(totals, at_target, time)
            assert (market, moved) == await in_model(node, parameters)
            view = f"borrowRateView({PARAMETERS},({TOTALS}))"
            assert borrow_rate(market, moved) == await ask(node, parameters[3], view, parameters, tuple(market))


async def in_model(node: Node, parameters: Parameters) -> tuple[Market, int]:
    """A market as it is stored, and its rate at target."""
    key = market_id(parameters)
    totals = await ask(node, MORPHO, "market(bytes32)", key, types=TOTALS)
    return Market(*totals), await ask(node, parameters[3], "rateAtTarget(bytes32)", key, types="int256")


async def test_the_rate_is_not_the_average_since_a_market_was_touched(site: VaultSite) -> None:
    """`borrowRateView` answers that average; 40 days later it is far from the rate of the moment."""
    slug, vault = "ethereum", next(vault for vault in VAULTS["ethereum"] if vault.asset == "WETH")
    node = site.devnet.nodes[slug]
    [parameters] = queue_of(node.chain, vault)
    time = await now(node) + 40 * 86_400
    async with rewound(node):
        await mine_at(node, time)
        row = await site.pool("GetYieldsLending", slug, vault.address)
        totals = await ask(node, MORPHO, "market(bytes32)", market_id(parameters), types=TOTALS)
        view = f"borrowRateView({PARAMETERS},({TOTALS}))"
        average = await ask(node, parameters[3], view, parameters, totals)
    rate = average / 10**18 * YEAR * totals[2] / totals[0] * (1 - vault.fee / 10**18)
    assert math.expm1(rate) * 100 != pytest.approx(row.supply_apy, rel=0.1)


@pytest.mark.parametrize("vault", KNOWN, ids=lambda vault: vault.symbol)
async def test_a_day_later_a_balance_has_grown_as_the_rate_said(site: VaultSite, vault: Vault) -> None:
    """Nobody touches a market meanwhile; the rate moves from the first to the second, so growth lies between both.

    The markets are accrued at first: for a long time before, a market charges an average that is an estimate.
    """
    node = site.devnet.nodes["ethereum"]
    time = await now(node) + 20
    rates, worth = [], []
    async with rewound(node):
        await accrue(node, vault, time - 1)
        for moment in (time, time + 86_400):
            await mine_at(node, moment)
            await site.learn("ethereum")
            rates.append((await site.pool("GetYieldsLending", "ethereum", vault.address)).supply_apy)
            worth.append(await ask(node, vault.address, "convertToAssets(uint256)", 10**30))
    grown = math.log(worth[1] / worth[0]) * 365
    low, high = sorted(math.log1p(rate / 100) for rate in rates)
    assert low * 0.999 < grown < high * 1.001
    assert high / low < 1.2


@pytest.mark.parametrize("vault", KNOWN, ids=lambda vault: vault.symbol)
async def test_a_balance_and_a_price_are_what_redeeming_brings(site: VaultSite, vault: Vault) -> None:
    await redeems_as_answered(site, site.devnet.nodes["ethereum"], vault.address, vault.asset)


async def test_so_they_are_of_the_second_generation(site: VaultSite) -> None:
    await redeems_as_answered(site, site.devnet.nodes["ethereum"], SECOND_GENERATION, "USDC")


async def redeems_as_answered(site: VaultSite, node: Node, vault: str, symbol: str) -> None:
    slug, asset = node.chain.slug, token_of(node.chain, symbol)
    time = await now(node) + 5_000
    async with rewound(node):
        await mine_at(node, time)
        balance = await site.pool("GetYieldsBalance", slug, vault, known.VITALIK)
        price = await site.pool("GetYieldsPrice", slug, vault)
        lending = await site.pool("GetYieldsLending", slug, vault)
        shares = await ask(node, vault, "balanceOf(address)", known.VITALIK)
        total = await ask(node, vault, "totalAssets()")
    async with rewound(node):
        before = await ask(node, asset.address, "balanceOf(address)", known.VITALIK)
        arguments = (shares, known.VITALIK, known.VITALIK)
        await send(node, known.VITALIK, vault, "redeem(uint256,address,address)", *arguments)
        await mine_at(node, time)
        received = await ask(node, asset.address, "balanceOf(address)", known.VITALIK) - before
    unit, dollars = 10**asset.decimals, float(PRICES[symbol])
    assert balance.balance.amounts[symbol] * unit == pytest.approx(received, abs=1.5, rel=1e-12)
    assert balance.balance.usd == pytest.approx(received / unit * dollars, rel=1e-6)
    assert price.price.usd == pytest.approx(received / unit / (shares / 10**18) * dollars, rel=2 / received)
    assert lending.tvl == pytest.approx(total / unit * dollars)
    assert price.price.usd > dollars  # shares have grown


async def test_the_api_and_the_chain_agree(site: VaultSite) -> None:
    """The stand-in computes with e^x, the contract with a series that is off by less than a percent."""
    rows = {row.row.pool: row.row for row in await site.best("ethereum")}
    assert set(rows) == {SECOND_GENERATION, *(vault.address for vault in KNOWN if vault.is_listed)}
    for pool, row in rows.items():
        of_chain = await site.pool("GetYieldsLending", "ethereum", pool)
        assert row.apy == pytest.approx(of_chain.supply_apy, rel=1e-2)
        assert row.tvl == pytest.approx(of_chain.tvl, rel=1e-6)


async def test_what_is_idle_earns_nothing(devnet: Devnet, site: VaultSite) -> None:
    """A market that nobody borrows from lowers the rate by its part of the vault."""
    slug, vault = "ethereum", VAULTS["ethereum"][0]
    assert IDLE in vault.supplied
    node = site.devnet.nodes[slug]
    time = await now(node) + 60
    async with rewound(node):
        await mine_at(node, time)
        before = await site.pool("GetYieldsLending", slug, vault.address)
    async with rewound(node):
        asset = token_of(node.chain, vault.asset)
        amount = await ask(node, vault.address, "totalAssets()")
        await send(node, known.DEVELOPER, asset.address, "mint(address,uint256)", known.BOB, amount)
        await send(node, known.BOB, asset.address, "approve(address,uint256)", MORPHO, amount)
        supply = f"supply({PARAMETERS},uint256,uint256,address,bytes)"
        idle = queue_of(node.chain, vault)[-1]
        await send(node, known.BOB, MORPHO, supply, idle, amount, 0, vault.address, b"")
        await mine_at(node, time)
        async with vault_site(devnet) as another:  # which remembers nothing of that height
            after = await another.pool("GetYieldsLending", slug, vault.address)
    assert after.tvl == pytest.approx(2 * before.tvl, rel=1e-5)
    assert math.log1p(after.supply_apy / 100) == pytest.approx(math.log1p(before.supply_apy / 100) / 2, rel=1e-5)
