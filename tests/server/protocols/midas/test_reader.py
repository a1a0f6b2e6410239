"""Prices of tokenized-a: feeds of any age and figure, denominations, names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from server.catalog.feeds import load_price_table
from server.errors import GatewayError, NotFound, PriceUnavailable, UpstreamUnavailable
from server.protocols.midas.reader import PriceReader, find_fund, load_funds
from server.protocols.plan import ContractUnreadable
from server.protocols.yields import PoolQuestion
from tests.server.protocols.funds import DAY, NOW, Asking, Feed, Market, moment
from tests.server.protocols.scripted import World

if TYPE_CHECKING:
    from collections.abc import Callable

READER = PriceReader()
FUNDS = load_funds("ethereum")


def feed_of(world: World, name: str, *rounds: tuple[int, int], **more: Any) -> Feed:
    """Return the feed of a token that reported answers at times."""
    fund = FUNDS[name]
    return Feed(world, fund.data_feed, fund.custom_feed, dict(enumerate(rounds, 1)), **more)


def base_feed(world: World, symbol: str, answer: int, at: int) -> None:
    """Have Chainlink's feed of a denomination report."""
    feed = next(one for one in load_price_table().feeds[symbol] if (one.kind, one.chain) == ("chainlink", "ethereum"))
    world.put(feed.address, "decimals()", "uint8", 8)
    world.put(feed.address, "latestRoundData()", "uint80,int256,uint256,uint256,uint80", 9, answer, at, at, 9)


def question(name: str) -> PoolQuestion:
    return PoolQuestion("ethereum", pool=name)


async def price(asking: Asking, name: str) -> Any:
    return await asking.ask(READER, question(name))


async def test_a_healthy_price_is_of_the_block() -> None:
    world = World()
    feed_of(world, "mTBILL", (101_234_567, NOW - 20 * DAY)).put()
    asking = Asking(world)
    row, cold = await asking.count(READER, question("mTBILL"))
    assert row.price.usd == 1.01234567
    assert row.updated_at.ToDatetime(moment(NOW).tzinfo) == moment(NOW)
    assert row.block_height == world.block
    assert cold == 1
    assert (await asking.count(READER, question("MTBILL")))[1] == 1
    assert asking.market.asked == []


async def test_an_old_report_is_answered_with_its_own_time() -> None:
    world = World()
    feed_of(world, "mTBILL", (101_000_000, NOW - 90 * DAY), (101_234_567, NOW - 30 * DAY - 1)).put()
    row = await price(Asking(world), "mTBILL")
    assert row.price.usd == 1.01234567
    assert row.updated_at.ToDatetime(moment(NOW).tzinfo) == moment(NOW - 30 * DAY - 1)


@pytest.mark.parametrize(
    ("answer", "age", "why"),
    [
        (9_999_999, 0, "out of the bounds"),
        (100_000_000_001, 0, "out of the bounds"),
        (100_000_000_001, 90 * DAY, "out of the bounds"),
        (0, 0, "reports no price"),
        (-1, 0, "reports no price"),
        (-(10**30), 90 * DAY, "reports no price"),
        (101_000_000, -DAY, "time to come"),
        (101_000_000, NOW, "reports no price"),
    ],
)
async def test_what_is_no_price(answer: int, age: int, why: str) -> None:
    world = World()
    feed_of(world, "mTBILL", (answer, NOW - age)).put()
    with pytest.raises(PriceUnavailable, match=why):
        await price(Asking(world), "mTBILL")


async def test_a_feed_that_nobody_has_reported_to_yet() -> None:
    world = World()
    feed_of(world, "mTBILL").put()
    with pytest.raises(PriceUnavailable, match="reports no price"):
        await price(Asking(world), "mTBILL")


