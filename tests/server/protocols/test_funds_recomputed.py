"""vault-d and tokenized-a on the local chains, recomputed from what stands in the contracts; exact counts of requests.

Rates are held against the rounds that were set up and against what redeeming shares brings, never the reader's formula.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.feeds import load_feeds
from devnet.evm.funds import fund_feeds
from devnet.evm.treasury import token_of
from devnet.evm.world import FIRST_TIMESTAMP
from devnet.known_funds import DAY, FEED_VAULTS, HB_USDT, HB_XAUT, LST_HYPE, OLD, OLD_BY, SHARE_VAULT, FeedVault
from devnet.launcher import Devnet
from server.errors import NotFound, PriceUnavailable
from server.protocols.hyperbeat.reader import load_vaults
from server.protocols.midas.reader import load_funds
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import YEAR, ask, mine_at, now, send
from tests.server.protocols.fund_site import PRICED_AT, PRICES, open_site, time_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.evm.node import Node
    from tests.server.protocols.fund_site import Site

pytestmark = pytest.mark.devnet

ROUND = "uint80,int256,uint256,uint256,uint80"
NOBODY = "0x00000000000000000000000000000000000bEEF1"
every_feed = pytest.mark.parametrize("vault", FEED_VAULTS, ids=lambda vault: vault.symbol)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def two_chains() -> AsyncIterator[Devnet]:
    async with Devnet.start(("ethereum", "hyperliquid"), mines=False) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def site(two_chains: Devnet, tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(two_chains.settings_overrides()["chains"], tmp_path, kept=True) as opened:
        yield opened


def unit_price(vault: FeedVault) -> Decimal:
    """Return what one of what a feed counts in costs here."""
    keys = {"HYPE": ("hyperliquid", "native"), "XAUt": ("ethereum", "0x68749665FF8D2d112Fa859AA293F07A622782F38")}
    return Decimal(1) if vault.denomination == "USD" else Decimal(PRICES[keys[vault.denomination]])


def chainlink(pair: str) -> Decimal:
    """Return what the local chain's feed of a pair reports."""
    [row] = [one for one in load_feeds()["chainlink"] if (one["chain"], one["pair"]) == ("ethereum", pair)]
    return Decimal(row["price"])


async def test_the_feeds_are_those_of_the_tables() -> None:
    """What the devnet places and what the readers ask are written down twice."""
    placed = {row["name"]: (row.get("data_feed", ""), row["custom_feed"]) for row in fund_feeds()}
    funds = load_funds("ethereum")
    assert placed == {
        key: (fund.data_feed, fund.custom_feed) for key, fund in funds.items() if fund.data_feed or fund.custom_feed
    }
    vaults: dict[str, Any] = dict(load_vaults("hyperliquid"))
    for vault in FEED_VAULTS:
        row = vaults[vault.address]
        assert (row.name, row.data_feed, row.custom_feed) == (vault.symbol, vault.data_feed, vault.aggregator)


@pytest.mark.parametrize("vault", [HB_USDT, LST_HYPE], ids=lambda vault: vault.symbol)
async def test_a_rate_is_what_the_reports_have_grown_by(site: Site, vault: FeedVault) -> None:
    row = await site.vault(vault.address)
    prices = [Decimal(price) for price in vault.prices]
    back = next(count for count in range(1, len(prices)) if count * vault.every >= 7 * DAY)
    growth = prices[-1] / prices[-1 - back]
    apy = (growth ** (Decimal(YEAR) / (back * vault.every)) - 1) * 100
    assert row.apy == pytest.approx(float(apy), rel=1e-9)
    assert row.basis == 4


async def test_without_a_report_of_a_week_ago_there_is_no_rate(site: Site) -> None:
    row = await site.vault(HB_XAUT.address)
    assert not row.HasField("apy")
    assert row.tvl > 0


@every_feed
async def test_size_and_holdings_are_shares_times_the_report(site: Site, two_chains: Devnet, vault: FeedVault) -> None:
    node = two_chains.nodes["hyperliquid"]
    supply = await ask(node, vault.address, "totalSupply()")
    assert supply == sum(vault.shares.values()) * 10**12
    dollars = Decimal(vault.prices[-1]) * unit_price(vault)
    row = await site.vault(vault.address)
    assert row.tvl == pytest.approx(float(Decimal(supply).scaleb(-18) * dollars), rel=1e-14)
    head = await node.call("eth_getBlockByNumber", "latest", False)
    assert row.block_height == int(head["number"], 16)
    assert time_of(row) == (int(head["timestamp"], 16) if vault is HB_USDT else int(PRICED_AT.timestamp()))
    for wallet in (*vault.shares, NOBODY):
        held = (await site.balance(vault.address, wallet)).balance
        shares = Decimal(vault.shares.get(wallet, 0)).scaleb(-6)
        assert dict(held.amounts) == {vault.symbol: float(shares)}
        assert held.usd == pytest.approx(float(shares * dollars), rel=1e-14)


