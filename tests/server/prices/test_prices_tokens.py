"""Prices by chain and address: those of the catalogue by their symbols, others by the sources that know addresses."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from server.catalog.tokens import NATIVE, TokenCatalogue, load_tokens
from server.errors import UpstreamUnavailable
from server.prices.defillama import DefiLlama
from server.prices.polled import PolledTokenPrices
from server.prices.prices import Prices
from server.prices.source import Observation, Token
from server.upstream.cache import CacheContext
from tests.recordings.replay import Replay, replaying
from tests.server.prices.conftest import pool_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

START = 1_800_000_000.0
NOW = datetime.fromtimestamp(START, UTC)
CATALOGUE = load_tokens()
USDC = ("base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
WETH = ("ethereum", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
COMP = ("ethereum", "0xc00e94Cb662C3520282E6f5717214004A7f26888")
CRV = ("avalanche", "0x249848BeCA43aC405b8102Ec90Dd5F22CA513c06")


class BySymbol:
    """A source that tells what a test says by symbol, and keeps what it was asked."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.asked: list[set[str]] = []

    async def read(self, symbols: Collection[str], until: float, use: CacheContext | None) -> list[Observation]:
        self.asked.append(set(symbols))
        return [Observation(one, "feed", Decimal(self.values[one]), NOW) for one in symbols if one in self.values]


class ByAddress:
    """A source that tells what a test says by token, and keeps what it was asked."""

    def __init__(self, publisher: str, values: dict[Token, str]) -> None:
        self.publisher = publisher
        self.values = values
        self.asked: list[set[Token]] = []

    async def read(self, tokens: Collection[Token], until: float, use: CacheContext | None) -> dict[Token, Observation]:
        self.asked.append(set(tokens))
        return {
            one: Observation(one[1], self.publisher, Decimal(self.values[one]), NOW)
            for one in tokens
            if one in self.values
        }


async def values(prices: Prices, *tokens: Token) -> dict[Token, str]:
    return {token: str(price.value) for token, price in (await prices.read_tokens(tokens, deadline=None)).items()}


async def test_tokens_of_the_catalogue_have_the_price_of_their_symbol():
    feeds, others = BySymbol({"ETH": "2500", "USDC": "1.0001"}), ByAddress("other", {WETH: "1", USDC: "2"})
    prices = Prices([feeds], by_address=[others])
    coins = [(slug, NATIVE) for slug in ("ethereum", "base", "linea")]
    priced = await values(prices, WETH, USDC, *coins, WETH)
    assert priced == {WETH: "2500", USDC: "1.0001"} | dict.fromkeys(coins, "2500")
    assert (feeds.asked, others.asked) == ([{"ETH", "USDC"}], [])


@pytest.mark.parametrize(
    ("change", "is_priced"),
    [({}, True), ({"is_priced": False}, False), ({"unverified": "address"}, False), ({"unverified": "decimals"}, True)],
)
async def test_a_token_whose_price_is_not_known_to_fit_has_none(change: dict[str, object], is_priced: bool):
    usdc = CATALOGUE.by_symbol["USDC"]
    rows = tuple(replace(row, **change) if row.chain == "base" else row for row in usdc.deployments)
    catalogue = TokenCatalogue([replace(usdc, deployments=rows), *(one for one in CATALOGUE if one is not usdc)])
    others = ByAddress("other", {USDC: "2"})
    prices = Prices([BySymbol({"USDC": "1"})], catalogue=catalogue, by_address=[others])
    assert await values(prices, USDC) == ({USDC: "1"} if is_priced else {})
    assert others.asked == []


async def test_other_tokens_are_asked_for_by_their_address_and_what_is_not_known_is_absent():
    feeds, others = BySymbol({"ETH": "2500"}), ByAddress("other", {COMP: "45.5"})
    prices = Prices([feeds], by_address=[others])
    priced = await prices.read_tokens([COMP, CRV, WETH, ("nochain", NATIVE)], deadline=None)
    assert {token: (str(price.value), price.sources) for token, price in priced.items()} == {
        COMP: ("45.5", ("other",)),
        WETH: ("2500", ("feed",)),
    }
    assert others.asked == [{COMP, CRV}]
    assert await values(Prices([feeds]), COMP) == {}
    assert await prices.read_tokens([], deadline=None) == {}
    assert len(feeds.asked) == 1


async def test_sources_by_address_that_contradict_each_other_leave_no_price():
    first, second = ByAddress("a", {COMP: "100", CRV: "1"}), ByAddress("b", {COMP: "200", CRV: "1.02"})
    assert await values(Prices([], by_address=[first, second]), COMP, CRV) == {CRV: "1.01"}


class FakeApi:
    """Tells a price of one that counts up, of all tokens but those of avalanche."""

    name = "fake"
    lifetime = 600.0

    def __init__(self) -> None:
        self.passed = 0.0
        self.asked: list[set[Token]] = []
        self.failure: Exception | None = None
        self.gate: asyncio.Event | None = None

    def clock(self) -> float:
        return 1000.0 + self.passed

    def wall(self) -> float:
        return START + self.passed

    async def fetch_tokens(self, tokens: Collection[Token], deadline: float) -> Mapping[Token, Observation]:
        self.asked.append(set(tokens))
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        told_at = datetime.fromtimestamp(self.wall(), UTC)
        value = Decimal(len(self.asked))
        return {one: Observation(one[1], "fake", value, told_at) for one in tokens if one[0] != "avalanche"}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def sheet(api: FakeApi) -> PolledTokenPrices:
    return PolledTokenPrices(api, clock=api.clock, wall=api.wall)


