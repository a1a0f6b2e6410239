"""Logs against the node's own `eth_getLogs`: providers that refuse, blocks that overflow, chains that reorganise."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.settings import Settings
from server.chains.capabilities import BlockRange
from server.chains.evm import log_scan
from server.chains.evm.log_cursor import Cursor, Window
from server.chains.evm.log_entries import Place, place_of
from server.chains.evm.log_scan import LogFilter
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import ArchiveRequired, InvalidArgument, ResponseTooLarge, UpstreamUnavailable
from server.upstream import open_session
from tests.contract.evm.log_nodes import (
    LOGGER,
    OTHER_LOGGER,
    TRANSFER,
    LimitedNode,
    at_most,
    place_loggers,
    write_logs,
)
from tests.contract.evm.nodes import Anvil
from tests.unit.chains.test_log_limits import LASTING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.chains.evm.driver import EvmDriver

ONE, TWO, TOPIC = "0x01", "0x02", "0x" + "77" * 32
FIRST = 20_000_000
# Logs per block, one block each; together 3,300 and one crowded block.
CROWD = [3, 0, 1, 2300, 0, 5, 1, 980, 0, 0, 10]
SMALL_AT = FIRST + len(CROWD) + 302
SMALL = [2, 0, 0, 17, 1, 1, 30, 0, 3, 0, 6]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(session) -> AsyncIterator[Anvil]:
    anvil = await Anvil.start(session, "--chain-id", "1", "--number", str(FIRST))
    await place_loggers(anvil)
    for count in CROWD:
        if count:
            await write_logs(anvil, count, TOPIC, ONE, TWO)
        else:
            await anvil.call("anvil_mine", "0x1")
    await write_logs(anvil, 4, "0x05", ONE, TWO, contract=OTHER_LOGGER)
    await anvil.call("anvil_mine", hex(300))
    for count in SMALL:
        if count:
            await write_logs(anvil, count, "0x09", ONE, TWO, contract=OTHER_LOGGER)
        else:
            await anvil.call("anvil_mine", "0x1")
    await anvil.call("anvil_mine", "0x5")
    yield anvil
    anvil.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fronts(node, session) -> AsyncIterator[list[LimitedNode]]:
    found = [LimitedNode(node.url, session), LimitedNode(node.url, session)]
    for front in found:
        await front.start()
    yield found
    for front in found:
        await front.stop()


async def load(http, tally, **urls: str) -> Chains:
    endpoints = [{"label": label, "url": url} for label, url in urls.items()]
    loaded = Chains.load(
        Settings.model_validate({"profile": "devnet", "chains": {"ethereum": {"endpoints": endpoints}}}),
        http,
        observer=tally,
    )
    await loaded.get("ethereum").driver.pool.call("eth_chainId", [])
    tally.requests.clear()
    return loaded


@pytest_asyncio.fixture(loop_scope="session")
async def reader(fronts, tally) -> AsyncIterator[EvmDriver]:
    """A driver on one provider that lets everything through until a test says otherwise."""
    for front in fronts:
        front.refuse = lambda low, high, logs: None
        front.asked.clear()
    async with open_session() as http:
        chains = await load(http, tally, limited=fronts[0].url)
        yield chains.get("ethereum").driver
        await chains.close()


@pytest_asyncio.fixture(loop_scope="session")
async def two(fronts, tally) -> AsyncIterator[EvmDriver]:
    """A driver on two providers."""
    for front in fronts:
        front.refuse = lambda low, high, logs: None
        front.asked.clear()
    async with open_session() as http:
        chains = await load(http, tally, limited=fronts[0].url, wide=fronts[1].url)
        yield chains.get("ethereum").driver
        await chains.close()


def window(low: int | str | None, high: int | str | None = "latest", cursor: str | None = None) -> BlockRange:
    texts = [None if bound is None else str(bound) for bound in (low, high)]
    return BlockRange(texts[0], texts[1], cursor)


async def truth(node: Anvil, low: int = FIRST, high: int | None = None, **query: object) -> list[tuple[int, int]]:
    """The places of the node's own logs, newest first."""
    logs = await node.call(
        "eth_getLogs", {"fromBlock": hex(low), "toBlock": "latest" if high is None else hex(high), **query}
    )
    return sorted(((int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs), reverse=True)


async def walk(driver, blocks: BlockRange, address=None, topic0=None) -> tuple[list[tuple[int, int]], list]:
    """Every page from the first to the last: all places, and the pages."""
    pages, places = [], []
    while True:
        page = await driver.read_logs(blocks, address, topic0, ReadView())
        pages.append(page)
        places += [(log.block_number, log.log_index) for log in page.logs]
        assert page.count == len(page.logs) <= page.limit == 1000
        assert page.has_more == page.HasField("cursor")
        if not page.has_more:
            return places, pages
        blocks = BlockRange(blocks.from_block, blocks.to_block, page.cursor)
        assert len(pages) < 200


async def test_logs_are_the_nodes_newest_first(reader, node, tally):
    expected = await truth(node, FIRST, FIRST + 3)
    page = await reader.read_logs(window(FIRST, FIRST + 3), LOGGER, None, ReadView())
    assert [(log.block_number, log.log_index) for log in page.logs] == expected
    assert (page.count, page.has_more, page.HasField("cursor")) == (4, False, False)
    [*_, raw] = await node.call("eth_getLogs", {"fromBlock": hex(FIRST), "toBlock": hex(FIRST + 3)})
    log = page.logs[0]
    assert (log.address.lower(), list(log.topics), log.data) == (raw["address"].lower(), raw["topics"], raw["data"])
    assert (log.transaction_hash, log.removed) == (raw["transactionHash"], False)


async def test_questions_to_the_node_are_counted(reader, node, tally):
    await reader.read_logs(window("latest"), LOGGER, None, ReadView())
    assert tally.requests == [1, 1]  # the newest block, its logs
    tally.requests.clear()
    await reader.read_logs(window(FIRST, FIRST + 3), LOGGER, None, ReadView())
    assert tally.requests == [1]  # both bounds are given and known to exist
    tally.requests.clear()
    await reader.read_logs(window(FIRST), LOGGER, TOPIC, ReadView())
    assert tally.requests == [1, 1]


async def test_pages_of_a_crowded_block_join_without_loss(reader, node):
    expected = await truth(node, address=LOGGER)
    assert len(expected) == sum(CROWD)
    places, pages = await walk(reader, window(FIRST), LOGGER)
    assert places == expected
    crowded = FIRST + 4
    assert [page.count for page in pages] == [1000, 1000, 1000, 300]
    assert pages[0].cursor == f"{crowded}:{2300 - 4}"
    assert pages[1].cursor == f"{crowded}:{2300 - 1004}"


async def test_a_page_that_ends_between_two_blocks_has_a_block_number_for_cursor(reader, node):
    start = FIRST + CROWD.index(980) + 1
    expected = await truth(node, FIRST + 5, start + 3, address=LOGGER)
    blocks = window(start - 7, start + 3)
    # 980 + 10 + 5 + 1 logs lie above the crowded block, so a page of 1000 ends inside it.
    places, _ = await walk(reader, blocks, LOGGER)
    assert places[: len(expected)] == expected
    page = await reader._logs._scanner.read_page(
        Window(FIRST, Place(start + 4, 0)), [LogFilter(LOGGER, (), 10_000)], ReadView(), limit=990
    )
    assert len(page.entries) == 990
    assert Window(FIRST, Place(start + 4, 0)).cursor(page.below) == str(start - 1)


async def test_filters(reader, node):
    everything = await truth(node)
    assert len(everything) == sum(CROWD) + sum(SMALL) + 4
    for address, topic0, query in (
        (None, None, {}),
        (OTHER_LOGGER, None, {"address": OTHER_LOGGER}),
        (None, TOPIC, {"topics": [TOPIC]}),
        (LOGGER.lower(), TOPIC.upper().replace("0X", "0x"), {"address": LOGGER, "topics": [TOPIC]}),
        (OTHER_LOGGER, TOPIC, {"address": OTHER_LOGGER, "topics": [TOPIC]}),
        (None, TRANSFER, {"topics": [TRANSFER]}),
    ):
        places, _ = await walk(reader, window(FIRST), address, topic0)
        assert places == await truth(node, **query), (address, topic0)


async def test_the_default_window_is_the_newest_block_and_a_cursor_freezes_it(reader, node):
    block = await write_logs(node, 1500, TOPIC, ONE, TWO)
    page = await reader.read_logs(window("latest"), None, None, ReadView())
    assert (page.count, page.cursor) == (1000, f"{block}:500")
    await write_logs(node, 7, TOPIC, ONE, TWO)
    rest = await reader.read_logs(window("latest", "latest", page.cursor), None, None, ReadView())
    assert (rest.count, rest.has_more) == (500, False)
    assert {log.block_number for log in rest.logs} == {block}
    assert [log.log_index for log in rest.logs] == list(range(499, -1, -1))


async def test_a_later_page_costs_one_question(reader, tally):
    page = await reader.read_logs(window(FIRST, FIRST + 30), LOGGER, TOPIC, ReadView())
    tally.requests.clear()
    await reader.read_logs(window(FIRST, FIRST + 30, page.cursor), LOGGER, TOPIC, ReadView())
    assert tally.requests == [1]


async def test_beyond_the_newest_block_there_is_nothing(reader, node, fronts):
    head = await node.height()
    for blocks in (window(head + 10), window(head + 10, head + 20), window(head + 1, head + 1)):
        page = await reader.read_logs(blocks, None, None, ReadView())
        assert (page.count, page.has_more, page.HasField("cursor")) == (0, False, False)
    assert fronts[0].asked == []
    page = await reader.read_logs(window(head, head + 1000), None, None, ReadView())
    assert not page.has_more
    assert fronts[0].asked == [(head, head)]


@pytest.mark.parametrize(
    ("blocks", "field"),
    [
        (window(FIRST + 2, FIRST + 1), "fromBlock"),
        (window("latest", FIRST), "fromBlock"),
        (window(FIRST, "latest", "nonsense"), "cursor"),
        (window(FIRST, "latest", "5:1:9"), "cursor"),
        (window(FIRST + 5, "latest", str(FIRST)), "cursor"),
    ],
)
async def test_ranges_and_cursors_that_make_no_sense_are_refused(reader, blocks, field):
    with pytest.raises(InvalidArgument) as caught:
        await reader.read_logs(blocks, None, None, ReadView())
    assert caught.value.field == field


@pytest.mark.parametrize(
    "address", ["0x12", "vitalik", LOGGER[:-1] + "g", "0xAbcdefabcdefabcdefabcdefabcdefabcdefabcd"]
)
async def test_what_is_no_address_is_refused_without_a_node(reader, tally, address):
    with pytest.raises(InvalidArgument) as caught:
        await reader.read_logs(window("latest"), address, None, ReadView())
    assert caught.value.field == "address"
    assert tally.requests == []


HINTS = [
    "query returned more than 10000 results. Try with this block range [{hex_low}, {hex_good}].",
    "Log response size exceeded. Based on your parameters, this block range should work: [{hex_low}, {hex_good}]",
    "query exceeds max results 20000, retry with the range {low}-{good}",
    "block range is too wide (maximum {blocks})",
    "block range is too wide",
    "log response size exceeded",
    "Response is too big",
    "a refusal that nobody has met so far",
]


@pytest.mark.parametrize("message", HINTS)
@pytest.mark.parametrize("code", [-32005, -32602, -32000])
async def test_a_refused_range_is_split_until_it_is_answered(reader, node, fronts, message, code):
    if code == -32005 and "nobody" in message:
        pytest.skip("this code with unknown words is taken for throttling")
    fronts[0].refuse = at_most(3, message, code)
    expected = await truth(node, FIRST, FIRST + 15)
    places, _ = await walk(reader, window(FIRST, FIRST + 15))
    assert places == expected
    assert any(high - low + 1 > 3 for low, high in fronts[0].asked)


@pytest.mark.parametrize(("message", "blocks"), LASTING)
async def test_a_stated_limit_is_learnt_from_one_refusal(reader, node, fronts, tally, message, blocks):
    limit = min(blocks, 60)
    fronts[0].refuse = at_most(limit, message.replace(str(blocks), "{blocks}").replace(f"{blocks:,}", "{blocks}"))
    if "{blocks}" not in message.replace(str(blocks), "{blocks}").replace(f"{blocks:,}", "{blocks}"):
        pytest.skip("the text writes its number in thousands; tests/unit reads it")
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
    monkeypatch.setattr(log_scan, "MAX_QUESTIONS", 6)
    expected = await truth(node, FIRST, FIRST + 100, address=LOGGER)
    page = await reader.read_logs(window(FIRST, FIRST + 100), LOGGER, None, ReadView())
    assert (page.count, page.has_more) == (0, True)
    assert FIRST + 80 < int(page.cursor) < FIRST + 100
    places, pages = await walk(reader, window(FIRST, FIRST + 100), LOGGER)
    assert places == expected
    assert len(pages) > 5


async def test_a_failure_after_some_blocks_costs_nothing_that_was_read(reader, node, fronts):
    """The page ends early; what is wrong is told by the next one."""
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
    while page.cursor != str(FIRST + 5):
        page = await reader.read_logs(window(FIRST, FIRST + 15, page.cursor), None, None, ReadView())
    with pytest.raises(ArchiveRequired):
        await reader.read_logs(window(FIRST, FIRST + 15, page.cursor), None, None, ReadView())


@pytest.mark.parametrize("answer", [[{"address": "0x12"}], {"logs": []}, [{}], "0x"])
async def test_an_answer_that_is_no_list_of_logs_is_the_nodes_fault(reader, fronts, monkeypatch, answer):
    async def spoilt(request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": answer})

    await reader.read_height(ReadView())
    monkeypatch.setattr(fronts[0], "_send", spoilt)
    with pytest.raises(UpstreamUnavailable, match="malformed"):
        await reader.read_logs(window(FIRST, FIRST + 1), None, None, ReadView())


async def test_logs_of_a_block_that_was_undone_are_gone(session, tally):
    anvil = await Anvil.start(session, "--chain-id", "1", "--number", str(FIRST))
    try:
        await place_loggers(anvil)
        await anvil.call("anvil_mine", "0x2")
        kept = await write_logs(anvil, 2, TOPIC, ONE, TWO)
        undone = await write_logs(anvil, 3, TOPIC, ONE, TWO)
        async with open_session() as http:
            chains = await load(http, tally, only=anvil.url)
            driver = chains.get("ethereum").driver
            before = await driver.read_logs(window(FIRST), None, None, ReadView())
            assert [log.block_number for log in before.logs] == [undone] * 3 + [kept] * 2
            await anvil.call("anvil_reorg", 1, [])
            after = await driver.read_logs(window(FIRST), None, None, ReadView())
            assert [log.block_number for log in after.logs] == [kept] * 2
            assert not any(log.removed for log in after.logs)
            await chains.close()
    finally:
        anvil.stop()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limit=st.integers(2, 70),
    span=st.integers(1, 40),
    most=st.integers(1, 40),
    results=st.integers(30, 70),
    low=st.integers(SMALL_AT, SMALL_AT + 6),
)
async def test_walking_all_pages_gives_every_log_once(reader, node, fronts, limit, span, most, results, low):
    """Whatever the page size, the first span and the provider's limits."""

    def refuse(first: int, last: int, logs: int) -> dict | None:
        if last - first + 1 > most:
            return {"code": -32000, "message": f"exceed maximum block range: {most}"}
        return {"code": -32005, "message": "query returned more than that many results"} if logs > results else None

    fronts[0].refuse = refuse
    high = SMALL_AT + len(SMALL) + 4
    expected = await truth(node, low, high)
    scanner = reader._logs._scanner
    frame = Window(low, Place(high + 1, 0))
    places: list[tuple[int, int]] = []
    for _ in itertools.count():
        page = await scanner.read_page(frame, [LogFilter(None, (), span)], ReadView(), limit=limit)
        assert len(page.entries) <= limit
        places += [tuple(place_of(entry)) for entry in page.entries]
        if page.below is None:
            break
        cursor = Cursor.parse(frame.cursor(page.below))
        assert cursor.below <= frame.below
        frame = Window(low, cursor.below)
    assert places == expected
