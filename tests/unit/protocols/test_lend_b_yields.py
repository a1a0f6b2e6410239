"""Edges of lend-b's yields: curves that change, markets and feeds that do not answer, figures at their limits."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from eth_abi.abi import decode, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from server.catalog.feeds import load_price_table
from server.chains.view import ReadView
from server.checksum import checksum_address
from server.contracts.calls import ContractOutcome
from server.errors import NotFound, UpstreamUnavailable
from server.protocols.compound_v3.denominations import unit_of
from server.protocols.compound_v3.tables import market_addresses
from server.protocols.compound_v3.terms import Curve
from server.protocols.compound_v3.yields import CHAINS, YIELDS
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion
from server.sources.prices import Price
from tests.unit.protocols.scripted import REVERTS, World, address

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall

NOW = 1_800_000_000
NOON = datetime.fromtimestamp(NOW, UTC)
WAD, YEAR = 10**18, 31_536_000
MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
WALLET = checksum_address(address(0xAA))
FEED, OTHER_FEED = checksum_address(address(0xFEED)), checksum_address(address(0xFEED2))
LENDING, BALANCE, BEST = YIELDS.readers["GetYieldsLending"], YIELDS.readers["GetYieldsBalance"], YIELDS.best
# Kink 0.9; 3.6 % and 303 % per year, and 1.5 %, 2.8 %, 357 % for borrowers.
SUPPLY = (9 * 10**17, 0, 36 * 10**15 // YEAR, 303 * 10**16 // YEAR)
BORROW = (9 * 10**17, 15 * 10**15 // YEAR, 28 * 10**15 // YEAR, 357 * 10**16 // YEAR)
PARTS = ("Kink()", "PerSecondInterestRateBase()", "PerSecondInterestRateSlopeLow()", "PerSecondInterestRateSlopeHigh()")


def contract_rate(curve: tuple[int, int, int, int], utilization: int) -> int:
    """The contract's own formula, in the order of its code."""
    kink, base, low, high = curve
    if utilization <= kink:
        return base + low * utilization // WAD
    return base + low * kink // WAD + high * (utilization - kink) // WAD


class Prices:
    """Prices of the gateway's own by token, and what was asked for."""

    def __init__(self, **by_address: Price) -> None:
        self.prices, self.asked = by_address, list[Any]()

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Price]:
        self.asked += tokens
        return {token: self.prices[token[1]] for token in tokens if token[1] in self.prices}


