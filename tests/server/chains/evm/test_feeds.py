"""What the answers of price feeds say, and which of them say nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from server.catalog.feeds import Feed, load_price_table
from server.chains.capabilities.contracts import Quote
from server.chains.evm.feeds import KINDS
from server.contracts.address import checksum_address

LONGEST_LIFETIME = 10 * 24 * 3600
ROUND = ["uint80", "int256", "uint256", "uint256", "uint80"]
PYTH = ["int64", "uint64", "int32", "uint256"]


def chainlink(answer: int, told_at: int, decimals: int = 8) -> Quote | None:
    return KINDS["chainlink"].read([encode(["uint8"], [decimals]), encode(ROUND, [7, answer, 1, told_at, 7])])


def pyth(price: int, confidence: int, exponent: int, told_at: int = 9) -> Quote | None:
    return KINDS["pyth"].read([encode(PYTH, [price, confidence, exponent, told_at])])


def test_an_aggregators_answer_is_shifted_by_its_decimals():
    assert chainlink(251_234_567_891, 1_700_000_000) == Quote(Decimal("2512.34567891"), 1_700_000_000)
    assert chainlink(5, 9, decimals=18) == Quote(Decimal("5E-18"), 9)


@pytest.mark.parametrize(("answer", "told_at"), [(0, 9), (-5, 9), (5, 0)])
def test_an_aggregator_without_a_price_tells_none(answer: int, told_at: int):
    assert chainlink(answer, told_at) is None


def test_a_price_by_id_is_shifted_by_its_exponent():
    assert pyth(6_250_000, 6_250, -8) == Quote(Decimal("0.0625"), 9)
    assert pyth(3, 0, 2) == Quote(Decimal(300), 9)


@pytest.mark.parametrize(
    ("price", "confidence", "exponent"), [(0, 0, -8), (-1, 0, -8), (100, 11, -8), (100, 1, -100), (100, 1, 100)]
)
def test_a_disputed_or_absurd_price_by_id_is_none(price: int, confidence: int, exponent: int):
    assert pyth(price, confidence, exponent) is None


def test_a_lending_markets_oracle_states_its_unit_and_no_time():
    read = KINDS["lending_oracle"].read
    assert read([encode(["uint256"], [10**8]), encode(["uint256"], [18_750_000_000])]) == Quote(Decimal("187.5"), None)
    assert read([encode(["uint256"], [10**8]), encode(["uint256"], [0])]) is None
    assert read([encode(["uint256"], [0]), encode(["uint256"], [5])]) is None


@pytest.mark.parametrize(("answer", "since", "is_up"), [(0, 5, True), (1, 5, False), (2, 5, False), (0, 0, False)])
def test_a_sequencer_runs_if_its_feed_says_zero(answer: int, since: int, is_up: bool):
    quote = KINDS["sequencer"].read([encode(ROUND, [1, answer, since, 9, 1])])
    assert quote == (Quote(Decimal(1), since) if is_up else None)


@given(kind=st.sampled_from(sorted(KINDS)), answers=st.lists(st.binary(max_size=200), min_size=2, max_size=2))
def test_garbage_is_no_price_or_a_value_error(kind: str, answers: list[bytes]):
    try:
        quote = KINDS[kind].read(answers)
    except ValueError:
        return
    assert quote is None or quote.price > 0


def test_the_catalogue_asks_kinds_that_exist_at_checksummed_addresses():
    catalogue = load_price_table()
    feeds: list[Feed] = [feed for feeds in catalogue.feeds.values() for feed in feeds]
    for feed in (*feeds, *catalogue.sequencers.values()):
        assert feed.kind in KINDS
        assert checksum_address(feed.address.lower()) == feed.address
        assert not feed.asset or checksum_address(feed.asset.lower()) == feed.asset
        assert len(KINDS[feed.kind].calls(feed)) in (1, 2)
        assert 0 < feed.lifetime <= LONGEST_LIFETIME
        assert not feed.times or any(one.publisher == feed.publisher for one in catalogue.feeds[feed.times])


def test_a_feed_is_live_for_its_heartbeat_and_an_hour_or_for_25_hours_where_that_is_unknown():
    feeds = load_price_table().feeds
    reported = {(feed.kind, feed.chain): feed.lifetime for feed in (*feeds["ETH"], *feeds["HYPE"], *feeds["MRE7YIELD"])}
    assert reported[("chainlink", "base")] == 1200 + 3600
    # Nobody promises Pyth's next report.
    assert reported[("pyth", "arbitrum")] == reported[("pyth", "hyperliquid")] == 7200
    assert feeds["HYPE"][0].lifetime == 25 * 3600
    assert [feed.lifetime for feed in feeds["ETH"] if feed.chain == "ethereum"] == [2 * 3600]
    assert {feed.lifetime for feed in feeds["MRE7YIELD"]} == {8 * 24 * 3600 + 3600}
