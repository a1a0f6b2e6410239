"""What nodes say when they refuse a range, and what is made of it: advice, limits of endpoints, the pace of a page.

The messages are those that nodes really send.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.logs.limits import (
    CEILING,
    RELEARN_SECONDS,
    LogRanges,
    Pace,
    Plan,
    read_limit,
)
from server.chains.evm.node_errors import EvmErrors
from server.errors import RangeAdvice, RangeHint, RangeTooLarge, UpstreamUnavailable
from server.upstream.verdicts import Verdict
from tests.each import each

LASTING = [
    ("block range is too wide (maximum 1024)", 1024),
    ("query exceeds max block range 100000", 100_000),
    ("exceed max block range: 5000", 5000),
    ("exceed maximum block range: 50000", 50_000),
    ("exceed maximum block range 1000", 1000),
    ("maximum block range: 2000", 2000),
    ("Max range: 800", 800),
    ("block range is larger than max block range, block range = 30000, max block range = 10000", 10_000),
    ("requested too many blocks from 1 to 5000, maximum is set to 2048", 2048),
    ("eth_getLogs is limited to a 10,000 range", 10_000),
    ("eth_getLogs and eth_newFilter are limited to a 10,000 blocks range", 10_000),
    ("eth_getLogs is limited to 1000 block range", 1000),
    ("eth_getLogs is limited to 0 - 10000 blocks range", 10_000),
    ("exceeds the range allowed for your plan (20000 > 2000)", 2000),
    ("please limit the query to at most 1000 blocks", 1000),
    ("Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range", 10),
    ("block range is too large, max is 10k blocks", 10_000),
    ("range is too large, max is 1k blocks", 1000),
    ("maximum [from, to] blocks distance: 500", 500),
    ("Maximum allowed number of requested blocks is 3000", 3000),
    ("range 1000000 exceeds limit of 10000", 10_000),
    ("block range too large (2500), maximum allowed is 2000 blocks", 2000),
    ("Block range too large: maximum allowed is 1000 blocks", 1000),
    ("eth_getLogs block range too large, range: 855077, max: 3500", 3500),
    ("range 9009594 is bigger than range limit 2000", 2000),
    ("ranges over 10000 blocks are not supported on freetier", 10_000),
    (
        "Block range 20001 exceeds the maximum of 10000 blocks per logs request. "
        "Use a narrower fromBlock/toBlock range or increase Receipt.MaxBlockDepth.",
        10_000,
    ),
]
PASSING = [
    ("query returned more than 10000 results. Try with this block range [0x100, 0x1ff].", 256),
    (
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the "
        "response size. Based on your parameters, this block range should work: [0x10, 0x1f]",
        16,
    ),
    ("query exceeds max results 20000, retry with the range 100-149", 50),
    ("query returned more than 10000 results", None),
    ("logs matched by query exceeds limit of 10000", None),
    ("log response size exceeded", None),
    ("response size should not greater than 10000000 bytes", None),
    ("backend response too large", None),
    ("Response is too big", None),
    ("response too large", None),
    ("query must be smaller than size 50000", None),
    ("too many results, try paginating", None),
    ("Too many logs requested. Max logs per response is 20000.", None),
    ("query returns too many logs, narrow your filter: 20000", None),
]
VAGUE = [
    "block range too large",
    "block range is too large",
    "Block range limit exceeded",
    "block range is too wide",
    "Requested range exceeds maximum RPC range limit",
]


@pytest.mark.parametrize(("message", "blocks"), LASTING)
def test_a_limit_of_blocks_lasts(message: str, blocks: int) -> None:
    assert read_limit(message) == RangeAdvice("blocks", blocks)


@pytest.mark.parametrize(("message", "blocks"), PASSING)
def test_a_limit_of_results_holds_for_this_range_only(message: str, blocks: int | None) -> None:
    advice = read_limit(message)
    assert advice is not None
    assert (advice.hint, advice.blocks) == ("results" if blocks is None else "window", blocks)


@pytest.mark.parametrize("message", [*VAGUE, "something else entirely", ""])
def test_a_refusal_without_a_number_names_none(message: str) -> None:
    assert read_limit(message) is None


@each(product([*(text for text, _ in LASTING + PASSING), *VAGUE], [-32000, -32005, -32600, -32602, -32614, -32012, 35]))
def test_every_one_of_them_is_a_refusal_of_the_range(message: str, code: int) -> None:
    judged = EvmErrors().classify(200, code, message, None)
    assert isinstance(judged.error, RangeTooLarge)
    assert judged.verdict is Verdict.ELSEWHERE
    assert judged.error.advice == read_limit(message)


@pytest.mark.parametrize(
    "message", ["retry with the range 9-1", "this block range should work: [0x5, 0x1]", "max range: 0"]
)
def test_advice_that_makes_no_sense_is_not_taken(message: str) -> None:
    advice = read_limit(message)
    assert advice is not None
    assert advice.blocks is None


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def refusal(blocks: int | None, hint: RangeHint = "blocks") -> RangeTooLarge:
    return RangeTooLarge("refused", advice=RangeAdvice(hint, blocks))


def test_learnt_ranges_steer_to_the_widest_endpoint_and_are_forgotten() -> None:
    clock = Clock()
    ranges = LogRanges(lambda: ["a", "b"], clock)
    assert ranges.plan() == Plan(None, CEILING)
    assert ranges.note({"a": refusal(1000)}).blocks == 1000
    assert ranges.plan() == Plan("b", CEILING)
    ranges.note({"b": refusal(5000)})
    assert ranges.plan() == Plan("b", 5000)
    assert (ranges.limit("a"), ranges.limit("b")) == (1000, 5000)
    clock.now += RELEARN_SECONDS
    assert ranges.plan() == Plan(None, CEILING)


def test_a_refusal_of_results_teaches_no_limit() -> None:
    ranges = LogRanges(lambda: ["a"], Clock())
    noted = ranges.note({"a": refusal(64, "window")})
    assert (noted.blocks, noted.vague) == (64, set())
    assert ranges.note({"a": refusal(None, "results")}).vague == set()
    assert ranges.note({"a": UpstreamUnavailable("what?")}).vague == {"a"}
    assert ranges.limit("a") is None


def test_the_pace_grows_over_empty_blocks_and_shrinks_over_full_ones() -> None:
    pace = Pace(10, 1000, 1000)
    pace.found(10, 0, 1000)
    assert pace.span == 80
    pace.found(80, 800, 200)
    assert pace.span == 25
    pace.found(25, 5000, 1)
    assert pace.span == 1


@given(st.integers(1, 10**6), st.none() | st.integers(1, 10**7))
def test_a_refused_span_always_becomes_smaller(blocks: int, advised: int | None) -> None:
    pace = Pace(blocks, CEILING, 1000)
    if pace.refused(blocks, advised):
        assert 1 <= pace.span < blocks
        assert pace.span == pace.most
    else:
        assert blocks == 1


def test_halving_ends_at_one_block() -> None:
    pace, questions = Pace(10_000, CEILING, 1000), 0
    while pace.refused(pace.span, None):
        questions += 1
    assert (pace.span, questions) == (1, 13)