async def worth(node: Node, wallet: str) -> int:
    """Return what a wallet gets for all of its shares, by redeeming them on a snapshot."""
    asset = token_of(node.chain, SHARE_VAULT.asset).address
    time = await now(node)
    async with rewound(node):
        shares = await ask(node, SHARE_VAULT.address, "balanceOf(address)", wallet)
        before = await ask(node, asset, "balanceOf(address)", wallet)
        # At the same second as the read: interest runs by time.
        await send(node, wallet, SHARE_VAULT.address, "redeem(uint256,address,address)", shares, wallet, wallet)
        await mine_at(node, time + 1)
        got: int = await ask(node, asset, "balanceOf(address)", wallet) - before
        return got


async def test_shares_of_eip_4626_are_worth_what_redeeming_brings(site: Site, two_chains: Devnet) -> None:
    node, price = two_chains.nodes["hyperliquid"], Fraction(PRICES["hyperliquid", token_address(two_chains)])
    total = await ask(node, SHARE_VAULT.address, "totalAssets()")
    row = await site.vault(SHARE_VAULT.address)
    assert row.tvl == pytest.approx(float(Fraction(total, 10**6) * price), rel=1e-14)
    for wallet in SHARE_VAULT.deposits:
        held = (await site.balance(SHARE_VAULT.address, wallet)).balance
        got = await worth(node, wallet)
        # A second of interest of 7.25 % a year on 750,000 tokens is 1,724 units.
        assert held.amounts["USDT0"] * 10**6 == pytest.approx(got, abs=2_000)
        assert held.usd == pytest.approx(held.amounts["USDT0"] * float(price), rel=1e-14)
    stranger = (await site.balance(SHARE_VAULT.address, NOBODY)).balance
    assert (dict(stranger.amounts), stranger.usd) == ({"USDT0": 0.0}, 0.0)


def token_address(devnet: Devnet) -> str:
    return token_of(devnet.nodes["hyperliquid"].chain, SHARE_VAULT.asset).address


async def test_the_rate_of_eip_4626_is_what_a_week_of_holding_brings(two_chains: Devnet, tmp_path: Path) -> None:
    """The gateway stores what it reads by the hour; its rate is what redeeming brought then, against a week before."""
    node = two_chains.nodes["hyperliquid"]
    [wallet, *_] = SHARE_VAULT.deposits
    async with rewound(node):
        clock = {"now": 0.0}
        endpoints = two_chains.settings_overrides()["chains"]
        async with open_site(endpoints, tmp_path, wall=lambda: clock["now"]) as site:
            start = await now(node) + 3600
            worths = {}
            for hours in (0, 1, 24, 7 * 24 - 1, 7 * 24, 7 * 24 + 1, 8 * 24):
                await mine_at(node, start + hours * 3600)
                clock["now"] = start + hours * 3600
                worths[hours] = await worth(node, wallet)
                row = await site.vault(SHARE_VAULT.address)
                await site.shares.close()
                if hours < 7 * 24:
                    assert not row.HasField("apy"), hours
                    continue
                earlier = max(one for one in worths if one <= hours - 7 * 24)
                growth = Decimal(worths[hours]) / worths[earlier]
                apy = (growth ** (Decimal(YEAR) / ((hours - earlier) * 3600)) - 1) * 100
                assert row.apy == pytest.approx(float(apy), rel=1e-5), hours
                assert row.basis == 4


async def test_a_loss_is_a_rate_below_zero(two_chains: Devnet, tmp_path: Path) -> None:
    node = two_chains.nodes["hyperliquid"]
    async with rewound(node):
        clock = {"now": 0.0}
        async with open_site(two_chains.settings_overrides()["chains"], tmp_path, wall=lambda: clock["now"]) as site:
            for days in (0, 7):
                if days:
                    await send(node, known.DEVELOPER, SHARE_VAULT.address, "lose(uint256)", 10**10)
                start = clock["now"] or await now(node) + 60
                await mine_at(node, int(start) + days * DAY)
                clock["now"] = await now(node)
                row = await site.vault(SHARE_VAULT.address)
                await site.shares.close()
        assert row.apy < -40


