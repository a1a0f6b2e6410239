"""JSON-RPC 2.0 on the socket: ids, notifications, batches, malformed bodies (decisions 1.4 to 1.7)."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost.v1 import account_pb2, block_pb2

from tests.transcoder.scripted import KEY, Face, refuse

if TYPE_CHECKING:
    from google.protobuf.message import Message

HEIGHT = {"jsonrpc": "2.0", "method": "getBlockHeight", "params": {"chain": "ethereum"}}


def error_of(answer: Any, code: int, reason: str) -> dict[str, Any]:
    assert set(answer) == {"jsonrpc", "error", "id"}, answer
    error: dict[str, Any] = answer["error"]
    assert (error["code"], error["data"]["reason"]) == (code, reason), error
    assert error["message"]
    assert error["data"]["requestId"]
    return error


async def test_answers_a_call(face: Face) -> None:
    async def balance(request: Message, _: Any) -> Message:
        assert isinstance(request, account_pb2.GetBalanceRequest)
        assert request.block_height == 7
        return account_pb2.GetBalanceResponse(chain="0x1", block_height=7, balance_raw="15", decimals=18)

    face.server.scripts["getBalance"] = balance
    params = {"chain": "ethereum", "address": "0xab", "blockHeight": 7}
    status, answer, headers = await face.post({"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": params})
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    data = {
        "chain": "0x1", "address": "", "blockHeight": 7, "token": "", "balance": "", "balanceRaw": "15", "decimals": 18
    }  # fmt: skip
    assert answer == {"jsonrpc": "2.0", "result": {"data": data}, "id": 1}


@pytest.mark.parametrize(
    "identity",
    [
        *("1", "0", "-5", "123456789012345678901234567890123456789", "null"),
        *('"a"', '""', '"\\u0041\\n"', '"ünï"', '"9007199254740993"'),
    ],
)
async def test_ids_are_echoed_exactly(face: Face, identity: str) -> None:
    body = f'{{"jsonrpc":"2.0","method":"getHealth","id": {identity} }}'.encode()
    async with face.session.post(f"{face.base}/{KEY}/v1", data=body) as response:
        raw = await response.read()
    assert raw.endswith(f',"id":{identity}}}'.encode()), raw
    assert b'"result"' in raw


@pytest.mark.parametrize("identity", ["1.0", "1e3", "true", "[]", "{}", "[1]"])
async def test_other_ids_are_refused(face: Face, identity: str) -> None:
    body = f'{{"jsonrpc":"2.0","method":"getHealth","id":{identity}}}'.encode()
    status, answer, _ = await face.post(body)
    assert status == 200
    assert answer["id"] is None
    error_of(answer, 400, "INVALID_REQUEST")
    assert [name for name, _, _ in face.server.asked] == ["Admit"]


@pytest.mark.parametrize(
    "change",
    [{"jsonrpc": "1.0"}, {"jsonrpc": 2.0}, {"jsonrpc": None}, {"method": 5}, {"method": None}, {"method": ["x"]}],
)
async def test_bad_envelopes_keep_their_id(face: Face, change: dict[str, Any]) -> None:
    answer = (await face.post({**HEIGHT, "id": "mine", **change}))[1]
    assert answer["id"] == "mine"
    error_of(answer, 400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "PARSE_ERROR"),
        (b" \n\t", "PARSE_ERROR"),
        (b"{", "PARSE_ERROR"),
        (b'{"jsonrpc":"2.0"', "PARSE_ERROR"),
        (b"[{]", "PARSE_ERROR"),
        (b"nonsense", "PARSE_ERROR"),
        (b'{"jsonrpc":"2.0","method":"getHealth","id":1} extra', "PARSE_ERROR"),
        (b'{"a":NaN}', "PARSE_ERROR"),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"getHealth","id":1}', "PARSE_ERROR"),
        (b'{"jsonrpc":"2.0","method":"\xff","id":1}', "PARSE_ERROR"),
        (b'{"jsonrpc":"2.0","method":"getHealth","id":"\\ud800"}', "PARSE_ERROR"),
        (b"[" * 65 + b"]" * 65, "PARSE_ERROR"),
        (b'{"a":' * 40_000, "PARSE_ERROR"),
        (b"[]", "INVALID_REQUEST"),
        (b" [ ] ", "INVALID_REQUEST"),
        (b"1", "INVALID_REQUEST"),
        (b'"x"', "INVALID_REQUEST"),
        (b"null", "INVALID_REQUEST"),
    ],
)
async def test_bodies_that_are_no_request(face: Face, body: bytes, reason: str) -> None:
    if len(body) > 64 * 1024:
        body = body[: 60 * 1024]
    status, answer, _ = await face.post(body)
    assert status == 200
    assert answer["id"] is None
    error_of(answer, 400, reason)
    assert len(face.server.admits) == 1


async def test_64_levels_are_allowed(face: Face) -> None:
    # The envelope and params take two; args is native JSON and reaches the server as written.
    args = "[" * 62 + '"]["' + "]" * 62
    body = f'{{"jsonrpc":"2.0","id":1,"method":"svc_a_b_call_c","params":{{"args":{args}}}}}'
    answer = (await face.post(body.encode()))[1]
    assert "result" in answer, answer
    assert face.server.asked[-1][1].args.json == args  # type: ignore[attr-defined]
    deeper = body.replace(args, f"[{args}]").encode()
    error_of((await face.post(deeper))[1], 400, "PARSE_ERROR")


async def test_an_oversized_body(face: Face) -> None:
    body = json.dumps({**HEIGHT, "id": 1, "padding": "x" * 70_000}).encode()
    status, answer, _ = await face.post(body)
    assert status == 413
    error_of(answer, 400, "BODY_TOO_LARGE")

    async def chunks() -> Any:
        for start in range(0, len(body), 1000):
            yield body[start : start + 1000]

    async with face.session.post(f"{face.base}/{KEY}/v1", data=chunks()) as response:
        assert response.status == 413
        error_of(await response.json(), 400, "BODY_TOO_LARGE")
    assert len(face.server.admits) == 2


async def test_notifications_are_executed_without_an_answer(face: Face) -> None:
    status, answer, headers = await face.post(HEIGHT)
    assert (status, answer) == (204, None)
    assert "Content-Type" not in headers
    assert [name for name, _, _ in face.server.asked] == ["getBlockHeight"]
    status, answer, _ = await face.post([HEIGHT, {**HEIGHT, "id": 3}, HEIGHT])
    assert [item["id"] for item in answer] == [3]
    status, answer, _ = await face.post([HEIGHT, HEIGHT])
    assert (status, answer) == (204, None)


async def test_a_notification_that_fails_in_execution_stays_unanswered(face: Face) -> None:
    async def fail(_: Message, context: Any) -> Message:
        await refuse(context, grpc.StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", "no node answered")
        raise AssertionError

    face.server.scripts["getBlockHeight"] = fail
    assert (await face.post(HEIGHT))[:2] == (204, None)


@pytest.mark.parametrize(
    ("request_object", "code", "reason"),
    [
        ({"jsonrpc": "2.0", "method": "getBlockHight"}, 404, "METHOD_UNKNOWN"),
        ({"jsonrpc": "2.0", "method": 1}, 400, "INVALID_REQUEST"),
        ({**HEIGHT, "params": {"chain": 1}}, 400, "INVALID_ARGUMENT"),
        ({**HEIGHT, "params": {"chian": "x"}}, 400, "UNKNOWN_PARAMETER"),
    ],
)
async def test_invalid_notifications_are_answered_under_null(
    face: Face, request_object: dict[str, Any], code: int, reason: str
) -> None:
    answer = (await face.post(request_object))[1]
    assert answer["id"] is None
    error_of(answer, code, reason)


async def test_a_batch_keeps_its_order_and_runs_at_once(face: Face) -> None:
    begun: list[int] = []
    everybody = asyncio.Event()

    async def height(request: Message, _: Any) -> Message:
        assert isinstance(request, block_pb2.GetBlockHeightRequest)
        number = int(request.chain)
        begun.append(number)
        if len(begun) == 50:
            everybody.set()
        # Nobody answers before all have begun; then the later items answer first.
        await asyncio.wait_for(everybody.wait(), 20)
        await asyncio.sleep((50 - number) / 1000)
        return block_pb2.GetBlockHeightResponse(chain=request.chain, height=number)

    face.server.scripts["getBlockHeight"] = height
    batch = [{**HEIGHT, "id": index % 7, "params": {"chain": str(index)}} for index in range(50)]
    status, answers, _ = await face.post(batch)
    assert status == 200
    assert [answer["result"]["data"]["height"] for answer in answers] == list(range(50))
    assert [answer["id"] for answer in answers] == [index % 7 for index in range(50)]
    assert [admit.items for admit in face.server.admits] == [50]


async def test_items_fail_alone(face: Face) -> None:
    async def height(request: Message, context: Any) -> Message:
        assert isinstance(request, block_pb2.GetBlockHeightRequest)
        if request.chain == "ghost":
            await refuse(context, grpc.StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "no chain ghost", field="chain")
        return block_pb2.GetBlockHeightResponse(chain=request.chain)

    face.server.scripts["getBlockHeight"] = height
    batch = [
        {**HEIGHT, "id": 1},
        {**HEIGHT, "id": 2, "params": {"chain": "ghost"}},
        7,
        {**HEIGHT, "id": [1]},
        {**HEIGHT, "id": 5, "method": "nothing"},
        {**HEIGHT, "id": 6, "params": {"chain": 4}},
        [],
        {**HEIGHT, "id": 8},
    ]
    status, answers, _ = await face.post(batch)
    assert status == 200
    assert [answer["id"] for answer in answers] == [1, 2, None, None, 5, 6, None, 8]
    codes = [answer["error"]["code"] if "error" in answer else 0 for answer in answers]
    assert codes == [0, 404, 400, 400, 404, 400, 400, 0]


async def test_more_than_50_items_execute_nothing(face: Face) -> None:
    status, answer, _ = await face.post([{**HEIGHT, "id": index} for index in range(51)])
    assert status == 200
    assert answer["id"] is None
    error_of(answer, 400, "BATCH_TOO_LARGE")
    assert [name for name, _, _ in face.server.asked] == ["Admit"]


async def test_duplicate_members_and_unknown_members_of_the_envelope(face: Face) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"getHealth","trace":{"a":[1]}}'
    answer = (await face.post(body))[1]
    assert answer["id"] == 2
    assert "result" in answer


@pytest.mark.parametrize("params", ["{}", "[]", "null"])
async def test_params_may_be_empty(face: Face, params: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"method":"getHealth","params":{params}}}'.encode()
    assert "result" in (await face.post(body))[1]


@pytest.mark.parametrize(
    ("spoilt", "identity"),
    [
        (rb'{"jsonrpc":"2.0","method":"getHealth","params":{"x":"\ud800"},"id":2}', 2),
        (rb'{"jsonrpc":"2.0","method":"get\udc00Health","id":"two"}', "two"),
        (rb'{"jsonrpc":"2.0","method":"getHealth","id":"\uD83Dtwo"}', None),
        (rb'{"jsonrpc":"2.0","method":"getHealth","id":2,"\ude00\ud83d":1}', 2),
        (rb'{"jsonrpc":"2.0","method":"getHealth","id":2,"x":"\\\ud800\\u0041"}', 2),
        (rb'"\ud800"', None),
    ],
)
async def test_half_a_surrogate_pair_fails_its_item_and_not_its_batch(
    face: Face, spoilt: bytes, identity: str | int | None
) -> None:
    # A backslash that is escaped begins no escape, and a whole pair is a character.
    good = rb'{"jsonrpc":"2.0","method":"getHealth","id":"\\ud800 \ud83d\ude00"}'
    first = rb'{"jsonrpc":"2.0","id":1,"method":"getHealth"}'
    status, answers, _ = await face.post(b"[" + first + b" ,\n" + spoilt + b"," + spoilt + b"," + good + b"]")
    assert status == 200
    assert ["result" in answer for answer in answers] == [True, False, False, True]
    assert [answer["id"] for answer in answers] == [1, identity, identity, "\\ud800 \U0001f600"]
    for answer in answers[1:3]:
        assert answer["error"]["code"] == 400
    _, alone, _ = await face.post(spoilt)
    assert (alone["id"], alone["error"]["code"]) == (identity, 400)
    # What is no JSON besides is none.
    _, answer, _ = await face.post(b"[" + first + b"," + spoilt + b",]")
    assert answer["error"]["data"]["reason"] == "PARSE_ERROR"
