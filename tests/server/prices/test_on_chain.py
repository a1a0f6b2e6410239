"""Which of the figures that contracts tell are live: judged by the times that they state, whatever those are."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from server.catalog.feeds import Feed, PriceTable
from server.chains.capabilities.contracts import Quote
from server.prices.on_chain import OnChainFeeds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOW = 1_800_000_000
ADDRESS = "0x" + "11" * 20
SEQUENCER = Feed("sequencer", "arbitrum", ADDRESS)
BROKEN, SOUND = (Feed("chainlink", "ethereum", ADDRESS, lifetime=3600, publisher=name) for name in ("a", "b"))


class Fixed:
    """The chains of a gateway whose feeds tell what a test says."""

    def __init__(self, quotes: Mapping[Feed, Quote]) -> None:
        self.quotes = quotes

    def capability(self, chain: str, wanted: object) -> Fixed:
        return self

    async def read_feeds(self, feeds: Sequence[Feed], view: object) -> list[Quote | None]:
        return [self.quotes.get(feed) for feed in feeds]


async def live(table: PriceTable, quotes: Mapping[Feed, Quote]) -> dict[str, int]:
    """When the live ones of ETH's publishers told it."""
    chains: Any = Fixed(quotes)
    reported = await OnChainFeeds(chains, table, clock=lambda: NOW).read(["ETH"], NOW + 4.0, None)
    return {one.publisher: int(one.told_at.timestamp()) for one in reported}


async def read(told_at: int) -> dict[str, int]:
    """When the live ones of two publishers told ETH's price, the first of them at `told_at`."""
    quotes = {BROKEN: Quote(Decimal(2000), told_at), SOUND: Quote(Decimal(2001), NOW - 5)}
    return await live(PriceTable(feeds={"ETH": (BROKEN, SOUND)}, sequencers={}), quotes)


@pytest.mark.parametrize("ahead", [-3600, 0, 600])
async def test_a_price_counts_for_its_lifetime_and_a_clock_may_be_a_little_ahead(ahead: int) -> None:
    assert await read(NOW + ahead) == {"a": NOW + ahead, "b": NOW - 5}


@pytest.mark.parametrize("told_at", [1, NOW - 3601, NOW + 601, NOW * 1000, 2**63, 2**256 - 1])
async def test_a_time_that_is_not_now_costs_that_feed_alone(told_at: int) -> None:
    assert await read(told_at) == {"b": NOW - 5}


@pytest.mark.parametrize(
    ("runs_for", "counts"), [(None, False), (-900, False), (0, False), (3599, False), (3600, True)]
)
async def test_behind_a_sequencer_that_has_just_begun_to_run_nothing_is_live(
    runs_for: int | None, counts: bool
) -> None:
    behind = Feed("chainlink", "arbitrum", ADDRESS, publisher="a")
    quotes = {behind: Quote(Decimal(2000), NOW - 5), SOUND: Quote(Decimal(2001), NOW - 5)}
    if runs_for is not None:
        quotes[SEQUENCER] = Quote(Decimal(1), NOW - runs_for)
    reported = await live(PriceTable(feeds={"ETH": (behind, SOUND)}, sequencers={"arbitrum": SEQUENCER}), quotes)
    assert set(reported) == ({"a", "b"} if counts else {"b"})
