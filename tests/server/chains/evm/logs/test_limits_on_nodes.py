"""Providers that refuse `eth_getLogs`: what they state is split by, learned, or reported."""

from __future__ import annotations

import itertools
import time

import pytest
from aiohttp import web

from server.chains.evm.logs import scan
from server.chains.view import ReadView
from server.errors import ArchiveRequired, DeadlineExceeded, ResponseTooLarge, UpstreamUnavailable
from tests.server.chains.evm.log_nodes import LOGGER, OTHER_LOGGER, at_most
from tests.server.chains.evm.logs.test_limits import LASTING
from tests.server.chains.evm.logs.world import FIRST, TOPIC, truth, walk, window

pytestmark = pytest.mark.devnet

HINTS = [
    "query returned more than 10000 results. Try with this block range [{hex_low}, {hex_good}].",
    "Log response size exceeded. Based on your parameters, this block range should work: [{hex_low}, {hex_good}]",
    "query exceeds max results 20000, retry with the range {low}-{good}",
    "block range is too wide (maximum {blocks})",
    "block range is too wide",
    "log response size exceeded",
    "Response is too big",
    "Requested range exceeds maximum RPC range limit",
    "Too many logs requested. Max logs per response is 20000.",
    "query timeout exceeded",
    "a refusal that nobody has met so far",
]


# With unknown words, -32005 is taken for throttling.
@pytest.mark.parametrize(("message", "code"), [*itertools.product(HINTS[:-1], [-32005, -32602]), (HINTS[-1], -32000)])
async def test_a_refused_range_is_split_until_it_is_answered(reader, node, fronts, message, code):
    fronts[0].refuse = at_most(3, message, code)
    expected = await truth(node, FIRST, FIRST + 15)
    places, _ = await walk(reader, window(FIRST, FIRST + 15))
    assert places == expected
    assert any(high - low + 1 > 3 for low, high in fronts[0].asked)


@pytest.mark.parametrize(("message", "blocks"), [row for row in LASTING if str(row[1]) in row[0].replace(",", "")])
async def test_a_stated_limit_is_learnt_from_one_refusal(reader, node, fronts, tally, message, blocks):
    limit = min(blocks, 60)
    text = message.replace(str(blocks), "{blocks}").replace(f"{blocks:,}", "{blocks}")
    fronts[0].refuse = at_most(limit, text)
    page = await reader.read_logs(window(FIRST, FIRST + 200), OTHER_LOGGER, TOPIC, ReadView())
    assert not page.logs
    too_wide = [one for one in fronts[0].asked if one[1] - one[0] + 1 > limit]
    assert len(too_wide) == 1
    fronts[0].asked.clear()
    await reader.read_logs(window(FIRST, FIRST + 200), OTHER_LOGGER, TOPIC, ReadView())
    assert all(high - low + 1 <= limit for low, high in fronts[0].asked)


async def test_a_vague_refusal_is_learnt_from_what_works_in_the_end(reader, fronts):
    fronts[0].refuse = at_most(40, "block range too large")
    await reader.read_logs(window(FIRST, FIRST + 250), OTHER_LOGGER, TOPIC, ReadView())
    assert [high - low + 1 for low, high in fronts[0].asked[:4]] == [251, 125, 62, 31]
    fronts[0].asked.clear()
    await reader.read_logs(window(FIRST, FIRST + 250), OTHER_LOGGER, TOPIC, ReadView())
    assert fronts[0].asked[0] == (FIRST + 220, FIRST + 250)
    assert all(high - low + 1 <= 40 for low, high in fronts[0].asked)


async def test_the_endpoint_that_takes_wide_ranges_is_asked_first_once_that_is_known(two, fronts):
    fronts[0].refuse = at_most(10, "exceed maximum block range: 10")
    for _ in range(4):
        page = await two.read_logs(window(FIRST, FIRST + 250), OTHER_LOGGER, None, ReadView())
        assert page.count == 4
    assert len(fronts[0].asked) <= 1
    assert fronts[1].asked == [(FIRST, FIRST + 250)] * 4


