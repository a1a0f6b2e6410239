"""All faces give the same answer: every working operation, asked over JSON-RPC and over a gRPC socket.

A transcoder behind a socket answers with the same bytes as the one in the gateway's process.

The JSON of a gRPC answer is printed here by protobuf's own printer into Python values and compared member by member
where it can be (integers that protobuf prints as text are compared as integers), so that the transcoder's renderer is
not its own judge. Errors are compared by code, reason, field and message. Fields that only gRPC has are left out
of the comparison; the status of a row's failure must be one of its code.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2, status_pb2
from waypost.options.v1 import options_pb2

from runtime.operations import literal, load_operations, member, public_files
from tests.e2e.gateway import KEY
from tests.e2e.questions import QUESTIONS, REFUSED, REFUSED_IN_JSON, Question
from tests.each import each, run_cases
from transcoder.render import result_renderer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message

    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

CODES = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 401,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.UNIMPLEMENTED: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 503,
}
# The same by the number of the status.
STATUS_CODES = {status.value[0]: code for status, code in CODES.items()}
# Members that say when they were made rather than what was asked.
MOMENTARY = {"timestamp", "latencyMs", "uptimeSeconds", "blockHeight", "height", "updatedAt", "lastUpdated"}
# The same in the bytes of an answer, also what the server says of itself.
MOMENTS = re.compile(
    rb'"(latencyMs|uptimeSeconds|totalUsd)":[^,}]+|"(timestamp|updatedAt|lastUpdated)":"\d{4}-\d\d-\d\dT[^"]+"'
)
# What JSON calls the fields of a page, and what gRPC does (docs/decisions/0062).
PAGES = {"limit": "page_size", "cursor": "page_token"}
OF_THE_CALL = ("Date", "X-Waypost-Cache")
# A block may be made between two calls.
TRIES = 5
# Lists of keys by the map whose order they tell: JSON has the order in the map itself.
ORDERS = {"argNames": "args"}
# What `error.data` may hold whatever the reason; the other members are facts that the reason brings.
EVERYWHERE = {"reason", "requestId", "field", "retryAfterMs", "jsonrpcCode"}
# What JSON-RPC prints for the name of an enum value, which protobuf prints.
LITERALS = {
    value.name: literal(value).wire
    for file in public_files()
    for enum in file.enum_types_by_name.values()
    for value in enum.values
}


def test_every_working_operation_has_a_question() -> None:
    working = {operation.name for operation in load_operations() if operation.available}
    assert working == {question.operation.name for question in QUESTIONS}


def by_method(questions: list[Question]) -> Any:
    """Run a test for each method, with all questions of it."""
    found: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        found[question.method].append(question)
    return pytest.mark.parametrize("questions", found.values(), ids=found.keys())


@by_method(QUESTIONS)
async def test_answers_agree(questions: list[Question], gateway: RunningGateway) -> None:
    await run_cases(questions, partial(answers_agree, gateway=gateway))


@by_method(REFUSED)
async def test_refusals_agree(questions: list[Question], gateway: RunningGateway) -> None:
    await run_cases(questions, partial(refusals_agree, gateway=gateway))


async def answers_agree(question: Question, gateway: RunningGateway) -> None:
    """Ask a question that is answered over all faces."""
    question = await fill_in(question, gateway)
    printed = await ask_both(question, gateway)
    assert "error" not in printed, printed
    message = await gateway.ask_grpc(question.operation, question.message())
    expected = MessageToDict(without_grpc_only(message), always_print_fields_with_no_presence=True)
    if question.operation.options.result == options_pb2.RESULT_SHAPE_DATA_FIELD:
        [expected] = expected.values()
    compare(printed["result"]["data"], expected, question.method)
    rendered = result_renderer(message.DESCRIPTOR, question.operation.options.result)(message)
    assert still(json.loads(rendered)) == still(printed["result"])


@each(REFUSED_IN_JSON)
async def test_what_a_message_says_otherwise_is_refused_in_json(question: Question, gateway: RunningGateway) -> None:
    error = (await ask_both(question, gateway))["error"]
    assert (error["code"], error["data"]["reason"]) == (400, "INVALID_ARGUMENT")
    assert error["data"]["field"] == question.note.split()[0]


def without_grpc_only(message: Message) -> Message:
    """Return the message without what JSON does not have; the status of a failure must belong to its code."""
    kept = type(message)()
    kept.CopyFrom(message)
    clear_grpc_only(kept)
    return kept


def clear_grpc_only(message: Message) -> None:
    """Clear all fields below a message that only gRPC has."""
    for field, value in message.ListFields():
        if member(field).grpc_only:
            if field.name == "status":
                assert STATUS_CODES[value] == message.code  # type: ignore[attr-defined]
            message.ClearField(field.name)
        elif field.message_type is None:
            continue
        elif field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for part in value.values():
                    clear_grpc_only(part)
        else:
            for part in value if field.label == field.LABEL_REPEATED else [value]:
                clear_grpc_only(part)


class Answer(NamedTuple):
    """What a transcoder answers, without what differs between any two calls."""

    status: int
    headers: dict[str, str]
    body: bytes


async def ask_both(question: Question, gateway: RunningGateway) -> dict[str, Any]:
    """Return the response object of a JSON-RPC request, which both transcoders must answer with the same bytes."""
    request = {"jsonrpc": "2.0", "id": 7, "method": question.method, "params": question.params}

    async def post(base: str | None) -> tuple[Answer, bytes]:
        assert base is not None
        url, headers = f"{base}/{KEY}/v1", {"X-Request-Id": "the-same-for-both"}
        async with gateway.session.post(url, json=request, headers=headers) as response:
            kept = {name: value for name, value in response.headers.items() if name not in OF_THE_CALL}
            body = await response.read()
            return Answer(response.status, kept, MOMENTS.sub(b"", body)), body

    for _ in range(TRIES):
        (here, body), (there, _) = await asyncio.gather(post(gateway.http), post(gateway.behind_socket))
        if here == there:
            break
    assert here.body == there.body
    assert (here.status, here.headers.keys()) == (there.status, there.headers.keys())
    answer: dict[str, Any] = json.loads(body)
    assert answer["id"] == request["id"]
    return answer


async def fill_in(question: Question, gateway: RunningGateway) -> Question:
    """Return the question with the hash of a real block or transaction where it says `latest`."""
    if "filled in" not in question.note:
        return question
    answer = await gateway.ask("getBlockByNumber", [{"chain": "ethereum", "block": 26050010}])
    block = answer["result"]["data"]["results"][0]["block"]
    found = block["transactions"][0] if "transaction filled in" in question.note else block["hash"]

    def fill(item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "hash": found} if item["hash"] == "latest" else item

    many = isinstance(question.params, list)
    return replace(question, params=[fill(item) for item in question.params] if many else fill(question.params))


def still(value: Any) -> Any:
    """Return the value without what changes from one call to the next; some figures come with the time of the call."""
    if isinstance(value, dict):
        timed = value.keys() & {"latencyMs", "totalUsd", "protocols", "venueA"}
        moving = {"latencyMs", "uptimeSeconds", "updatedAt"} | ({"timestamp"} if timed else set())
        return {name: still(inner) for name, inner in value.items() if name not in moving}
    return [still(inner) for inner in value] if isinstance(value, list) else value


async def refusals_agree(question: Question, gateway: RunningGateway) -> None:
    """Ask a question that is refused over all faces."""
    printed = await ask_both(await fill_in(question, gateway), gateway)
    assert "error" in printed, printed
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await gateway.ask_grpc(question.operation, question.message())
    status = status_pb2.Status()
    trailing = dict(caught.value.trailing_metadata() or ())
    details = trailing["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    status.ParseFromString(details)
    info, violation = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        if not detail.Unpack(info):
            detail.Unpack(violation)
    error = printed["error"]
    assert error["code"] == CODES[caught.value.code()]
    field = error["data"].get("field")
    own = PAGES.get(field, field) if PAGES.get(field) in question.operation.request.DESCRIPTOR.fields_by_name else field
    message = error["message"]
    assert (own + message.removeprefix(field) if own != field else message) == caught.value.details()
    assert error["data"]["reason"] == info.reason
    assert info.domain == "waypost"
    fields = [entry.field for entry in violation.field_violations]
    assert own == (fields[0] if fields else None)
    facts = {name: fact for name, fact in error["data"].items() if name not in EVERYWHERE}
    assert facts == dict(info.metadata)


def flatten(frame: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a call and the calls inside it, callers first."""
    yield frame
    for inner in frame.get("calls", ()):
        yield from flatten(inner)


