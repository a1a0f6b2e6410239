"""Logs as nodes write them: what is read, and what is no log."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from server.chains.evm.logs.entries import Place, log_messages, parse_logs, read_entries
from server.chains.evm.logs.scan import LogFilter

ADDRESS = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
TOPIC = "0x" + "ab" * 32


def log(**members: Any) -> dict[str, Any]:
    return {
        "address": ADDRESS.lower(),
        "topics": [TOPIC],
        "data": "0x0102",
        "blockNumber": "0x10",
        "transactionHash": "0x" + "cd" * 32,
        "logIndex": "0x2",
        "removed": False,
    } | members


def read(*logs: dict[str, Any]) -> Any:
    return read_entries(orjson.dumps(list(logs)))


def test_logs_come_in_the_nodes_order_with_their_places() -> None:
    found = read(log(), log(logIndex="0X1"), log(blockNumber="0x00f", logIndex="0x7fffffff"))
    assert [one.place for one in found] == [Place(16, 2), Place(16, 1), Place(15, (1 << 31) - 1)]
    assert max(found).place == Place(16, 2)
    assert read() == []


@pytest.mark.parametrize("topics", range(5))
def test_a_log_is_a_message(topics: int) -> None:
    [message] = log_messages(read(log(topics=[TOPIC] * topics)))
    assert (message.address, message.block_number, message.log_index) == (ADDRESS, 16, 2)
    assert list(message.topics) == [TOPIC] * topics
    assert (message.data, message.transaction_hash, message.removed) == ("0x0102", "0x" + "cd" * 32, False)
    assert parse_logs(orjson.dumps([log(topics=[TOPIC] * topics)])) == [message]


@pytest.mark.parametrize(
    "members",
    [
        {"removed": True},
        {"topics": [TOPIC] * 5},
        {"topics": [TOPIC[:-1]]},
        {"topics": [f"{TOPIC} {TOPIC}"]},
        {"topics": None},
        {"data": "0x1"},
        {"data": "1234"},
        {"data": "0x12 0x34"},
        {"data": None},
        {"address": ADDRESS[:-1]},
        {"address": f"{ADDRESS} 0x{'00' * 32}"},
        {"transactionHash": None},
        {"transactionHash": "0x12"},
        {"transactionHash": "0x" + "cd" * 32 + " " + TOPIC},
        {"blockNumber": None},
        {"blockNumber": "16"},
        {"blockNumber": "0x"},
        {"blockNumber": "0x1_0"},
        {"blockNumber": "-0x1"},
        {"blockNumber": "0x\u0663"},
        {"blockNumber": "0x1 0x2"},
        {"logIndex": "0x80000000"},
        {"logIndex": " 0x1"},
        {"logIndex": 1},
    ],
)
def test_what_is_no_mined_log(members: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="log"):
        read(log(), log(**members))


@pytest.mark.parametrize("missing", ["address", "topics", "data", "blockNumber", "transactionHash", "logIndex"])
def test_no_member_may_be_missing(missing: str) -> None:
    with pytest.raises(ValueError, match="not a list of mined logs"):
        read({name: value for name, value in log().items() if name != missing})


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (LogFilter(None, (), 1), True),
        (LogFilter(ADDRESS, (), 1), True),
        (LogFilter(ADDRESS.lower(), (TOPIC.upper().replace("X", "x"),), 1), True),
        (LogFilter(None, (None, TOPIC), 1), True),
        (LogFilter(None, (None, None, TOPIC), 1), False),
        (LogFilter("0x" + "11" * 20, (), 1), False),
        (LogFilter(None, ("0x" + "00" * 32,), 1), False),
    ],
)
def test_all_logs_of_an_answer_have_to_fit(wanted: LogFilter, expected: bool) -> None:
    entries = [one.entry for one in read(log(topics=[TOPIC, TOPIC]), log(topics=[TOPIC, TOPIC], logIndex="0x3"))]
    assert wanted.fits(entries) is expected
    assert wanted.fits([])
    assert not LogFilter(None, (TOPIC,), 1).fits([*entries, read(log(topics=[]))[0].entry])