async def test_a_block_that_nobody_hands_out_says_what_to_do(reader, fronts):
    fronts[0].refuse = lambda low, high, logs: {"code": -32005, "message": "query returned more than 1 results"}
    with pytest.raises(ResponseTooLarge, match="narrow the query by address or topic0"):
        await reader.read_logs(window(FIRST, FIRST + 200), None, None, ReadView())
    assert len(fronts[0].asked) < 12


async def test_a_page_stops_at_its_budget_and_the_next_goes_on(reader, node, fronts, monkeypatch):
    fronts[0].refuse = at_most(2, "exceed maximum block range: 2")
    monkeypatch.setattr(scan, "MAX_QUESTIONS", 6)
    expected = await truth(node, FIRST, FIRST + 100, address=LOGGER)
    page = await reader.read_logs(window(FIRST, FIRST + 100), LOGGER, None, ReadView())
    assert (page.count, page.has_more) == (0, True)
    assert FIRST + 80 < int(page.next_page_token) < FIRST + 100
    places, pages = await walk(reader, window(FIRST, FIRST + 100), LOGGER)
    assert places == expected
    assert len(pages) > 5


async def test_a_failure_after_some_blocks_costs_nothing_that_was_read(reader, node, fronts):
    """The page ends early; what is wrong is reported by the next one."""
    expected = await truth(node, FIRST + 6, FIRST + 15)

    def refuse(low: int, high: int, logs: int) -> dict | None:
        if low <= FIRST + 5:
            return {"code": 4444, "message": "pruned history unavailable"}
        return {"code": -32005, "message": "exceed maximum block range: 4"} if high - low >= 4 else None

    fronts[0].refuse = refuse
    page = await reader.read_logs(window(FIRST, FIRST + 15), None, None, ReadView())
    places = [(log.block_number, log.log_index) for log in page.logs]
    assert places == expected[: len(places)]
    assert page.has_more
    while page.next_page_token != str(FIRST + 5):
        page = await reader.read_logs(window(FIRST, FIRST + 15, page.next_page_token), None, None, ReadView())
    with pytest.raises(ArchiveRequired):
        await reader.read_logs(window(FIRST, FIRST + 15, page.next_page_token), None, None, ReadView())


@pytest.mark.alone("what fits into 1.5 seconds depends on the machine")
async def test_a_node_that_is_too_slow_for_a_range_is_asked_for_less(reader, node, fronts, monkeypatch):
    """And what was read before the caller's time runs out is answered."""
    monkeypatch.setattr(scan, "_LEAST_SECONDS", 0.1)
    fronts[0].delay = lambda low, high: 60.0 if high - low >= 8 else 0.05
    expected = await truth(node, FIRST, FIRST + 15)
    began = time.monotonic()
    page = await reader.read_logs(window(FIRST, FIRST + 15), None, None, ReadView(deadline=began + 1.5))
    assert time.monotonic() - began < 1.5
    assert [high - low + 1 for low, high in fronts[0].asked] == [16, 8]
    places = [(log.block_number, log.log_index) for log in page.logs]
    assert (places, page.has_more, page.next_page_token) == (expected[: len(places)], True, str(FIRST + 7))
    assert len(places) == len([place for place in expected if place[0] > FIRST + 7])


async def test_a_node_that_is_too_slow_for_anything_is_late(reader, fronts, monkeypatch):
    monkeypatch.setattr(scan, "_LEAST_SECONDS", 0.1)
    fronts[0].delay = lambda low, high: 60.0
    with pytest.raises(DeadlineExceeded):
        await reader.read_logs(window(FIRST, FIRST + 15), None, None, ReadView(deadline=time.monotonic() + 0.5))


@pytest.mark.parametrize("answer", [[{"address": "0x12"}], {"logs": []}, [{}], "0x"])
async def test_an_answer_that_is_no_list_of_logs_is_the_nodes_fault(reader, fronts, monkeypatch, answer):
    async def spoilt(request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": answer})

    await reader.read_height(ReadView())
    monkeypatch.setattr(fronts[0], "_send", spoilt)
    with pytest.raises(UpstreamUnavailable, match="cannot be its answer"):
        await reader.read_logs(window(FIRST, FIRST + 1), None, None, ReadView())
