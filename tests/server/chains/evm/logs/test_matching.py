"""Which logs of a block filters select, against a plain reading of what `eth_getLogs` promises."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from server.chains.evm.contents import bloom_bits
from server.chains.evm.logs.entries import LogEntry, Place, PlacedEntry
from server.chains.evm.logs.matching import MOST_VALUES, BlockLogs, LogQuery, is_excluded, merge
from tests.examples import examples

ADDRESSES = [f"0x{number:040x}" for number in range(0xA0, 0xA6)]
TOPICS = [f"0x{number:064x}" for number in range(0xB0, 0xB6)]

SETTINGS = settings(max_examples=examples(100), deadline=None)
addresses = st.sampled_from(ADDRESSES)
entries = st.builds(
    lambda address, topics: LogEntry(address, topics, "0x", "0x1", "0x" + "cc" * 32, "0x0"),
    addresses,
    st.lists(st.sampled_from(TOPICS), max_size=4),
)
queries = st.builds(
    LogQuery.of,
    st.lists(addresses, max_size=3),
    st.lists(st.lists(st.sampled_from(TOPICS), max_size=3), max_size=4),
)


def placed(logs: list[LogEntry]) -> list[PlacedEntry]:
    return [PlacedEntry(Place(1, number), log) for number, log in enumerate(logs)]


def is_selected(log: LogEntry, query: LogQuery) -> bool:
    if query.addresses and log.address not in query.addresses:
        return False
    if len(log.topics) < len(query.topics):
        return False
    return all(not values or log.topics[at] in values for at, values in enumerate(query.topics))


def bloom_of(logs: list[LogEntry]) -> int:
    bloom = 0
    for log in logs:
        for written in (log.address, *log.topics):
            bloom |= bloom_bits(written)
    return bloom


@SETTINGS
@given(st.lists(entries, max_size=12), st.lists(queries, min_size=1, max_size=4))
def test_the_index_selects_what_reading_every_log_selects(logs: list[LogEntry], some: list[LogQuery]) -> None:
    wanted = [number for number, log in enumerate(logs) if any(is_selected(log, query) for query in some)]
    assert BlockLogs(placed(logs)).find(some) == wanted


@SETTINGS
@given(st.lists(entries, max_size=12), st.lists(queries, min_size=1, max_size=4))
def test_a_bloom_filter_excludes_no_block_with_a_log_that_is_selected(
    logs: list[LogEntry], some: list[LogQuery]
) -> None:
    if is_excluded(some, bloom_of(logs)):
        assert not BlockLogs(placed(logs)).find(some)


def test_a_bloom_filter_excludes_blocks_without_what_is_selected() -> None:
    [log] = logs = [LogEntry(ADDRESSES[0], TOPICS[:2], "0x", "0x1", "0x", "0x0")]
    bloom = bloom_of(logs)
    assert not is_excluded([LogQuery.of([log.address], [TOPICS])], bloom)
    assert is_excluded([LogQuery.of([ADDRESSES[1]])], bloom)
    assert is_excluded([LogQuery.of([log.address], [(), [TOPICS[5]]])], bloom)
    assert is_excluded([LogQuery.of([ADDRESSES[1]]), LogQuery.of([ADDRESSES[2]])], bloom)
    assert not is_excluded([LogQuery.of([ADDRESSES[1]]), LogQuery.of([])], bloom)
    assert not is_excluded([LogQuery.of([])], 0)


@SETTINGS
@given(st.lists(queries, min_size=1, max_size=6), st.lists(entries, max_size=12))
def test_merged_queries_select_all_that_each_selects(some: list[LogQuery], logs: list[LogEntry]) -> None:
    merged, block = merge(some), BlockLogs(placed(logs))
    assert set(block.find(merged)) >= set(block.find(some))
    shapes = [tuple(position for position, _ in query.constraints) for query in some]
    assert {tuple(position for position, _ in query.constraints) for query in merged} == set(shapes)
    assert len(merged) == len(set(shapes))


def test_merged_queries_name_a_bounded_number_of_values() -> None:
    some = [LogQuery.of([f"0x{number:040x}"]) for number in range(1234)]
    merged = merge(some)
    assert [len(query.addresses) for query in merged] == [MOST_VALUES, MOST_VALUES, 234]
    assert frozenset().union(*(query.addresses for query in merged)) == {one for [one] in (q.addresses for q in some)}


def test_queries_are_written_as_nodes_read_them() -> None:
    query = LogQuery.of([ADDRESSES[1].upper().replace("0X", "0x"), ADDRESSES[0]], [(), [TOPICS[1], TOPICS[0]], (), ()])
    assert query.params() == {"address": ADDRESSES[:2], "topics": [None, TOPICS[:2]]}
    assert LogQuery.of([], [(), ()]).params() == {}


def test_logs_become_messages_once() -> None:
    block = BlockLogs(
        placed([LogEntry(ADDRESSES[5].upper().replace("0X", "0x"), TOPICS, "0x12", "0x1", "0x34", "0x0")])
    )
    message = block.message(0)
    assert message is block.message(0)
    assert message.address.lower() == ADDRESSES[5]
