"""Bodies made of a template, by which nothing is asked twice unless it is wanted."""

from __future__ import annotations

import orjson
from waypost.v1 import account_pb2, batch_pb2

from bench.loads import EXECUTE, Question, fill
from bench.rows import BATCH, balance, block, execute, mixed


def test_ids_count_up_and_addresses_never_come_again() -> None:
    make = fill(Question(orjson.dumps([balance() for _ in range(BATCH)]), BATCH))
    asked = [item for _ in range(3) for item in orjson.loads(make())]
    assert [item["id"] for item in asked] == list(range(1, 3 * BATCH + 1))
    addresses = {item["params"]["address"] for item in asked}
    assert len(addresses) == 3 * BATCH
    assert all(len(address) == 42 and int(address, 16) for address in addresses)


def test_addresses_come_again_after_as_many_as_are_wanted() -> None:
    question = Question(orjson.dumps(balance()), distinct=3)
    addresses = [orjson.loads(make())["params"]["address"] for make in (fill(question),) for _ in range(7)]
    assert len(set(addresses)) == 3
    assert addresses[:3] * 2 + addresses[:1] == addresses
    # They are the same in the next load.
    assert orjson.loads(fill(question)())["params"]["address"] == addresses[0]


def test_what_has_no_marks_is_asked_as_it_is() -> None:
    body = orjson.dumps({"id": 5, "params": [block(7)["params"]]})
    assert fill(Question(body))() == body


def test_a_batch_over_grpc_asks_for_as_many_addresses() -> None:
    question = execute()
    assert (question.method, question.items) == (EXECUTE, BATCH)
    request = batch_pb2.ExecuteRequest.FromString(fill(question)())
    addresses = set()
    for packed in request.requests:
        message = account_pb2.GetBalanceRequest()
        assert packed.Unpack(message)
        addresses.add(message.address)
    assert len(addresses) == BATCH


def test_mixed_reads_are_as_many_as_a_batch_has() -> None:
    asked = mixed(22_000_000)
    assert len(asked) == BATCH
    assert {item["method"] for item in asked} == {"getBalance", "getTokenBalance", "chainRpc", "getBlockByNumber"}
