"""yield-a against its original contracts: its oracle and its router, trades and redemptions on a snapshot."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from eth_abi.abi import decode
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.calls import to_hex
from devnet.evm.treasury import token_of
from devnet.known_lending import TREASURY
from devnet.known_yield_a import (
    EXPIRED,
    MARKET_FACTORIES,
    ORACLE,
    ROUTER_STATIC,
    RUNNING,
    SIX_DECIMALS,
    UNPRICED,
    YIELD_A,
    YieldMarket,
)
from server.errors import NotFound, PriceUnavailable
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send
from tests.server.protocols.pendle.markets import PRICED_AT, PRICES, Markets, open_markets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

WAD = 10**18
DAY = 86_400
ROUNDED = 1e-12  # the oracle rounds amounts of six decimals at every step
PRICED = (RUNNING, SIX_DECIMALS, EXPIRED)
STATE = "(int256,int256,int256,address,int256,uint256,uint256,uint256,uint256)"
SWAP = keccak(text="Swap(address,address,int256,int256,uint256,uint256)")
TRANSFER = "transfer(address,uint256)"


@pytest.fixture(scope="module")
def node(devnet: Devnet) -> Node:
    return devnet.nodes["ethereum"]


@pytest_asyncio.fixture(loop_scope="session")
async def markets(devnet: Devnet) -> AsyncIterator[Markets]:
    async with open_markets(devnet, "ethereum", "arbitrum") as opened:
        yield opened


def dollars(market: YieldMarket) -> Decimal:
    return Decimal(PRICES[market.asset])


def decimals(node: Node, market: YieldMarket) -> int:
    return int(token_of(node.chain, market.asset).decimals)


async def oracle(node: Node, market: YieldMarket, token: str) -> Decimal:
    """What the original oracle says that a raw unit of a token is worth in raw units of the asset."""
    rate = await ask(node, ORACLE, f"get{token}ToAssetRate(address,uint32)", market.market, 0)
    return Decimal(rate) / WAD


def stamp(moment: Any) -> int:
    return int(moment.ToDatetime(tzinfo=UTC).timestamp())


@pytest.mark.parametrize("market", PRICED, ids=["running", "six decimals", "expired"])
async def test_prices_are_the_oracles(markets: Markets, node: Node, market: YieldMarket) -> None:
    row = await markets.pool("GetYieldsPrice", market.market)
    worth = await oracle(node, market, "Pt") * dollars(market)
    assert row.price.usd == pytest.approx(float(worth), rel=1e-15)
    per_unit = await oracle(node, market, "Lp") * 10 ** (18 - decimals(node, market)) * dollars(market)
    assert row.lp_usd == pytest.approx(float(per_unit), rel=ROUNDED)
    assert (row.token.address, row.token.symbol) == (
        market.principal,
        await ask(node, market.principal, "symbol()", types="string"),
    )
    if market is EXPIRED:
        assert row.price.usd == float(dollars(market))
    else:
        assert row.price.usd < float(dollars(market)) * 0.75
    assert row.updated_at.ToDatetime(tzinfo=UTC) == PRICED_AT


@pytest.mark.parametrize("market", PRICED, ids=["running", "six decimals", "expired"])
async def test_rate_and_size_are_the_routers(markets: Markets, node: Node, market: YieldMarket) -> None:
    row = await markets.pool("GetYieldsVaults", market.market)
    *_, implied, _, state = await ask(
        node,
        ROUTER_STATIC,
        "getMarketState(address)",
        market.market,
        types=f"address,address,address,int256,uint256,{STATE}",
    )
    assert row.apy == (0 if market is EXPIRED else pytest.approx(implied / 10**16 - 100, rel=1e-12))
    assert row.basis == 3  # implied
    whole = state[2] * await oracle(node, market, "Lp")
    assert row.tvl == pytest.approx(float(whole.scaleb(-decimals(node, market)) * dollars(market)), rel=ROUNDED)
    assert row.tvl > 1_000_000
    assert row.block_height == int(await node.call("eth_blockNumber"), 16)


@pytest.mark.parametrize("market", [RUNNING, SIX_DECIMALS], ids=["running", "six decimals"])
async def test_the_implied_rate_is_what_a_small_purchase_earns(
    markets: Markets, node: Node, market: YieldMarket
) -> None:
    """Principal bought without the fee, held to expiry, where each token is one of the asset."""
    row = await markets.pool("GetYieldsVaults", market.market)
    token = market.token("ethereum")
    part = 10 ** decimals(node, market) * 10
    async with rewound(node):
        await send(node, TREASURY, token, TRANSFER, market.market, 2 * part)
        await send(node, TREASURY, market.market, "swapSyForExactPt(address,uint256,bytes)", known.ALICE, part, b"")
        at = await now(node) + 1
        await mine_at(node, at)
        [swapped] = await events(node, market)
        paid = Decimal(-swapped[1] - swapped[2]) * await ask(node, token, "exchangeRate()") / WAD
    years = Decimal(market.expiry - at) / (365 * DAY)
    earned = (part / paid) ** (1 / years) - 1
    # A purchase moves the rate: 10 of 2,000,000.
    assert row.apy == pytest.approx(float(earned) * 100, rel=1e-5)


async def events(node: Node, market: YieldMarket) -> list[tuple[int, int, int]]:
    """The swaps of the latest block: principal out, split tokens out, fee in split tokens."""
    asked = {"address": market.market, "topics": [to_hex(SWAP)], "fromBlock": "latest", "toBlock": "latest"}
    rows = await node.call("eth_getLogs", asked)
    return [decode(["int256", "int256", "uint256", "uint256"], bytes.fromhex(row["data"][2:]))[:3] for row in rows]


async def test_a_wallets_tokens_stand_under_their_own_names_each_by_its_rate(markets: Markets, node: Node) -> None:
    for market in PRICED:
        row = await markets.pool("GetYieldsBalance", market.market, known.VITALIK)
        value = Decimal(0)
        expected = {}
        for token, kind in ((market.market, "Lp"), (market.principal, "Pt"), (market.yield_token, "Yt")):
            held = await ask(node, token, "balanceOf(address)", known.VITALIK)
            places = await ask(node, token, "decimals()", types="uint8")
            assert held
            expected[await ask(node, token, "symbol()", types="string")] = held / 10**places
            value += held * await oracle(node, market, kind)
        assert dict(row.balance.amounts) == expected
        worth = float(value.scaleb(-decimals(node, market)) * dollars(market))
        assert row.balance.usd == pytest.approx(worth, rel=ROUNDED)


async def test_a_wallet_with_nothing_is_a_row_of_zeros_and_an_asset_without_price_has_no_value(
    markets: Markets,
) -> None:
    stranger = "0x00000000000000000000000000000000000bEEF1"
    for market in (RUNNING, UNPRICED):
        row = await markets.pool("GetYieldsBalance", market.market, stranger)
        assert list(row.balance.amounts.values()) == [0, 0, 0]
        assert row.balance.HasField("usd")
        assert row.balance.usd == 0
    row = await markets.pool("GetYieldsBalance", UNPRICED.market, known.VITALIK)
    assert all(row.balance.amounts.values())
    assert not row.balance.HasField("usd")
    vault = await markets.pool("GetYieldsVaults", UNPRICED.market)
    assert vault.apy > 5
    assert not vault.HasField("tvl")
    with pytest.raises(PriceUnavailable, match="its asset has no known price"):
        await markets.pool("GetYieldsPrice", UNPRICED.market)


async def test_principal_is_redeemed_for_one_of_the_asset_from_expiry_on(markets: Markets, node: Node) -> None:
    asset, token = token_of(node.chain, EXPIRED.asset).address, EXPIRED.token("ethereum")
    row = await markets.pool("GetYieldsBalance", EXPIRED.market, known.VITALIK)
    async with rewound(node):
        before = await ask(node, asset, "balanceOf(address)", known.VITALIK)
        held = await ask(node, EXPIRED.principal, "balanceOf(address)", known.VITALIK)
        shares = await ask(node, EXPIRED.market, "balanceOf(address)", known.VITALIK)
        await send(node, known.VITALIK, EXPIRED.market, TRANSFER, EXPIRED.market, shares)
        await send(
            node, known.VITALIK, EXPIRED.market, "burn(address,address,uint256)", known.VITALIK, known.VITALIK, shares
        )
        await mine_at(node, await now(node) + 1)
        held = await ask(node, EXPIRED.principal, "balanceOf(address)", known.VITALIK)
        await send(node, known.VITALIK, EXPIRED.principal, TRANSFER, EXPIRED.yield_token, held)
        await send(node, known.VITALIK, EXPIRED.yield_token, "redeemPY(address)", known.VITALIK)
        await mine_at(node, await now(node) + 1)
        split = await ask(node, token, "balanceOf(address)", known.VITALIK)
        redeem = "redeem(address,uint256,address,uint256,bool)"
        await send(node, known.VITALIK, token, redeem, known.VITALIK, split, asset, 0, False)
        await mine_at(node, await now(node) + 1)
        got = await ask(node, asset, "balanceOf(address)", known.VITALIK) - before
    worth = float(Decimal(got) / WAD * dollars(EXPIRED))
    # The split token's rate grew for three more seconds.
    assert row.balance.usd == pytest.approx(worth, rel=1e-7)


async def test_where_the_token_lost_value_all_is_worth_less(markets: Markets, node: Node) -> None:
    token = RUNNING.token("ethereum")
    before = await markets.pool("GetYieldsPrice", RUNNING.market)
    async with rewound(node):
        rate = await ask(node, token, "exchangeRate()")
        await send(node, TREASURY, RUNNING.yield_token, "pyIndexCurrent()")
        await mine_at(node, await now(node) + 1)
        await send(node, known.DEVELOPER, token, "set_rate(uint256,uint256)", rate * 9 // 10, 0)
        await mine_at(node, await now(node) + 1)
        row = await markets.pool("GetYieldsPrice", RUNNING.market)
        assert row.price.usd == pytest.approx(float(await oracle(node, RUNNING, "Pt") * dollars(RUNNING)), rel=1e-15)
        assert row.price.usd == pytest.approx(before.price.usd * 0.9, rel=1e-6)
        per_unit = await oracle(node, RUNNING, "Lp") * dollars(RUNNING)
        assert row.lp_usd == pytest.approx(float(per_unit), rel=ROUNDED)
        held = await markets.pool("GetYieldsBalance", RUNNING.market, known.BOB)
        left = await ask(node, RUNNING.yield_token, "balanceOf(address)", known.BOB)
        worth = left * await oracle(node, RUNNING, "Yt") * dollars(RUNNING) / WAD
        assert held.balance.usd == pytest.approx(float(worth), rel=1e-14)


async def test_an_asset_that_is_no_token_has_no_price(devnet: Devnet, node: Node) -> None:
    async with rewound(node):
        await send(node, known.DEVELOPER, RUNNING.token("ethereum"), "set_kind(uint8)", 1)
        await mine_at(node, await now(node) + 1)
        async with open_markets(devnet, "ethereum") as fresh:
            row = await fresh.pool("GetYieldsVaults", RUNNING.market)
            assert row.apy > 5
            assert not row.HasField("tvl")
            assert fresh.prices.asked == []


async def test_a_contract_that_only_answers_like_a_market_is_none(markets: Markets, node: Node) -> None:
    impostor = "0x00000000000000000000000000000000DeaDBeef"
    async with rewound(node):
        await node.call("anvil_setCode", impostor, await node.call("eth_getCode", RUNNING.market, "latest"))
        read = "readTokens()"
        assert await ask(node, impostor, read, types="address,address,address") == await ask(
            node, RUNNING.market, read, types="address,address,address"
        )
        for rpc in ("GetYieldsVaults", "GetYieldsPrice", "GetYieldsBalance"):
            with pytest.raises(NotFound, match="none of its factories made") as refused:
                await markets.pool(rpc, impostor, known.ALICE)
            assert refused.value.field == "pool"
        with pytest.raises(NotFound, match="none of its factories made"):
            await markets.implied(impostor, known.ALICE)


async def test_a_market_is_proved_anew_in_every_read(markets: Markets, node: Node) -> None:
    await markets.pool("GetYieldsVaults", SIX_DECIMALS.market)
    factory = MARKET_FACTORIES["ethereum"][SIX_DECIMALS.factory]
    async with rewound(node):
        # Its proxy then leads nowhere known: an implementation whose set of markets is empty.
        other = MARKET_FACTORIES["ethereum"][0]
        code = await node.call("eth_getCode", other, "latest")
        await node.call("anvil_setCode", factory, code)
        slots = [hex(slot) for slot in range(8)]
        for slot in slots:
            await node.call("anvil_setStorageAt", factory, "0x" + slot[2:].rjust(64, "0"), "0x" + "00" * 32)
        await forget(node, factory, SIX_DECIMALS.market)
        await mine_at(node, await now(node) + 1)
        assert not await ask(node, factory, "isValidMarket(address)", SIX_DECIMALS.market, types="bool")
        with pytest.raises(NotFound):
            await markets.pool("GetYieldsVaults", SIX_DECIMALS.market)


async def forget(node: Node, factory: str, market: str) -> None:
    """Take a market out of its factory's set, whose index of it stands at a slot by its address."""
    for slot in range(300):
        place = keccak(bytes.fromhex(market[2:]).rjust(32, b"\0") + slot.to_bytes(32, "big"))
        word = await node.call("eth_getStorageAt", factory, to_hex(place), "latest")
        if int(word, 16):
            await node.call("anvil_setStorageAt", factory, to_hex(place), "0x" + "00" * 32)
            return
    raise AssertionError("the factory keeps its markets elsewhere")


