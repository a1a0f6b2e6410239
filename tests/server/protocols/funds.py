"""Feeds of funds that answer as a test has them answer, and readers over them with prices and documents of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from server.apis.documents import Document
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.prices import Price
from server.protocols.runner import Runner
from server.protocols.tables import TableStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.server.protocols.scripted import World

MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11"
NOW = 1_800_000_000
DAY = 86_400
ROUND = "uint80,int256,uint256,uint256,uint80"


@dataclass
class Feed:
    """A data feed with the aggregator behind it, in a world; `put` makes its figures those of the world."""

    world: World
    data_feed: str
    aggregator: str
    rounds: dict[int, tuple[int, int]] = field(default_factory=dict)
    decimals: int = 8
    healthy: int = 30 * DAY
    least: int = 10_000_000
    most: int = 100_000_000_000

    @property
    def latest(self) -> int:
        return max(self.rounds, default=0)

    def put(self, *, now: int = NOW) -> Feed:
        """Answer as the contracts do, at a time."""
        world = self.world
        world.put(MULTICALL, "getCurrentBlockTimestamp()", "uint256", now)
        table = {number: (number, answer, at, at, number) for number, (answer, at) in self.rounds.items()}
        number, answer, _, at, _ = table.get(self.latest, (0, 0, 0, 0, 0))
        world.put(self.aggregator, "decimals()", "uint8", self.decimals)
        world.put(self.aggregator, "latestRoundData()", ROUND, number, answer, at, at, number)
        world.put_for(self.aggregator, "getRoundData(uint80)", ROUND, table)
        world.put(self.aggregator, "minAnswer()", "int192", self.least)
        world.put(self.aggregator, "maxAnswer()", "int192", self.most)
        if self.data_feed:
            world.put(self.data_feed, "aggregator()", "address", self.aggregator)
            world.put(self.data_feed, "healthyDiff()", "uint256", self.healthy)
            world.put(self.data_feed, "minExpectedAnswer()", "int256", self.least)
            world.put(self.data_feed, "maxExpectedAnswer()", "int256", self.most)
            if answer > 0 and self.least <= answer <= self.most and 0 <= now - at <= self.healthy:
                world.put(self.data_feed, "getDataInBase18()", "uint256", answer * 10**18 // 10**self.decimals)
            else:
                world.remove(self.data_feed, "getDataInBase18()")
        return self


def moment(at: int) -> datetime:
    """Return unix seconds as a time."""
    return datetime.fromtimestamp(at, UTC)


class Market:
    """Prices by token; what was asked for is noted."""

    def __init__(self, prices: Mapping[tuple[str, str], str] | None = None, at: int = NOW) -> None:
        self.prices = {token: Price(Decimal(text), moment(at), ("test",)) for token, text in (prices or {}).items()}
        self.asked: list[tuple[str, str]] = []

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Price]:
        self.asked += tokens
        return {token: self.prices[token] for token in tokens if token in self.prices}


class Shelf:
    """Documents by key; without one the source fails."""

    def __init__(self, values: Mapping[tuple[Any, ...], Any] | None = None) -> None:
        self.values = dict(values or {})

    async def read(self, request: Any, *, deadline: Any, cache: Any) -> Document:
        if request.key not in self.values:
            raise UpstreamUnavailable("the database is away")
        return Document(self.values[request.key], moment(NOW))


class Asking:
    """Asks readers over one world, with the tables that they have read before."""

    def __init__(self, world: World, market: Market | None = None, kept: Shelf | None = None) -> None:
        self.world = world
        self.market = market or Market()
        self._runner = Runner(lambda _slug, _wanted: world, TableStore(), self.market, kept or Shelf())

    async def ask(self, reader: Any, question: Any) -> Any:
        """Return the answer."""
        return (await self._runner.answer(reader, question, ReadView())).answer

    async def count(self, reader: Any, question: Any) -> tuple[Any, int]:
        """Return the answer and the requests that it took."""
        del self.world.requests[:]
        return await self.ask(reader, question), len(self.world.requests)