class Markets(World):
    """The markets of a chain: 1,000 units at a price of 2 each, half of them lent."""

    def __init__(self, chain: str) -> None:
        super().__init__()
        self.chain, self.own = chain, Prices()
        self.addresses = market_addresses(chain)
        self.put(MULTICALL3, "getCurrentBlockTimestamp()", "uint256", NOW)
        for place, market in enumerate(self.addresses):
            base = self.base_of(market)
            self.token(base, f"T{place}", 6)
            self.put(market, "baseToken()", "address", base)
            self.put(market, "baseTokenPriceFeed()", "address", FEED)
            self.curves(market)
            self.figures(market)
            self.price(market, {FEED: 2 * 10**8})
            self.put(market, "balanceOf(address)", "uint256", 12_345_678)
        for unit in ("ETH", "wstETH", "BTC"):
            self.feed(unit, 3_000 * 10**8)
        sequencer = load_price_table().sequencers.get(chain)
        if sequencer is not None:
            self.round(sequencer.address, 0, NOW - 10**6)
        self.runner = Runner(lambda _slug, _wanted: self, TableStore(), self.own)

    def base_of(self, market: str) -> str:
        return checksum_address(address(0xB000 + self.addresses.index(market)))

    def curves(self, market: str, supply: Any = SUPPLY, borrow: Any = BORROW) -> None:
        for side, curve in (("supply", supply), ("borrow", borrow)):
            for part, number in zip(PARTS, curve, strict=True):
                self.put(market, side + part, "uint256", number)
            self.put_raw(
                market,
                f"get{side.capitalize()}Rate(uint256)",
                lambda data, of=curve: ContractOutcome(
                    True, encode(["uint64"], [contract_rate(of, decode(["uint256"], data)[0])])
                ),
            )

    def figures(self, market: str, utilization: int = WAD // 2, supply: int = 10**9) -> None:
        self.put(market, "getUtilization()", "uint256", utilization)
        self.put(market, "totalSupply()", "uint256", supply)

    def price(self, market: str, by_feed: dict[str, int]) -> None:
        table = {feed.lower(): (price,) for feed, price in by_feed.items()}
        self.put_for(market, "getPrice(address)", "uint256", table)

    def feed(self, unit: str, answer: int, at: int = NOW - 60, decimals: int = 8) -> None:
        for feed in self.feeds(unit):
            self.put(feed, "decimals()", "uint8", decimals)
            self.round(feed, answer, at)

    def feeds(self, unit: str) -> list[str]:
        listed = load_price_table().feeds[unit]
        return [one.address for one in listed if (one.kind, one.chain) == ("chainlink", self.chain)]

    def round(self, feed: str, answer: int, at: int) -> None:
        self.put(feed, "latestRoundData()", "uint80,int256,uint256,uint256,uint80", 7, answer, at, at, 7)

    async def ask(self, reader: Any, pool: str | None = None, wallet: str = WALLET) -> Any:
        question: Any = ChainQuestion(self.chain)
        if pool is not None:
            question = PoolQuestion(self.chain, pool=pool, address=wallet)
        return (await self.runner.answer(reader, question, ReadView())).answer

    async def count(self, reader: Any, pool: str | None = None) -> tuple[Any, int]:
        """The answer, and how many requests asked anything."""
        del self.requests[:]
        found = await self.ask(reader, pool)
        return found, sum(any(group.calls for group in request) for request in self.requests)


def apy(rate: int) -> float:
    """Percent per year of a rate per second, by decimals."""
    growth = (1 + Decimal(rate) / Decimal(WAD)).ln() * YEAR
    return float(growth.exp() * 100 - 100)


USDC = "0xc3d688B66703497DAA19211EEdff47f25384cdc3"
WETH = "0xA17581A9E3356d9A858b789D68B4d866e593aE94"


async def test_rates_size_and_time_of_a_dollar_market() -> None:
    world = Markets("ethereum")
    row = await world.ask(LENDING, USDC)
    assert row.supply_apy == pytest.approx(apy(contract_rate(SUPPLY, WAD // 2)), rel=1e-9)
    assert row.borrow_apy == pytest.approx(apy(contract_rate(BORROW, WAD // 2)), rel=1e-9)
    assert (row.tvl, row.basis, row.block_height) == (2_000.0, 1, world.block)
    assert row.updated_at.ToDatetime(UTC) == NOON


async def test_a_market_in_ether_is_as_old_as_the_price_of_ether() -> None:
    world = Markets("ethereum")
    row = await world.ask(LENDING, WETH)
    assert row.tvl == 1_000 * 2 * 3_000
    assert row.updated_at.ToDatetime(UTC) == NOON - timedelta(seconds=60)
    assert world.own.asked == []


async def test_a_cold_answer_takes_three_requests_and_warms_the_chain() -> None:
    world = Markets("ethereum")
    assert (await world.count(LENDING, USDC))[1] == 3
    for pool in world.addresses:
        assert (await world.count(LENDING, pool))[1] == 1
        assert (await world.count(BALANCE, pool))[1] == 1
    rows, requests = await world.count(BEST)
    assert requests == 1
    assert [one.row.pool for one in rows] == world.addresses


async def test_each_row_of_all_is_that_of_its_own_market() -> None:
    world = Markets("ethereum")
    for place, market in enumerate(world.addresses):
        world.figures(market, WAD * place // 5, 10**6 * (place + 1))
    for place, (row, symbols) in enumerate(await world.ask(BEST)):
        alone = await world.ask(LENDING, row.pool)
        assert (row.apy, row.tvl, row.updated_at) == (alone.supply_apy, alone.tvl, alone.updated_at)
        assert row.block_height == alone.block_height
        assert symbols == (f"T{place}",)
        assert (row.chain, row.protocol, row.type) == ("", 0, 0)


@pytest.mark.parametrize("utilization", [0, 1, 9 * 10**17, 9 * 10**17 + 1, WAD, 2 * WAD])
async def test_utilisation_from_none_to_above_all(utilization: int) -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.figures(market, utilization)
    row = await world.ask(LENDING, market)
    assert row.supply_apy == pytest.approx(apy(contract_rate(SUPPLY, utilization)), rel=1e-9, abs=1e-12)
    assert row.borrow_apy == pytest.approx(apy(contract_rate(BORROW, utilization)), rel=1e-9)


async def test_an_empty_market_has_rates_of_nothing_and_no_size() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.figures(market, 0, 0)
    row = await world.ask(LENDING, market)
    assert (row.supply_apy, row.tvl) == (0.0, 0.0)
    assert row.HasField("supply_apy")
    assert row.HasField("tvl")
    assert row.borrow_apy == pytest.approx(apy(BORROW[1]), rel=1e-9)


@pytest.mark.parametrize("price", [0, None])
async def test_without_the_markets_own_price_values_are_unknown_and_rates_are_not(price: int | None) -> None:
    world = Markets("ethereum")
    world.price(USDC, {} if price is None else {FEED: price})
    row = await world.ask(LENDING, USDC)
    assert not row.HasField("tvl")
    assert row.supply_apy > 0
    balance = await world.ask(BALANCE, USDC)
    assert dict(balance.balance.amounts) == {"T0": 12.345678}
    assert not balance.balance.HasField("usd")
    [first, second, *_] = await world.ask(BEST)
    assert not first.row.HasField("tvl")
    assert first.row.apy == row.supply_apy
    assert second.row.tvl == 6_000_000
    assert world.own.asked == []


class Dead(NamedTuple):
    """A way in which the feed of ether is none."""

    answer: int = 3_000 * 10**8
    at: int = NOW - 60
    decimals: int = 8


DEAD = {
    "zero": Dead(answer=0),
    "negative": Dead(answer=-1),
    "an hour and more late": Dead(at=NOW - 7_201),
    "no time": Dead(at=0),
    "a time to come": Dead(at=NOW + 601),
    "a time beyond the calendar": Dead(at=2**255),
    "decimals beyond reason": Dead(decimals=37),
}


@pytest.mark.parametrize("case", [*DEAD, "reverts", "no code"])
async def test_a_feed_of_the_unit_that_is_not_live_leaves_it_to_the_gateways_own_price(case: str) -> None:
    world = Markets("ethereum")
    [feed] = world.feeds("ETH")
    if case in DEAD:
        world.feed("ETH", *DEAD[case])
    elif case == "reverts":
        world.remove(feed, "latestRoundData()")
    else:
        world.functions = {key: value for key, value in world.functions.items() if key[0] != feed.lower()}
    earlier = NOON - timedelta(minutes=9)
    for own in (None, Price(Decimal("2999.5"), earlier, ("x",))):
        world.own.prices = {} if own is None else {world.base_of(WETH): own}
        row, balance = await world.ask(LENDING, WETH), await world.ask(BALANCE, WETH)
        # The own price is of the asset itself: what the market makes of it does not count.
        assert (row.tvl if row.HasField("tvl") else None) == (None if own is None else 2_999_500.0)
        assert balance.balance.HasField("usd") is (own is not None)
        assert row.updated_at.ToDatetime(UTC) == (NOON if own is None else earlier)
        assert row.supply_apy > 0
    assert set(world.own.asked) == {("ethereum", world.base_of(WETH))}
    _, requests = await world.count(LENDING, WETH)
    assert requests == 1


@pytest.mark.parametrize(("since", "answer", "runs"), [(10**6, 0, True), (10**6, 1, False), (3_599, 0, False)])
async def test_behind_a_sequencer_that_does_not_run_no_feed_is_live(since: int, answer: int, runs: bool) -> None:
    world = Markets("base")
    [weth] = [one for one in world.addresses if unit_of("base", one) == "ETH"]
    world.round(load_price_table().sequencers["base"].address, answer, NOW - since)
    row = await world.ask(LENDING, weth)
    assert row.HasField("tvl") is runs
    assert world.own.asked == ([] if runs else [("base", world.base_of(weth))])


NEW_SUPPLY, NEW_BORROW = (8 * 10**17, 3, *SUPPLY[2:]), (*BORROW[:3], BORROW[3] // 2)


@pytest.mark.parametrize(("supply", "borrow"), [(NEW_SUPPLY, BORROW), (SUPPLY, NEW_BORROW), (NEW_SUPPLY, NEW_BORROW)])
async def test_another_curve_costs_one_request_once(supply: Any, borrow: Any) -> None:
    world = Markets("polygon")
    [market, other] = world.addresses
    before = await world.ask(LENDING, market)
    world.figures(market, 95 * 10**16)
    world.curves(market, supply, borrow)
    assert (await world.count(LENDING, other))[1] == 1
    row, requests = await world.count(LENDING, market)
    assert requests == 2
    assert row.supply_apy == pytest.approx(apy(contract_rate(supply, 95 * 10**16)), rel=1e-9)
    assert row.borrow_apy == pytest.approx(apy(contract_rate(borrow, 95 * 10**16)), rel=1e-9)
    assert row.tvl == before.tvl
    assert await world.count(LENDING, market) == (row, 1)
    assert (await world.count(BEST))[1] == 1


async def test_curves_of_several_markets_change_at_once() -> None:
    world = Markets("ethereum")
    await world.ask(BEST)
    for place, market in enumerate(world.addresses[1:4]):
        world.curves(market, (*SUPPLY[:1], 1_000 * (place + 1), *SUPPLY[2:]))
    rows, requests = await world.count(BEST)
    assert requests == 2
    for one in rows:
        assert one.row.apy == (await world.ask(LENDING, one.row.pool)).supply_apy
    assert len({one.row.apy for one in rows}) == 4


async def test_another_feed_is_asked_for_its_price_in_the_same_request() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    await world.ask(BALANCE, market)
    world.put(market, "baseTokenPriceFeed()", "address", OTHER_FEED)
    world.price(market, {FEED: 2 * 10**8, OTHER_FEED: 5 * 10**8})
    row, requests = await world.count(BALANCE, market)
    assert requests == 2
    assert row.balance.usd == pytest.approx(12.345678 * 5)
    assert await world.count(BALANCE, market) == (row, 1)


async def test_another_asset_is_read_anew() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    await world.ask(BALANCE, market)
    token = checksum_address(address(0xC0C0))
    world.token(token, "NEW", 18)
    world.put(market, "baseToken()", "address", token)
    world.put(market, "baseTokenPriceFeed()", "address", OTHER_FEED)
    world.price(market, {OTHER_FEED: 10**8})
    world.put(market, "balanceOf(address)", "uint256", 10**18)
    row = await world.ask(BALANCE, market)
    assert dict(row.balance.amounts) == {"NEW": 1.0}
    assert row.balance.usd == 1.0


async def test_a_market_that_computes_otherwise_is_no_answer() -> None:
    """Its parameters are what they were, its rates are not: whatever they are made of now, it is not known here."""
    world = Markets("polygon")
    [market, other] = world.addresses
    await world.ask(LENDING, market)
    world.put(market, "getBorrowRate(uint256)", "uint64", 77)
    with pytest.raises(ContractUnreadable, match=f"{market} on polygon does not compute interest by its own"):
        await world.ask(LENDING, market)
    broken, sound = await world.ask(BEST)
    assert math.isnan(broken.row.apy)
    assert (broken.row.pool, sound.row.pool) == (market, other)
    assert sound.row.apy > 0


@given(
    st.tuples(
        st.integers(0, 2**63),
        st.integers(0, 2**40),
        st.integers(0, 2**40),
        st.integers(0, 2**40),
    ),
    st.integers(0, 2**70),
)
def test_the_curve_is_the_contracts_to_the_unit(parameters: tuple[int, int, int, int], utilization: int) -> None:
    assert Curve(*parameters).rate(utilization) == contract_rate(parameters, utilization)


@given(
    st.tuples(st.integers(1, 2 * WAD), *[st.integers(0, 2**40)] * 3),
    st.integers(0, 3),
    st.integers(1, 2**39),
    st.lists(st.integers(0, 4 * WAD), max_size=20),
)
def test_a_curve_with_one_other_parameter_shows_at_the_points(
    parameters: tuple[int, int, int, int], place: int, more: int, utilizations: list[int]
) -> None:
    """Either the kink differs, which is read by itself, or a value does, or the two say the same to a unit."""
    kept = Curve(*parameters)
    other = tuple(number + more * (i == place) for i, number in enumerate(parameters))
    is_seen = other[0] != kept.kink or any(contract_rate(other, point) != kept.rate(point) for point in kept.points)
    if not is_seen:
        assert place == 2
        for utilization in utilizations:
            true = Fraction(contract_rate(other, utilization))
            assert abs(true - kept.rate(utilization)) <= 1 + Fraction(utilization, kept.kink)
    # What governance may set is seen: slopes are percents per year, kinks above a tenth.
    if place != 2 or (kept.kink > WAD // 10 and more > 10):
        assert is_seen


@pytest.mark.parametrize("cold", [True, False])
async def test_a_market_that_does_not_answer_costs_the_others_nothing(cold: bool) -> None:
    world = Markets("polygon")
    [market, other] = world.addresses
    if not cold:
        await world.ask(BEST)
    there = dict(world.functions)
    world.functions = {key: value for key, value in there.items() if key[0] != market.lower()}
    with pytest.raises(ContractUnreadable, match=f"contract {market} on polygon .*no contract is there"):
        await world.ask(LENDING, market)
    assert (await world.count(LENDING, other))[1] == 1
    rows, requests = await world.count(BEST)
    assert requests == 1
    assert [math.isnan(one.row.apy) for one in rows] == [True, False]
    world.functions = there
    rows = await world.ask(BEST)
    assert [math.isnan(one.row.apy) for one in rows] == [False, False]
    assert (await world.count(LENDING, market))[1] == 1


@pytest.mark.parametrize("signature", ["symbol()", "decimals()"])
async def test_an_asset_that_does_not_say_what_it_is_holds_up_its_own_market_alone(signature: str) -> None:
    world = Markets("polygon")
    [market, other] = world.addresses
    token = world.base_of(market)
    world.remove(token, signature)
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable, match=token):
            await world.ask(LENDING, market)
        assert (await world.count(LENDING, other))[1] == 1
    world.token(token, "T0", 6)
    assert (await world.ask(LENDING, market)).tvl == 2_000.0


async def test_where_no_market_answers_there_is_no_list() -> None:
    world = Markets("polygon")
    for market in world.addresses:
        world.remove(market, "getUtilization()")
    with pytest.raises(ContractUnreadable, match="getUtilization"):
        await world.ask(BEST)


@pytest.mark.parametrize("chain", CHAINS)
async def test_a_pool_is_a_market_of_its_chain(chain: str) -> None:
    world = Markets(chain)
    others = {one for slug in CHAINS for one in market_addresses(slug)} - set(world.addresses)
    for pool in (*others, WALLET, "0x0000000000000000000000000000000000000000"):
        for reader in (LENDING, BALANCE):
            with pytest.raises(NotFound, match=f"no such pool of lend-b on {chain}"):
                await world.ask(reader, pool)
    assert world.requests == []
    first = world.addresses[0]
    near = first[:-1] + ("0" if first[-1] != "0" else "1")
    with pytest.raises(NotFound, match=f"nearest .*{first}"):
        await world.ask(LENDING, near)


async def test_a_pool_is_no_market_when_the_chain_is_warm_either() -> None:
    world = Markets("polygon")
    await world.ask(BEST)
    with pytest.raises(NotFound):
        await world.ask(LENDING, WALLET)


async def test_one_address_is_two_markets() -> None:
    shared = set(market_addresses("arbitrum")) & set(market_addresses("base"))
    assert shared == {"0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf"}
    assert {unit_of(chain, one) for chain in ("arbitrum", "base") for one in shared} == {"USD"}


@pytest.mark.parametrize("symbol", ["USD", "usd", "UsD"])
async def test_an_asset_called_usd_stands_under_its_address(symbol: str) -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.token(world.base_of(market), symbol, 6)
    found = (await world.ask(BALANCE, market)).balance
    assert dict(found.amounts) == {world.base_of(market): 12.345678}
    assert found.usd == pytest.approx(24.691356)


async def test_a_wallet_with_nothing_is_a_row_of_zeros() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.put(market, "balanceOf(address)", "uint256", 0)
    found = (await world.ask(BALANCE, market)).balance
    assert dict(found.amounts) == {"T0": 0.0}
    assert found.HasField("usd")
    assert found.usd == 0.0


async def test_the_largest_numbers_are_answered_or_refused() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.figures(market, WAD // 2, 2**256 - 1)
    world.price(market, {FEED: 2**256 - 1})
    assert math.isfinite((await world.ask(LENDING, market)).tvl)
    world.figures(market, 2**256 - 1)
    with pytest.raises(ContractUnreadable, match="figures that cannot be"):
        await world.ask(LENDING, market)
    rows = await world.ask(BEST)
    assert [math.isnan(one.row.apy) for one in rows] == [True, False]


WORDS = (0, 1, 2**64 - 1, 2**64, 2**128, 2**255, 2**256 - 1)


@settings(max_examples=150)
@given(
    kinds=st.lists(st.sampled_from(["nothing", "fails", "word", "cut"]), min_size=1, max_size=3),
    word=st.sampled_from(WORDS),
    every=st.integers(1, 25),
    first=st.integers(0, 25),
    is_warm=st.booleans(),
    reader=st.sampled_from(["lending", "balance", "best"]),
)
async def test_what_is_spoilt_is_an_answer_or_names_what_failed(
    kinds: list[str], word: int, every: int, first: int, is_warm: bool, reader: str
) -> None:
    world = Markets("optimism")
    market = world.addresses[-1]
    pool = None if reader == "best" else market
    asked: Any = {"lending": LENDING, "balance": BALANCE, "best": BEST}[reader]
    if is_warm:
        await world.ask(asked, pool)
    calls = [first]

    def spoil(call: ContractCall, outcome: ContractOutcome) -> ContractOutcome:
        calls[0] += 1
        if calls[0] % every:
            return outcome
        kind = kinds[calls[0] % len(kinds)]
        if kind == "fails":
            return REVERTS
        data = {"nothing": b"", "word": word.to_bytes(32, "big"), "cut": outcome.data[:31]}[kind]
        return outcome._replace(data=data)

    world.spoil = spoil
    try:
        found = await world.ask(asked, pool)
    except UpstreamUnavailable:
        return
    assert "inf" not in str(found)
