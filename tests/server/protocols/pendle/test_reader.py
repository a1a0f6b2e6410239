"""yield-a over scripted contracts: what real ones cannot show, and what a wallet's transactions come to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.apis.documents import Document
from server.catalog.protocols import load_address_book
from server.chains.view import ReadView
from server.errors import NotFound, PriceUnavailable, UpstreamUnavailable
from server.prices import Price
from server.protocols.pendle.reader import Entered, ImpliedReader, weigh
from server.protocols.pendle.yields import BalanceReader, BestReader, PriceReader, VaultReader
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion
from server.yields.pendle import MARKETS, Flow, ListedMarket, Transaction
from tests.server.protocols.scripted import NO_CODE, World, address

MARKET = "0x" + "00" * 19 + "A1"
SPLIT, PRINCIPAL, YIELD, ASSET = (address(number) for number in (2, 3, 4, 5))
WALLET = address(6)
NOW, EXPIRY = 1_900_000_000, 1_931_536_000  # a year of 365 days apart
CLOCK = "0xcA11bde05977b3631167028862bE2a173976CA11"
FACTORIES = {
    chain: [one.address for key, one in contracts.items() if key.startswith("marketFactory")]
    for chain, contracts in load_address_book().find_protocol("pendle").contracts.items()
}
STATE = "int256,int256,int256,address,int256,uint256,uint256,uint256,uint256"
READ_AT = datetime(2030, 1, 1, tzinfo=UTC)


class Prices:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.known = {("ethereum", ASSET): Price(Decimal(2), READ_AT, ("test",))}

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> Any:
        self.asked += [tuple(token) for token in tokens]
        return {token: self.known[tuple(token)] for token in tokens if tuple(token) in self.known}


class Documents:
    def __init__(self, found: Any) -> None:
        self.found = found

    async def read(self, request: Any, *, deadline: Any, cache: Any) -> Document:
        if isinstance(self.found, Exception):
            raise self.found
        return Document(self.found, READ_AT, False)


def world(
    *,
    factory: int = -1,
    state: tuple[int, int, int, int] = (50, 50, 100, 10**17),
    rate: int = 10**18,
    backs: int = 10**18,
    asset: tuple[int, str, int] = (0, ASSET, 18),
    symbols: tuple[str, str, str] = ("LP", "PT", "YT"),
    held: tuple[int, int, int] = (10**18, 10**18, 10**18),
    chain: str = "ethereum",
    now: int = NOW,
) -> World:
    """A market: state is (principal, split, liquidity, ln rate) in whole tokens and 18 places."""
    made = World()
    for place, one in enumerate(FACTORIES[chain]):
        is_own = place == factory % len(FACTORIES[chain])
        made.put_for(one, "isValidMarket(address)", "bool", {MARKET.lower(): (is_own,)})
    made.put(MARKET, "readTokens()", "address,address,address", SPLIT, PRINCIPAL, YIELD)
    made.put(MARKET, "expiry()", "uint256", EXPIRY)
    amounts = [amount * 10**18 for amount in state[:3]]
    made.put(MARKET, "readState(address)", STATE, *amounts, SPLIT, 1, EXPIRY, 1, 1, state[3])
    made.put(SPLIT, "exchangeRate()", "uint256", rate)
    made.put(SPLIT, "assetInfo()", "uint8,address,uint8", *asset)
    made.put(YIELD, "pyIndexCurrent()", "uint256", backs)
    made.put(CLOCK, "getCurrentBlockTimestamp()", "uint256", now)
    for token, symbol, amount in zip((MARKET, PRINCIPAL, YIELD), symbols, held, strict=True):
        made.token(token, symbol, 18)
        made.put(token, "balanceOf(address)", "uint256", amount)
    made.token(ASSET, "ASSET", 18)
    return made


async def ask(made: World, reader: Any, *, chain: str = "ethereum", documents: Any = None, prices: Any = None) -> Any:
    runner = Runner(lambda _slug, _wanted: made, TableStore(), prices or Prices(), Documents(documents))
    return (await runner.answer(reader, PoolQuestion(chain, pool=MARKET, address=WALLET), ReadView())).answer


async def test_a_market_without_liquidity_has_no_rate_and_no_price() -> None:
    empty = world(state=(0, 0, 0, 0))
    row = await ask(empty, VaultReader())
    assert not row.HasField("apy")
    assert not row.HasField("basis")
    assert row.tvl == 0
    with pytest.raises(PriceUnavailable, match="nothing was ever traded"):
        await ask(empty, PriceReader())
    assert not (await ask(empty, BalanceReader())).balance.HasField("usd")
    later = world(state=(0, 0, 0, 0), now=EXPIRY)
    assert (await ask(later, VaultReader())).apy == 0
    priced = await ask(later, PriceReader())
    assert priced.price.usd == 2
    assert not priced.HasField("lp_usd")


@pytest.mark.parametrize("seconds", [-1, 0, 1])
async def test_the_last_second(seconds: int) -> None:
    row = await ask(world(now=EXPIRY + seconds), VaultReader())
    priced = await ask(world(now=EXPIRY + seconds), PriceReader())
    assert (row.apy == 0) == (seconds >= 0)
    assert (priced.price.usd == 2) == (seconds >= 0)
    assert row.basis == 3


async def test_a_market_of_any_generation_is_proved_and_of_none_is_404() -> None:
    for place in range(len(FACTORIES["ethereum"])):
        assert (await ask(world(factory=place), VaultReader())).apy > 10
    stranger = world()
    for one in FACTORIES["ethereum"]:
        stranger.put(one, "isValidMarket(address)", "bool", False)
    with pytest.raises(NotFound, match="no such pool of yield-a on ethereum"):
        await ask(stranger, VaultReader())


async def test_a_factory_that_does_not_answer_proves_nothing() -> None:
    for place, one in enumerate(FACTORIES["ethereum"]):
        made = world(factory=place)
        made.remove(one, "isValidMarket(address)")
        with pytest.raises(ContractUnreadable, match=one):
            await ask(made, VaultReader())
        # Another one that fails is no hindrance where the market's own answers.
        others = world(factory=place + 1)
        others.remove(one, "isValidMarket(address)")
        assert (await ask(others, VaultReader())).apy > 10


async def test_the_proof_stands_apart_from_the_markets_own_contracts() -> None:
    made = world()
    for reader in (VaultReader(), BalanceReader(), PriceReader()):
        await ask(made, reader)
        for groups in made.requests:
            for group in groups:
                factories = [call.to in FACTORIES["ethereum"] for call in group.calls]
                assert all(factories) if group.is_known else not any(factories)


@pytest.mark.parametrize(
    ("symbols", "keys"),
    [
        (("LP", "PT", "YT"), ("LP", "PT", "YT")),
        (("USD", "usd", "Usd"), (MARKET, PRINCIPAL, YIELD)),
        (("X", "X", "x"), (MARKET, PRINCIPAL, YIELD)),
        (("", "PT", "YT"), (MARKET, "PT", "YT")),
    ],
)
async def test_names_that_say_nothing_are_addresses(symbols: tuple[str, ...], keys: tuple[str, ...]) -> None:
    row = await ask(world(symbols=symbols), BalanceReader())  # type: ignore[arg-type]
    assert {key.lower() for key in row.balance.amounts} == {key.lower() for key in keys}
    assert set(row.balance.amounts.values()) == {1.0}
    assert row.balance.usd > 0


@pytest.mark.parametrize(
    ("chain", "asset", "has_code", "wanted"),
    [
        ("ethereum", (0, ASSET, 18), False, [("ethereum", ASSET)]),
        ("arbitrum", (0, ASSET, 18), True, [("arbitrum", ASSET)]),
        ("arbitrum", (0, ASSET, 18), False, [("ethereum", ASSET)]),
        ("arbitrum", (0, "0x" + "00" * 20, 18), True, [("arbitrum", "native")]),
        ("ethereum", (1, ASSET, 18), True, []),
        ("arbitrum", (1, ASSET, 18), True, []),
    ],
)
async def test_which_asset_is_priced(
    chain: str, asset: tuple[int, str, int], has_code: bool, wanted: list[tuple[str, str]]
) -> None:
    made = world(chain=chain, asset=asset)
    if not has_code:
        for signature in [key for key in made.functions if key[0] == ASSET]:
            made.functions[signature] = lambda _: NO_CODE
    prices = Prices()
    await ask(made, VaultReader(), chain=chain, prices=prices)
    assert [(slug, one.lower()) for slug, one in prices.asked] == wanted


@pytest.mark.parametrize(
    "broken",
    [
        {"state": (-1, 50, 100, 10**17)},
        {"state": (50, 50, -1, 10**17)},
        {"rate": 0},
        {"backs": 0},
        {"state": (50, 50, 100, 131 * 10**18)},
    ],
    ids=["principal", "liquidity", "rate", "index", "no figure"],
)
async def test_figures_that_cannot_be_are_no_answer(broken: Any) -> None:
    for reader in (VaultReader(), PriceReader(), BalanceReader()):
        with pytest.raises(ContractUnreadable):
            await ask(world(**broken), reader)


async def test_a_worth_beyond_any_figure_is_no_answer() -> None:
    made = world(rate=2**250, backs=2**250, asset=(0, ASSET, 0))
    made.token(MARKET, "LP", 255)
    with pytest.raises(ContractUnreadable):
        await ask(made, PriceReader())


def did(day: int, amount: str, rate: str | None = None, flow: Flow = Flow.IN, action: str = "buyPt") -> Transaction:
    at = datetime.fromtimestamp(EXPIRY, UTC) - timedelta(days=day)
    return Transaction(at, action, flow, Decimal(amount), None if rate is None else Decimal(rate))


def test_one_entry_earns_its_rate_until_expiry() -> None:
    assert weigh([did(365, "10", "1.1")], EXPIRY) == Entered(1.1, pytest.approx(10, rel=1e-14))
    entered = weigh([did(73, "10", "1.02")], EXPIRY)
    assert entered is not None
    assert entered.apy == pytest.approx((1.02**5 - 1) * 100, rel=1e-13)


def test_several_entries_are_weighed_by_what_is_left_of_them() -> None:
    entered = weigh([did(365, "30", "1.1"), did(73, "10", "1.02")], EXPIRY)
    assert entered is not None
    assert entered.rate == pytest.approx(1.08, rel=1e-14)
    assert entered.apy == pytest.approx((3 * 10 + (1.02**5 - 1) * 100) / 4, rel=1e-13)
    # Half is sold in between: what was bought before weighs half, what is bought after weighs whole.
    sold = [did(365, "30", "1.1"), did(200, "15", flow=Flow.OUT, action="sellPt"), did(73, "10", "1.02")]
    later = weigh(sold, EXPIRY)
    assert later is not None
    assert later.rate == pytest.approx((15 * 1.1 + 10 * 1.02) / 25, rel=1e-14)
    assert weigh(list(reversed(sold)), EXPIRY) == later


def test_what_has_no_rate_is_sold_in_proportion_and_counts_for_nothing() -> None:
    rows = [
        did(365, "50", "1.1"),
        did(300, "50", action="mintPy"),
        did(200, "50", flow=Flow.OUT, action="redeemPy"),
        did(100, "25", "1.02"),
    ]
    entered = weigh(rows, EXPIRY)
    assert entered is not None
    assert entered.rate == pytest.approx((25 * 1.1 + 25 * 1.02) / 50, rel=1e-14)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [did(10, "5", action="transferPtIn")],
        [did(10, "5", "1.1"), did(5, "5", flow=Flow.OUT)],
        [did(10, "5", "1.1"), did(5, "5.0000000001", flow=Flow.OUT)],
        [did(10, "5", "1.1"), did(5, "4.999999999999", flow=Flow.OUT)],
        [did(10, "5", "1.1"), did(5, "100", flow=Flow.OUT)],
        [did(-1, "5", "1.1")],
        [did(0, "5", "1.1")],
        [did(10, "0", "1.1")],
        [did(5, "5", flow=Flow.OUT)],
    ],
)
def test_nothing_left_or_no_rate_is_no_entry(rows: list[Transaction]) -> None:
    assert weigh(rows, EXPIRY) is None


@given(
    st.lists(
        st.tuples(
            st.integers(1, 1_000), st.decimals("0.01", "1000000", places=6), st.decimals("1.000001", "3", places=6)
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 99),
)
def test_selling_a_part_of_all_at_the_end_changes_no_average(rows: Any, percent: int) -> None:
    bought = [did(day, str(amount), str(rate)) for day, amount, rate in rows]
    whole = weigh(bought, EXPIRY)
    assert whole is not None
    rates = [float(rate) for _, _, rate in rows]
    assert min(rates) * (1 - 1e-12) <= whole.rate <= max(rates) * (1 + 1e-12)
    part = sum(one.amount for one in bought) * percent / 100
    at = datetime.fromtimestamp(EXPIRY - 1, UTC)
    left = weigh([*bought, Transaction(at, "sellPt", Flow.OUT, Decimal(part), None)], EXPIRY)
    assert left is not None
    assert left.rate == pytest.approx(whole.rate, rel=1e-12)
    assert left.apy == pytest.approx(whole.apy, rel=1e-12)


async def test_a_wallets_row_and_its_time() -> None:
    rows = (did(365, "10", "1.1"),)
    row = await ask(world(now=NOW), ImpliedReader(), documents=rows)
    assert row.days_to_expiry == 365
    assert row.updated_at.ToDatetime(tzinfo=UTC) == READ_AT
    for now, days in ((EXPIRY - 86_400, 1), (EXPIRY - 86_399, 0), (EXPIRY, 0), (EXPIRY + 10**6, 0)):
        row = await ask(world(now=now), ImpliedReader(), documents=rows)
        assert (row.days_to_expiry, row.effective_pt_exchange_rate) == (days, 1.1)
        assert row.implied_apy == pytest.approx(10)


async def test_a_rate_per_year_that_is_no_figure_is_refused() -> None:
    moment = Transaction(datetime.fromtimestamp(EXPIRY - 1, UTC), "buyPt", Flow.IN, Decimal(1), Decimal(2))
    with pytest.raises(UpstreamUnavailable, match="no figure"):
        await ask(world(), ImpliedReader(), documents=(moment,))


async def test_a_wallet_without_an_entry_is_reported_its_actions() -> None:
    rows = (did(5, "0", flow=Flow.NONE, action="buyYt"), did(4, "3", action="mintPy"))
    with pytest.raises(NotFound, match=r"bought no principal tokens at a known rate; .* buyYt, mintPy$") as refused:
        await ask(world(), ImpliedReader(), documents=rows)
    assert refused.value.field == "address"
    with pytest.raises(NotFound, match="no transactions in this market"):
        await ask(world(), ImpliedReader(), documents=())
    sold = (did(9, "5", "1.1"), did(3, "5", flow=Flow.OUT, action="redeemPy"))
    with pytest.raises(NotFound, match=r"nothing is left .* buyPt, redeemPy$"):
        await ask(world(), ImpliedReader(), documents=sold)


async def test_without_the_api_only_what_needs_it_fails() -> None:
    away = UpstreamUnavailable("pendle is away")
    for reader in (VaultReader(), PriceReader(), BalanceReader()):
        await ask(world(), reader, documents=away)
    with pytest.raises(UpstreamUnavailable, match="pendle is away"):
        await ask(world(), ImpliedReader(), documents=away)
    runner = Runner(lambda _slug, _wanted: World(), TableStore(), Prices(), Documents(away))
    with pytest.raises(UpstreamUnavailable, match="pendle is away"):
        await runner.answer(BestReader(), ChainQuestion("ethereum"), ReadView())


async def test_the_comparison_takes_the_chains_own_markets_that_run() -> None:
    def market(number: int, **more: Any) -> ListedMarket:
        row = ListedMarket(1, address(number), f"M{number}", READ_AT + timedelta(days=1), 5.0, 7.5, ())
        return row._replace(**more)

    usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    listed = (
        market(1, assets=(usdc,)),
        market(2, chain_id=10),
        market(3, expiry=READ_AT),
        market(4, implied_apy=None, liquidity=None),
    )
    made = World()
    runner = Runner(lambda _slug, _wanted: made, TableStore(), Prices(), Documents(listed))
    rows = (await runner.answer(BestReader(), ChainQuestion("ethereum"), ReadView())).answer
    assert [row.row.pool for row in rows] == [address(1), address(4)]
    assert rows[0].symbols == ("M1", "USDC")
    assert (rows[0].row.apy, rows[0].row.tvl) == (5.0, 7.5)
    assert rows[1].row.apy != rows[1].row.apy
    assert not rows[1].row.HasField("tvl")
    assert made.requests == []
    assert MARKETS.source == "pendle"