@pytest.mark.parametrize(("name", "symbol"), [("mBTC", "BTC"), ("tETH", "ETH"), ("mGLOeuro", "EUR")])
async def test_what_a_feed_counts_in_is_read_with_it(name: str, symbol: str) -> None:
    world = World()
    feed_of(world, name, (150_000_000, NOW - DAY)).put()
    base_feed(world, symbol, 2_500_12345678, NOW - 600)
    asking = Asking(world)
    row, requests = await asking.count(READER, question(name))
    assert math.isclose(row.price.usd, 1.5 * 2500.12345678, rel_tol=1e-15)
    assert requests == 1
    assert asking.market.asked == []
    oldest = NOW - (DAY if name == "mGLOeuro" else 600)
    assert row.updated_at.ToDatetime(moment(NOW).tzinfo) == moment(oldest)


@pytest.mark.parametrize("spoil", ["old", "to come", "zero", "reverts", "no code"])
async def test_a_dead_feed_of_bitcoin_is_replaced_by_the_gateways_own_price(spoil: str) -> None:
    world = World()
    feed_of(world, "mBTC", (150_000_000, NOW - DAY)).put()
    at = {"old": NOW - 3 * 3600, "to come": NOW + DAY}.get(spoil, NOW)
    if spoil != "no code":
        base_feed(world, "BTC", 0 if spoil == "zero" else 10**13, at)
    if spoil == "reverts":
        [feed] = [one for one in load_price_table().feeds["BTC"] if (one.kind, one.chain) == ("chainlink", "ethereum")]
        world.remove(feed.address, "latestRoundData()")
    asking = Asking(world, Market({("bitcoin", "native"): "90000.5"}, NOW - 50))
    row, requests = await asking.count(READER, question("mBTC"))
    assert row.price.usd == 135000.75
    assert row.updated_at.ToDatetime(moment(NOW).tzinfo) == moment(NOW - 50)
    assert requests == 2
    with pytest.raises(PriceUnavailable, match="priced in BTC, which has no live price"):
        await price(Asking(world), "mBTC")


async def test_euros_have_no_other_price() -> None:
    world = World()
    feed_of(world, "mGLOeuro", (150_000_000, NOW)).put()
    base_feed(world, "EUR", 10**8, NOW - 2 * DAY)
    asking = Asking(world)
    with pytest.raises(PriceUnavailable, match="priced in EUR"):
        await price(asking, "mGLOeuro")
    assert asking.market.asked == []


@pytest.mark.parametrize(
    ("answer", "is_right"), [(99_999_999, False), (10**8, True), (2 * 10**8, True), (2 * 10**8 + 1, False)]
)
async def test_without_a_data_feed_the_aggregators_own_bounds_hold(answer: int, is_right: bool) -> None:
    world = World()
    feed_of(world, "mTU", (answer, NOW - 400 * DAY), least=10**8, most=2 * 10**8).put()
    asking = Asking(world)
    if is_right:
        row = await price(asking, "mTU")
        assert row.price.usd == answer / 10**8
        assert row.updated_at.ToDatetime(moment(NOW).tzinfo) == moment(NOW - 400 * DAY)
    else:
        with pytest.raises(PriceUnavailable, match="out of the bounds"):
            await price(asking, "mTU")


async def test_a_feed_whose_aggregator_was_replaced() -> None:
    """The published aggregator is no longer the feed's: one request more, once."""
    world = World()
    fund = FUNDS["mTBILL"]
    Feed(world, fund.data_feed, fund.custom_feed, {1: (50_000_000, NOW)}).put()
    new = "0x00000000000000000000000000000000000aBcDe"
    Feed(world, fund.data_feed, new, {7: (104_000_000, NOW - DAY)}, decimals=8).put()
    asking = Asking(world)
    row, requests = await asking.count(READER, question("mTBILL"))
    assert (row.price.usd, requests) == (1.04, 2)
    row, requests = await asking.count(READER, question("mTBILL"))
    assert (row.price.usd, requests) == (1.04, 1)


def break_feed(world: World) -> None:
    world.remove(FUNDS["mTBILL"].data_feed, "getDataInBase18()")


def no_feed(world: World) -> None:
    for key in [key for key in world.functions if key[0] == FUNDS["mTBILL"].data_feed.lower()]:
        del world.functions[key]


def no_aggregator(world: World) -> None:
    for key in [key for key in world.functions if key[0] == FUNDS["mTBILL"].custom_feed.lower()]:
        del world.functions[key]


