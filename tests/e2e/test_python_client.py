"""The Python client over both transports: every operation gives equal messages, refusals equal exceptions."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import MessageToDict
from waypost import AsyncWaypost, KeyInvalid, NotFound, Waypost, WaypostError, error_of, value_of
from waypost.methods import native_of
from waypost.v1.account_pb2 import GetBalanceRequest
from waypost.v1.block_pb2 import GetBlockHeightRequest
from waypost.v1.common_pb2 import NativeJson

from devnet import known
from devnet.evm.world import load_world
from runtime.operations import member
from tests.e2e.gateway import KEY
from tests.e2e.questions import QUESTIONS, REFUSED
from tests.e2e.test_faces_agree import by_method, fill_in, still
from tests.each import run_cases
from transcoder.grpc_forms import attribute, snake

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from google.protobuf.message import Message

    from tests.e2e.gateway import RunningGateway
    from tests.e2e.questions import Question

pytestmark = pytest.mark.devnet

ETHEREUM = load_world()["ethereum"]
TRIES = 5
PAGING = {"page_token": "cursor", "page_size": "limit"}


@pytest.fixture(scope="session")
async def clients(gateway: RunningGateway) -> AsyncIterator[tuple[AsyncWaypost, AsyncWaypost]]:
    """One client over gRPC, one over JSON-RPC, of the same gateway."""
    async with AsyncWaypost(gateway.grpc_target, KEY) as grpc, AsyncWaypost(f"{gateway.http}/{KEY}/v1") as jsonrpc:
        yield grpc, jsonrpc


async def ask(client: AsyncWaypost, question: Question) -> Message:
    """Ask by keyword arguments, as callers do."""
    method = getattr(getattr(client, attribute(question.operation.service)), snake(question.operation.method.name))
    given = dict.fromkeys(field.name for field in question.operation.method.input_type.fields)
    given |= {field.name: value for field, value in question.message().ListFields()}
    answer: Message = await method(**given)
    return answer


def members(message: Message) -> dict[str, Any]:
    """Return all that a message holds, native JSON parsed, without what changes from one call to the next."""
    for native, typed in natives(message):
        value = value_of(native)
        if isinstance(value, dict):
            # A node's own members of the names of typed ones stay in some natives; JSON has each name once.
            value = {name: inner for name, inner in value.items() if name not in typed}
        native.CopyFrom(native_of(json.dumps(value, sort_keys=True)))
    if message.DESCRIPTOR.name == "GetPortfolioResponse":
        message.ClearField("timestamp")  # when it was put together
    found: dict[str, Any] = still(MessageToDict(message))
    return found


def natives(message: Message) -> Iterator[tuple[NativeJson, set[str]]]:
    """Yield all native JSON below a message, with the names beside it where it is printed among them."""
    for field, value in message.ListFields():
        if member(field).grpc_only:
            message.ClearField(field.name)
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            parts = list(value.values()) if field.message_type.fields_by_name["value"].message_type else []
        else:
            parts = value if field.label == field.LABEL_REPEATED else [value]
        beside = {one.json_name for one in message.DESCRIPTOR.fields} if member(field).inline else set()
        for part in parts:
            if isinstance(part, NativeJson):
                yield part, beside
            else:
                yield from natives(part)


@by_method(QUESTIONS)
async def test_answers_are_equal_messages(
    questions: list[Question], gateway: RunningGateway, clients: tuple[AsyncWaypost, AsyncWaypost]
) -> None:
    async def check(question: Question) -> None:
        question = await fill_in(question, gateway)
        for _ in range(TRIES):
            over_grpc, over_http = [members(await ask(client, question)) for client in clients]
            if over_grpc == over_http:
                break
        assert over_http == over_grpc

    await run_cases(questions, check)


@by_method(REFUSED)
async def test_refusals_are_equal_exceptions(
    questions: list[Question], gateway: RunningGateway, clients: tuple[AsyncWaypost, AsyncWaypost]
) -> None:
    async def check(question: Question) -> None:
        question = await fill_in(question, gateway)
        errors = []
        for client in clients:
            with pytest.raises(WaypostError) as caught:
                await ask(client, question)
            errors.append(caught.value)
        over_grpc, over_http = errors
        assert type(over_grpc) is type(over_http)
        assert over_grpc.reason
        if over_grpc.field in PAGING:
            # Each face names the parameter as its callers write it.
            assert over_http.field == PAGING[over_grpc.field]
        else:
            assert (over_grpc.message, over_grpc.field) == (over_http.message, over_http.field)
        assert over_grpc.facts == over_http.facts
        assert over_grpc.request_id
        assert over_http.request_id
        assert (over_grpc.node is None) == (over_http.node is None)

    await run_cases(questions, check)


async def test_a_batch_holds_answers_and_failures_in_their_order(clients: tuple[AsyncWaypost, AsyncWaypost]) -> None:
    requests = [GetBalanceRequest(chain="ethereum", address=known.VITALIK) for _ in range(60)]
    requests[55].address = "0x00"
    for client in clients:
        results = await client.execute([*requests, GetBlockHeightRequest(chain="bitcoin")])
        assert [isinstance(one, WaypostError) for one in results] == [number == 55 for number in range(61)]
        assert results[0].balance_raw == str(known.NATIVE_AT_HEAD)
        assert (results[55].reason, results[55].field) == ("INVALID_ARGUMENT", "address")
        assert results[60].chain == "bitcoin"


async def test_rows_say_why_they_have_no_value(clients: tuple[AsyncWaypost, AsyncWaypost]) -> None:
    items = [{"chain": "ethereum", "block": height} for height in (ETHEREUM.height, 99_999_999)]
    for client in clients:
        answer = await client.blocks.get_block_by_number(items=items)
        found, missing = map(error_of, answer.results)
        assert found is None
        assert isinstance(missing, NotFound)
        assert "99999999" in missing.message


async def test_iterators_read_every_page(clients: tuple[AsyncWaypost, AsyncWaypost]) -> None:
    block = ETHEREUM.height + known.CROWDED_AT
    for client in clients:
        logs = client.logs.iterate_logs(chain="ethereum", from_block=block, to_block=block, page_size=25)
        indexes = [log.log_index async for log in logs]
        assert len(indexes) >= known.CROWD
        assert indexes == sorted(set(indexes), reverse=True)


async def test_the_client_without_an_event_loop_is_the_same(gateway: RunningGateway) -> None:
    def balances() -> list[str]:
        with Waypost(gateway.grpc_target, KEY) as grpc, Waypost(gateway.http, KEY, transport="jsonrpc") as jsonrpc:
            answers = [
                one.accounts.get_balance(chain="ethereum", address=known.VITALIK).balance_raw for one in (grpc, jsonrpc)
            ]
            for client in (grpc, jsonrpc):
                [answer] = client.execute([GetBalanceRequest(chain="ethereum", address=known.VITALIK)])
                answers.append(answer.balance_raw)
                with pytest.raises(NotFound) as caught:
                    client.transactions.get_receipt(chain="ethereum", hash="0x" + "ab" * 32)
                assert caught.value.field == "hash"
            return answers

    assert await asyncio.to_thread(balances) == [str(known.NATIVE_AT_HEAD)] * 4


async def test_a_key_is_refused_by_its_reason(gateway: RunningGateway) -> None:
    for address in (gateway.grpc_target, f"{gateway.http}/wp_wrong/v1"):
        key = None if address.startswith("http") else "wp_wrong"
        async with AsyncWaypost(address, key) as client:
            with pytest.raises(KeyInvalid):
                await client.gas.compare_gas()