async def test_exact_counts_of_vault_d(two_chains: Devnet, tmp_path: Path) -> None:
    endpoints = two_chains.settings_overrides()["chains"]
    chain = "hyperliquid"
    for vault in (HB_USDT.address, SHARE_VAULT.address):
        (folder := tmp_path / vault).mkdir()
        async with open_site(endpoints, folder, kept=True) as site:
            with site.sends(chain, chain):
                await site.vault(vault)
            # What was searched for is not asked for again: the calls of the next read are others.
            await site.vault(vault)
            with site.sends():
                await site.vault(vault)
            await two_chains.mine(chain, 1)
            await site.learn(chain)
            with site.sends(chain):
                await site.vault(vault)
            with site.sends(chain):
                await site.balance(vault, known.VITALIK)
            with site.sends(chain):
                await site.balance(vault, known.BOB)
    (folder := tmp_path / "best").mkdir()
    async with open_site(endpoints, folder, kept=True) as site:
        with site.sends(chain, chain):
            rows = await site.best()
        await two_chains.mine(chain, 1)
        await site.learn(chain)
        with site.sends(chain):
            await site.best()
        assert rows.keys() == {HB_USDT.address, LST_HYPE.address}
        for pool, best in rows.items():
            row = await site.vault(pool)
            assert (best.apy, best.tvl) == (row.apy, row.tvl)


@pytest.mark.parametrize("row", fund_feeds(), ids=lambda row: row["name"])
async def test_the_price_of_every_token(site: Site, two_chains: Devnet, row: dict[str, Any]) -> None:
    fund = load_funds("ethereum")[row["name"]]
    unit = Decimal(1) if fund.denomination == "USD" else chainlink(f"{fund.denomination} / USD")
    found = await site.price(fund.symbol.swapcase())
    assert found.price.usd == pytest.approx(float(Decimal(row["price"]) * unit), rel=1e-9)
    block = await two_chains.nodes["ethereum"].call("eth_getBlockByNumber", hex(found.block_height), False)
    reported = {True: FIRST_TIMESTAMP - OLD_BY, False: FIRST_TIMESTAMP}[fund.key == OLD]
    if fund.key == OLD or not fund.data_feed:
        assert time_of(found) == reported
    elif fund.denomination == "USD":
        assert time_of(found) == int(block["timestamp"], 16)
    else:
        assert time_of(found) <= int(block["timestamp"], 16)


async def test_exact_counts_of_tokenized_a(site: Site, two_chains: Devnet) -> None:
    for name in ("mTBILL", "mBTC", "mGLOeuro", OLD):
        with site.sends("ethereum"):
            await site.price(name)
        with site.sends():
            await site.price(name)
    await two_chains.mine("ethereum", 1)
    await site.learn("ethereum")
    for name in ("mTBILL", "mBTC", "mGLOeuro", OLD):
        with site.sends("ethereum"):
            await site.price(name)


async def test_a_report_grows_old_and_leaves_its_bounds(two_chains: Devnet, tmp_path: Path) -> None:
    node, fund = two_chains.nodes["ethereum"], load_funds("ethereum")["mRE7"]
    custom = load_funds("ethereum")["mBTC"].custom_feed
    async with rewound(node), open_site(two_chains.settings_overrides()["chains"], tmp_path) as site:
        time = await now(node)
        reported = (await ask(node, fund.custom_feed, "latestRoundData()", types=ROUND))[3]
        await mine_at(node, reported + 30 * DAY)
        assert time_of(await site.price("mRE7")) == reported + 30 * DAY
        await mine_at(node, reported + 30 * DAY + 1)
        row = await site.price("mRE7")
        assert (time_of(row), row.price.usd) == (reported, 1.0578)
        # Its own feed is healthy for years; bitcoin's is a month old.
        site.prices.missing.add(("bitcoin", "native"))
        with pytest.raises(PriceUnavailable, match="priced in BTC"):
            await site.price("mBTC")
        site.prices.missing.clear()
        row = await site.price("mBTC")
        assert row.price.usd == pytest.approx(1.0019 * 77777, rel=1e-12)
        assert time_of(row) == int(PRICED_AT.timestamp())
        await send(node, known.DEVELOPER, custom, "store_round(uint80,int256,uint256)", 2, 10**8 * 1001, time)
        await mine_at(node, reported + 31 * DAY)
        with pytest.raises(PriceUnavailable, match="out of the bounds"):
            await site.price("mBTC")
        await send(node, known.DEVELOPER, custom, "store_round(uint80,int256,uint256)", 3, 0, time)
        await mine_at(node, reported + 31 * DAY + 1)
        with pytest.raises(PriceUnavailable, match="reports no price"):
            await site.price("mBTC")


async def test_what_is_none_of_theirs(site: Site) -> None:
    for vault in ("0xB8CE59FC3717ada4C02eaDF9682A9e934F625ebb", HB_USDT.data_feed, NOBODY):
        with site.sends(), pytest.raises(NotFound, match="no such pool of vault-d"):
            await site.vault(vault)
    with site.sends(), pytest.raises(NotFound, match="nearest are mBTC"):
        await site.price("mBTCC")
