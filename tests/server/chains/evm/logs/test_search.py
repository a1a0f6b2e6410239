"""Logs against the node's own `eth_getLogs`: filters, windows, cursors, crowded blocks, undone blocks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.chains.capabilities.logs import ReadsLogs
from server.chains.evm.logs.cursor import Cursor, Window
from server.chains.evm.logs.entries import Place
from server.chains.evm.logs.scan import LogFilter
from server.chains.view import ReadView
from server.errors import InvalidArgument
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.log_nodes import LOGGER, OTHER_LOGGER, TRANSFER, place_loggers, write_logs
from tests.server.chains.evm.logs.world import CROWD, FIRST, ONE, SMALL, SMALL_AT, TOPIC, TWO, truth, walk, window
from tests.server.chains.evm.nodes import Anvil, load

pytestmark = pytest.mark.devnet


async def test_logs_are_the_nodes_newest_first(reader, node, tally):
    expected = await truth(node, FIRST, FIRST + 3)
    page = await reader.read_logs(window(FIRST, FIRST + 3), LOGGER, None, ReadView())
    assert [(log.block_number, log.log_index) for log in page.logs] == expected
    assert (page.count, page.has_more, bool(page.next_page_token)) == (4, False, False)
    [*_, raw] = await node.call("eth_getLogs", {"fromBlock": hex(FIRST), "toBlock": hex(FIRST + 3)})
    log = page.logs[0]
    assert (log.address.lower(), list(log.topics), log.data) == (raw["address"].lower(), raw["topics"], raw["data"])
    assert (log.transaction_hash, log.removed) == (raw["transactionHash"], False)


async def test_questions_to_the_node_are_counted(reader, node, tally):
    await reader.read_logs(window("latest"), LOGGER, None, ReadView())
    assert tally.requests == [1, 2]  # the newest block; its logs together with its header
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
    assert pages[0].next_page_token == f"{crowded}:{2300 - 4}"
    assert pages[1].next_page_token == f"{crowded}:{2300 - 1004}"


async def test_pages_of_the_callers_own_size_join_without_loss(reader, node):
    expected = await truth(node, FIRST, FIRST + 3)
    places, token = [], None
    for left in (4, 1):
        page = await reader.read_logs(window(FIRST, FIRST + 3, token), LOGGER, None, ReadView(), 3)
        assert (page.count, page.page_size, page.has_more) == (min(left, 3), 3, left > 3)
        places += [(log.block_number, log.log_index) for log in page.logs]
        token = page.next_page_token
    assert (places, token) == (expected, "")


async def test_a_page_that_ends_between_two_blocks_has_a_block_number_for_cursor(reader, node):
    start = FIRST + CROWD.index(980) + 1
    expected = await truth(node, FIRST + 5, start + 3, address=LOGGER)
    blocks = window(start - 7, start + 3)
    # 980 + 10 + 5 + 1 logs lie above the crowded block, so a page of 1000 ends inside it.
    places, _ = await walk(reader, blocks, LOGGER)
    assert places[: len(expected)] == expected
    page = await reader.of(ReadsLogs)._scanner.read_page(
        Window(FIRST, Place(start + 4, 0)), [LogFilter(LOGGER, (), 10_000)], ReadView(), limit=990
    )
    assert len(page.logs) == 990
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
    assert (page.count, page.next_page_token) == (1000, f"{block}:500")
    await write_logs(node, 7, TOPIC, ONE, TWO)
    rest = await reader.read_logs(window("latest", "latest", page.next_page_token), None, None, ReadView())
    assert (rest.count, rest.has_more) == (500, False)
    assert {log.block_number for log in rest.logs} == {block}
    assert [log.log_index for log in rest.logs] == list(range(499, -1, -1))


async def test_a_later_page_costs_one_question(reader, tally):
    page = await reader.read_logs(window(FIRST, FIRST + 30), LOGGER, TOPIC, ReadView())
    tally.requests.clear()
    await reader.read_logs(window(FIRST, FIRST + 30, page.next_page_token), LOGGER, TOPIC, ReadView())
    assert tally.requests == [1]


async def test_beyond_the_newest_block_there_is_nothing(reader, node, fronts):
    head = await node.height()
    for blocks in (window(head + 10), window(head + 10, head + 20), window(head + 1, head + 1)):
        page = await reader.read_logs(blocks, None, None, ReadView())
        assert (page.count, page.has_more, bool(page.next_page_token)) == (0, False, False)
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


async def test_logs_of_a_block_that_was_undone_are_gone(session, tally):
    anvil = await Anvil.start(session, "--chain-id", "1", "--number", str(FIRST))
    try:
        await place_loggers(anvil)
        await anvil.call("anvil_mine", "0x2")
        kept = await write_logs(anvil, 2, TOPIC, ONE, TWO)
        undone = await write_logs(anvil, 3, TOPIC, ONE, TWO)
        async with open_session() as http:
            chains = await load(http, tally, only=anvil.url)
            driver = Operations(chains.get("ethereum"))
            before = await driver.read_logs(window(FIRST), None, None, ReadView())
            assert [log.block_number for log in before.logs] == [undone] * 3 + [kept] * 2
            await anvil.call("anvil_reorg", 1, [])
            after = await driver.read_logs(window(FIRST), None, None, ReadView())
            assert [log.block_number for log in after.logs] == [kept] * 2
            assert not any(log.removed for log in after.logs)
            await chains.close()
    finally:
        anvil.stop()


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
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
    scanner = reader.of(ReadsLogs)._scanner
    frame = Window(low, Place(high + 1, 0))
    places: list[tuple[int, int]] = []
    for _ in itertools.count():
        page = await scanner.read_page(frame, [LogFilter(None, (), span)], ReadView(), limit=limit)
        assert len(page.logs) <= limit
        places += [tuple(log.place) for log in page.logs]
        if page.below is None:
            break
        cursor = Cursor.parse(frame.cursor(page.below))
        assert cursor.below <= frame.below
        frame = Window(low, cursor.below)
    assert places == expected
