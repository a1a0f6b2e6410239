"""Markets of lend-b with rates, prices and feeds, for its readers of yields: no node; every request is counted."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from eth_abi.abi import decode, encode

from server.catalog.feeds import load_price_table
from server.chains.view import ReadView
from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.protocols.compound_v3.tables import market_addresses
from server.protocols.compound_v3.yields import YIELDS
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolQuestion
from tests.server.protocols.scripted import World, address

if TYPE_CHECKING:
    from server.prices import Price

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