async def test_each_generation_of_factories_knows_its_own_markets(node: Node) -> None:
    for market in YIELD_A["ethereum"]:
        knows = [
            await ask(node, factory, "isValidMarket(address)", market.market, types="bool")
            for factory in MARKET_FACTORIES["ethereum"]
        ]
        assert [place for place, known_one in enumerate(knows) if known_one] == [len(knows) + market.factory]


async def test_what_a_purchase_earns_is_held_to_its_event(markets: Markets, node: Node) -> None:
    wallet, market = "0x00000000000000000000000000000000CAfeF00D", RUNNING
    token = market.token("ethereum")
    with pytest.raises(NotFound, match="no transactions in this market"):
        await markets.implied(market.market, wallet)
    entries = []
    async with rewound(node):
        for whole in (40_000, 10_000):
            await send(node, TREASURY, token, TRANSFER, market.market, 2 * whole * WAD)
            swap = "swapSyForExactPt(address,uint256,bytes)"
            await send(node, TREASURY, market.market, swap, wallet, whole * WAD, b"")
            at = await now(node) + 30 * DAY
            await mine_at(node, at)
            [(principal, split, _)] = await events(node, market)
            assert principal == whole * WAD
            entries.append(
                (Decimal(whole), principal * WAD / Decimal(-split * await ask(node, token, "exchangeRate()")), at)
            )
        row = await markets.implied(market.market, wallet)
        weights = sum(weight for weight, _, _ in entries)
        rate = sum(weight * rate for weight, rate, _ in entries) / weights
        assert row.effective_pt_exchange_rate == pytest.approx(float(rate), rel=1e-9)
        yearly = [(weight, rate ** (Decimal(365 * DAY) / (market.expiry - at)) - 1) for weight, rate, at in entries]
        earned = sum(weight * one for weight, one in yearly) / weights
        assert row.implied_apy == pytest.approx(float(earned) * 100, rel=1e-9)
        assert stamp(row.expiry_date) == market.expiry
        assert row.days_to_expiry == (market.expiry - await now(node)) // DAY
        # Selling half leaves the average as it is: each entry loses the same part.
        await send(node, wallet, market.principal, TRANSFER, market.market, 25_000 * WAD)
        await send(node, wallet, market.market, "swapExactPtForSy(address,uint256,bytes)", wallet, 25_000 * WAD, b"")
        await mine_at(node, await now(node) + 5)
        after = await markets.implied(market.market, wallet)
        assert after.effective_pt_exchange_rate == pytest.approx(row.effective_pt_exchange_rate, rel=1e-9)
        assert after.implied_apy == pytest.approx(row.implied_apy, rel=1e-9)
        # At expiry and after it no day is left, and what was bought still earns what it earns.
        await mine_at(node, market.expiry)
        expired = await markets.implied(market.market, wallet)
        assert expired.days_to_expiry == 0
        assert expired.effective_pt_exchange_rate == pytest.approx(row.effective_pt_exchange_rate, rel=1e-9)
        assert expired.implied_apy == pytest.approx(row.implied_apy, rel=1e-9)
        assert (await markets.pool("GetYieldsVaults", market.market)).apy == 0