async def priced(
    sheet: PolledTokenPrices, api: FakeApi, *tokens: Token, use: CacheContext | None = None, wait: float = 5.0
):
    return {token: int(one.value) for token, one in (await sheet.read(tokens, api.clock() + wait, use)).items()}


async def test_a_token_is_asked_for_once_a_minute_and_one_that_is_not_known_too(sheet: PolledTokenPrices, api: FakeApi):
    assert await priced(sheet, api, COMP, CRV) == {COMP: 1}
    assert await priced(sheet, api, COMP, CRV) == {COMP: 1}
    assert await priced(sheet, api, COMP, WETH) == {COMP: 1, WETH: 2}
    api.passed = 60.0
    assert await priced(sheet, api, COMP, CRV) == {COMP: 3}
    assert api.asked == [{COMP, CRV}, {WETH}, {COMP, CRV}]


async def test_what_is_asked_for_meanwhile_leaves_in_one_request(sheet: PolledTokenPrices, api: FakeApi):
    api.gate = asyncio.Event()
    reads = [asyncio.create_task(priced(sheet, api, COMP))]
    await asyncio.sleep(0)
    reads += [asyncio.create_task(priced(sheet, api, COMP, token)) for token in (WETH, USDC, WETH)]
    await asyncio.sleep(0.01)
    api.gate.set()
    assert await asyncio.gather(*reads) == [{COMP: 1}, {COMP: 1, WETH: 2}, {COMP: 1, USDC: 2}, {COMP: 1, WETH: 2}]
    assert api.asked == [{COMP}, {WETH, USDC}]


async def test_the_caller_learns_what_came_out_of_the_cache(sheet: PolledTokenPrices, api: FakeApi):
    first, second, bypassing = CacheContext(), CacheContext(), CacheContext(bypass=True)
    assert await priced(sheet, api, COMP, use=first) == {COMP: 1}
    assert await priced(sheet, api, COMP, use=second) == {COMP: 1}
    assert await priced(sheet, api, COMP, use=bypassing) == {COMP: 2}
    assert (first.status, second.status, bypassing.status) == ("miss", "hit", "bypass")


async def test_without_a_cache_every_read_asks(api: FakeApi):
    sheet = PolledTokenPrices(api, kept_seconds=0.0, clock=api.clock, wall=api.wall)
    assert [await priced(sheet, api, COMP) for _ in range(3)] == [{COMP: 1}, {COMP: 2}, {COMP: 3}]


async def test_a_failing_source_is_left_alone_for_a_moment_and_what_it_reported_counts(
    sheet: PolledTokenPrices, api: FakeApi
):
    assert await priced(sheet, api, COMP) == {COMP: 1}
    api.failure = UpstreamUnavailable("fake is away")
    api.passed = 61.0
    for _ in range(3):
        assert await priced(sheet, api, COMP, WETH) == {COMP: 1}
    assert len(api.asked) == 2
    api.passed = 67.0
    assert await priced(sheet, api, COMP) == {COMP: 1}
    assert len(api.asked) == 3
    api.passed = 601.0
    assert await priced(sheet, api, COMP) == {}
    api.failure = None
    api.passed = 610.0
    assert await priced(sheet, api, COMP) == {COMP: len(api.asked)}


async def test_a_slow_source_costs_its_callers_little_and_serves_the_next(sheet: PolledTokenPrices, api: FakeApi):
    api.gate = asyncio.Event()
    assert await priced(sheet, api, COMP, wait=0.05) == {}
    leaving = asyncio.create_task(priced(sheet, api, COMP))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    api.gate.set()
    assert await priced(sheet, api, COMP) == {COMP: 1}
    assert api.asked == [{COMP}]
    api.gate.clear()
    assert await priced(sheet, api, WETH, wait=0.01) == {}
    await sheet.close()
    await sheet.close()


async def test_defillama_is_asked_by_its_own_names_of_chains():
    mint = ("solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
    osmo, odd = ("osmosis", "uosmo"), ("ethereum", "0x1,ethereum:0x2/?")
    rows = {
        f"ethereum:{COMP[1]}": '{"price":45.678901234567891,"timestamp":1799999940,"confidence":0.99}',
        f"avax:{CRV[1]}": '{"price":0.5,"timestamp":1799999940,"confidence":0.3}',
    }
    body = '{"coins":{' + ",".join(f'"{key}":{row}' for key, row in rows.items()) + "}}"
    async with replaying(Replay({"/prices/current/": body})) as replay, pool_of(replay) as pool:
        api = DefiLlama(pool, {"BTC": "coingecko:bitcoin"})
        found = await api.fetch_tokens([COMP, CRV, mint, osmo, odd], time.monotonic() + 5)
        assert await api.fetch_tokens([osmo], time.monotonic() + 5) == {}
    # CRV's confidence is too low.
    moment = datetime.fromtimestamp(1_799_999_940, UTC)
    assert found == {COMP: Observation(COMP[1], "defillama", Decimal("45.678901234567891"), moment)}
    assert replay.asked == [f"/prices/current/ethereum:{COMP[1]},avax:{CRV[1]},solana:{mint[1]}"]
