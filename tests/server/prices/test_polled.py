"""How often an off-chain source is asked, and what is reported while it is slow, dead or old."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from server.errors import UpstreamUnavailable
from server.prices.polled import PolledPrices
from server.prices.source import Observation
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import Sequence

START = 1_800_000_000.0


class Clocks:
    """A monotonic clock and the time of day, which a test moves together."""

    def __init__(self) -> None:
        self.passed = 0.0

    def clock(self) -> float:
        return 1000.0 + self.passed

    def wall(self) -> float:
        return START + self.passed


class FakeApi:
    """Tells one price, as of now, or whatever else a test wants of it."""

    name = "fake"
    lifetime = 600.0

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self.asked = 0
        self.failure: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.ahead = 0.0

    async def fetch(self, deadline: float) -> Sequence[Observation]:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        told_at = datetime.fromtimestamp(self._clocks.wall() + self.ahead, UTC)
        return [
            Observation("BTC", "fake", Decimal(self.asked), told_at),
            Observation("ETH", "fake", Decimal(7), told_at),
        ]


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def api(clocks: Clocks) -> FakeApi:
    return FakeApi(clocks)


@pytest.fixture
def sheet(api: FakeApi, clocks: Clocks) -> PolledPrices:
    return PolledPrices(api, clock=clocks.clock, wall=clocks.wall)


async def values(
    sheet: PolledPrices, clocks: Clocks, use: CacheContext | None = None, waits_until: float = 5.0
) -> list[Decimal]:
    return [one.value for one in await sheet.read({"BTC"}, clocks.clock() + waits_until, use)]


async def test_one_request_serves_everybody_for_a_minute(sheet: PolledPrices, api: FakeApi, clocks: Clocks):
    reported = await asyncio.gather(*(values(sheet, clocks) for _ in range(20)))
    assert reported == [[Decimal(1)]] * 20
    assert [one.value for one in await sheet.read({"ETH", "SOL"}, clocks.clock() + 5, None)] == [Decimal(7)]
    clocks.passed = 59.0
    assert await values(sheet, clocks) == [Decimal(1)]
    assert api.asked == 1
    clocks.passed = 60.0
    assert await values(sheet, clocks) == [Decimal(2)]
    assert api.asked == 2


async def test_the_caller_learns_what_came_out_of_the_cache(sheet: PolledPrices, api: FakeApi, clocks: Clocks):
    first, second, bypassing = CacheContext(), CacheContext(), CacheContext(bypass=True)
    await values(sheet, clocks, first)
    await values(sheet, clocks, second)
    assert await values(sheet, clocks, bypassing) == [Decimal(2)]
    assert (first.status, second.status, bypassing.status) == ("miss", "hit", "bypass")


async def test_without_a_cache_every_read_asks(api: FakeApi, clocks: Clocks):
    sheet = PolledPrices(api, kept_seconds=0.0, clock=clocks.clock, wall=clocks.wall)
    assert [await values(sheet, clocks) for _ in range(3)] == [[Decimal(1)], [Decimal(2)], [Decimal(3)]]


async def test_a_failing_source_is_left_alone_for_a_moment_and_what_it_reported_counts(
    sheet: PolledPrices, api: FakeApi, clocks: Clocks
):
    assert await values(sheet, clocks) == [Decimal(1)]
    api.failure = UpstreamUnavailable("fake is away")
    clocks.passed = 61.0
    with capture_logs() as logs:
        for _ in range(3):
            assert await values(sheet, clocks) == [Decimal(1)]
        assert api.asked == 2
        clocks.passed = 67.0
        assert await values(sheet, clocks) == [Decimal(1)]
    assert api.asked == 3
    # The same reason is not reported twice.
    assert [line["why"] for line in logs] == ["fake is away"]
    clocks.passed = 599.0
    assert await values(sheet, clocks) == [Decimal(1)]
    clocks.passed = 601.0
    assert await values(sheet, clocks) == []
    api.failure = None
    clocks.passed = 610.0
    assert await values(sheet, clocks) == [Decimal(api.asked)]


async def test_a_slow_source_costs_one_caller_its_patience_and_serves_the_next(
    sheet: PolledPrices, api: FakeApi, clocks: Clocks
):
    api.gate = asyncio.Event()
    assert await values(sheet, clocks, waits_until=0.05) == []
    assert await values(sheet, clocks, waits_until=0.05) == []
    # By now it has kept others waiting for long enough.
    clocks.passed = 2.0
    began = time.monotonic()
    assert await values(sheet, clocks, waits_until=5.0) == []
    assert time.monotonic() - began < 5.0
    api.gate.set()
    await asyncio.sleep(0.01)
    assert await values(sheet, clocks) == [Decimal(1)]
    assert api.asked == 1


async def test_a_caller_who_leaves_does_not_take_the_request_along(sheet: PolledPrices, api: FakeApi, clocks: Clocks):
    api.gate = asyncio.Event()
    leaving = asyncio.create_task(values(sheet, clocks))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    api.gate.set()
    assert await values(sheet, clocks) == [Decimal(1)]
    assert api.asked == 1


async def test_a_price_of_the_future_is_none(sheet: PolledPrices, api: FakeApi, clocks: Clocks):
    api.ahead = 300.0
    assert await values(sheet, clocks) == [Decimal(1)]
    api.ahead = 3600.0
    clocks.passed = 60.0
    assert await values(sheet, clocks) == []


async def test_closing_gives_up_what_is_in_flight(sheet: PolledPrices, api: FakeApi, clocks: Clocks):
    api.gate = asyncio.Event()
    assert await values(sheet, clocks, waits_until=0.01) == []
    await sheet.close()
    await sheet.close()