async def test_what_was_bought_before_the_first_block_earns_what_the_market_implies(markets: Markets) -> None:
    for market in (RUNNING, SIX_DECIMALS):
        implied = (await markets.pool("GetYieldsVaults", market.market)).apy
        row = await markets.implied(market.market, known.VITALIK)
        assert row.implied_apy == pytest.approx(implied, rel=1e-9)
    row = await markets.implied(EXPIRED.market, known.ALICE)
    assert row.days_to_expiry == 0
    assert row.effective_pt_exchange_rate > 1
    assert row.expiry_date.ToDatetime(tzinfo=UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    with pytest.raises(NotFound, match=r"bought no principal tokens at a known rate; its actions .* buyYt"):
        await markets.implied(RUNNING.market, known.BOB)


async def test_the_comparison_has_the_rates_of_the_markets_that_run(markets: Markets) -> None:
    rows = {row.row.pool: row for row in await markets.best("ethereum")}
    assert sorted(rows) == sorted(one.market for one in (RUNNING, SIX_DECIMALS, UNPRICED))
    for address, (row, symbols) in rows.items():
        own = await markets.pool("GetYieldsVaults", address)
        assert row.apy == pytest.approx(own.apy, rel=1e-12)
        assert own.apy > 5
        assert symbols == (row.symbol,)
    [six] = await markets.best("arbitrum")
    assert six.symbols == ("USDC",)


async def test_counts(markets: Markets) -> None:
    await markets.pool("GetYieldsVaults", RUNNING.market)
    cold = markets.sent()
    assert cold == ["ethereum"] * 3
    for rpc in ("GetYieldsVaults", "GetYieldsPrice"):
        await markets.pool(rpc, RUNNING.market)
        assert markets.sent() == ["ethereum"]
    await markets.pool("GetYieldsBalance", RUNNING.market, known.ALICE)
    assert markets.sent() == ["ethereum"]
    await markets.implied(RUNNING.market, known.ALICE)
    assert markets.sent() == ["ethereum", "pendle"]
    await markets.best("ethereum")
    assert markets.sent() == ["pendle"]


async def test_on_another_chain_its_asset_is_looked_for(markets: Markets, devnet: Devnet) -> None:
    [market] = YIELD_A["arbitrum"]
    row = await markets.pool("GetYieldsVaults", market.market, chain="arbitrum")
    assert markets.sent() == ["arbitrum"] * 4
    assert row.tvl > 1_000_000
    own = devnet.nodes["arbitrum"]
    asset = token_of(own.chain, market.asset).address
    async with rewound(own):
        # A token without code on its chain is the one of that address on Ethereum.
        await own.call("anvil_setCode", asset, "0x")
        await mine_at(own, await now(own) + 1)
        async with open_markets(devnet, "arbitrum") as fresh:
            assert not (await fresh.pool("GetYieldsVaults", market.market, chain="arbitrum")).HasField("tvl")
            assert [tuple(one) for one in fresh.prices.asked] == [("ethereum", asset)]