def compare(printed: Any, expected: Any, where: str) -> None:
    """Walk both values; protobuf prints 64-bit integers as text, times with fractions, and keeps oneof wrappers."""
    if isinstance(expected, dict) and set(expected) == {"json"}:
        native = json.loads(expected["json"])
        whole = printed if not isinstance(native, dict) else {name: printed[name] for name in native}
        assert native == whole, where
        return
    if isinstance(expected, dict) and isinstance(printed, dict):
        for name, value in expected.items():
            if name in MOMENTARY:
                assert name in printed, f"{where}.{name}"
            elif name == "positions" and isinstance(value, dict) and isinstance(printed.get(name), list):
                compare(printed, value, where)  # a member printed inline, with one of its own name
            elif name in printed:
                compare(printed[name], value, f"{where}.{name}")
            elif name in ORDERS:
                assert list(printed[ORDERS[name]]) == value, f"{where}.{ORDERS[name]}"
            elif isinstance(value, dict):
                compare(printed, value, where)  # a member printed inline
            else:
                assert not value, f"{where}: {name} is missing"
        return
    if isinstance(expected, list):
        if isinstance(printed, dict):
            printed = list(flatten(printed))  # rows that form a tree
            expected = [{name: value for name, value in row.items() if name != "parent"} for row in expected]
        assert isinstance(printed, list)
        assert len(printed) == len(expected), where
        for number, (left, right) in enumerate(zip(printed, expected, strict=True)):
            compare(left, right, f"{where}[{number}]")
        return
    if isinstance(printed, bool) or isinstance(expected, bool):
        assert printed is expected, where
    elif isinstance(printed, int) and isinstance(expected, str):
        assert printed == int(expected) if expected.isdecimal() else printed > 0, where
    elif printed is None:
        assert expected == "", where  # the token of a page after which there is none
    elif isinstance(expected, str) and expected in LITERALS:
        assert printed == LITERALS[expected], where
    else:
        assert printed == expected, where