def many_decimals(world: World) -> None:
    world.put(FUNDS["mTBILL"].custom_feed, "decimals()", "uint8", 77)


def short_answer(world: World) -> None:
    world.put(FUNDS["mTBILL"].custom_feed, "latestRoundData()", "uint80,int256", 1, 10**8)


def no_clock(world: World) -> None:
    world.remove("0xcA11bde05977b3631167028862bE2a173976CA11", "getCurrentBlockTimestamp()")


@pytest.mark.parametrize("spoil", [break_feed, no_feed, no_aggregator, many_decimals, short_answer, no_clock])
async def test_what_is_no_feed_is_said_so(spoil: Callable[[World], None]) -> None:
    world = World()
    feed_of(world, "mTBILL", (10**8, NOW - DAY)).put()
    spoil(world)
    with pytest.raises(ContractUnreadable) as failed:
        await price(Asking(world), "mTBILL")
    assert "0x" in failed.value.message


def test_a_name_is_a_key_or_a_symbol_in_any_case() -> None:
    for name in ("mRE7", "MRE7", "mRe7YIELD", "MRE7YIELD"):
        assert find_fund("ethereum", name).token == "0x87C9053C819bB28e0D73d33059E1b3DA80AFb0cf"
    for key, fund in FUNDS.items():
        assert find_fund("ethereum", key.upper()) is find_fund("ethereum", fund.symbol.lower()) is fund


@pytest.mark.parametrize(
    ("name", "near"), [("mTBIL", "mTBILL"), ("mRE7YIELDS", "mRe7YIELD"), ("mM1USD2", "mM1-USD"), ("0xDD629E52", "")]
)
async def test_an_unknown_name_is_404_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(NotFound, match="no such pool of tokenized-a on ethereum") as failed:
        await price(Asking(World()), name)
    assert near in failed.value.message
    assert failed.value.field == "pool"


async def test_what_has_no_single_price_says_why() -> None:
    asking = Asking(World())
    with pytest.raises(PriceUnavailable, match="one price for deposits and another for redemptions") as failed:
        await price(asking, "mGLOBAL")
    assert "0x58476f452df10E6Bf17dc1fee418E98dE9e14868 (deposit)" in failed.value.message
    with pytest.raises(PriceUnavailable, match="obeatUSD has no feed on ethereum"):
        await price(asking, "obeatUSD")
    assert asking.world.requests == []


async def test_a_token_without_a_feed_of_its_own_is_priced_like_its_base() -> None:
    world = World()
    feed_of(world, "mBTC", (10**8, NOW)).put()
    base_feed(world, "BTC", 9 * 10**12, NOW)
    assert (await price(Asking(world), "TACmBTC")).price.usd == 90_000
    assert {fund.key: fund.like for fund in FUNDS.values() if fund.like} == {
        "TACmBTC": "mBTC", "TACmEDGE": "mEDGE", "TACmMEV": "mMEV",
    }  # fmt: skip


async def test_every_token_of_the_table_is_priced_or_says_why_not() -> None:
    for name in FUNDS:
        await check_price(name)


async def check_price(name: str) -> None:
    world = World()
    fund = FUNDS[FUNDS[name].like] if FUNDS[name].like else FUNDS[name]
    if fund.custom_feed:
        feed_of(world, fund.key, (123_000_000, NOW - DAY)).put()
        for symbol in ("BTC", "ETH", "EUR"):
            base_feed(world, symbol, 2 * 10**8, NOW)
        row, requests = await Asking(world).count(READER, question(name))
        assert row.price.usd == (1.23 if fund.denomination == "USD" else 2.46)
        assert requests == 1
    else:
        with pytest.raises(GatewayError) as failed:
            await price(Asking(world), name)
        assert failed.value.reason == "PRICE_UNAVAILABLE"


async def test_a_node_that_fails_is_no_lack_of_price() -> None:
    world = World()

    async def fail(groups: Any, view: Any) -> Any:
        raise UpstreamUnavailable("no node answers")

    world.call_groups = fail  # type: ignore[method-assign]
    with pytest.raises(UpstreamUnavailable, match="no node answers"):
        await price(Asking(world), "mTBILL")
