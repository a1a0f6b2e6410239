"""BatchService over nodes: the answers are those of single calls over both faces, and reads fold as in a JSON batch."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2
from waypost.v1 import batch_pb2
from waypost.v1.batch_pb2_grpc import BatchServiceStub

from bench.questions import FRESH, USDC
from bench.relay import CountingRelay
from devnet.known import ALICE
from runtime.operations import load_operations
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.server.accounts import stub_of
from transcoder.render import result_renderer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from google.protobuf.message import Message

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

OPERATIONS = {operation.name: operation for operation in load_operations()}
KEY = (("x-api-key", "local"),)
CHAIN = "ethereum"
NOWHERE = "0x" + "ab" * 32


def questions(height: int) -> list[tuple[str, dict[str, Any]]]:
    """Return operations and parameters: four that are answered at a block of that height, and three that are not."""
    return [
        ("getBalance", {"chain": CHAIN, "address": ALICE, "blockHeight": height}),
        ("getTokenMetadata", {"chain": CHAIN, "address": USDC, "blockHeight": height}),
        ("getBlockByNumber", {"items": [{"chain": CHAIN, "block": height}, {"chain": CHAIN, "block": 10**9}]}),
        ("getTransactionByHash", {"items": [{"chain": CHAIN, "hash": NOWHERE}]}),
        ("getBalance", {"chain": CHAIN, "address": "0x12"}),
        ("getBalance", {"chain": "noble", "address": ALICE}),
        ("getNetworkCalendar", {}),
    ]


@asynccontextmanager
async def counted(devnet: Devnet, folder: Path) -> AsyncIterator[tuple[RunningGateway, CountingRelay]]:
    """A gateway that has read nothing but its chain's head, over a node whose requests are counted."""
    relay = CountingRelay(devnet.nodes[CHAIN].url)
    url = await relay.start()
    async with run_gateway_on({CHAIN: {"endpoints": [{"label": "counted", "url": url}]}}, folder) as running:
        await running.ask("getBalance", {"chain": CHAIN, "address": next(FRESH)})
        yield running, relay
    await relay.close()


@pytest_asyncio.fixture(loop_scope="session")
async def running(devnet: Devnet, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    async with counted(devnet, tmp_path) as (running, _):
        yield running


async def execute(running: RunningGateway, requests: list[Message]) -> batch_pb2.ExecuteResponse:
    batch = batch_pb2.ExecuteRequest()
    for request in requests:
        batch.requests.add().Pack(request)
    response: batch_pb2.ExecuteResponse = await stub_of(BatchServiceStub, running.channel).Execute(
        batch, metadata=KEY, timeout=30
    )
    return response


async def test_answers_are_those_of_single_calls_over_both_faces(running: RunningGateway) -> None:
    head = await running.ask("getBlockHeight", {"chain": CHAIN})
    wanted = questions(head["result"]["data"]["height"])
    requests = [ParseDict(fields, OPERATIONS[name].request()) for name, fields in wanted]
    response = await execute(running, requests)
    outcomes = []
    for (name, fields), request, result in zip(wanted, requests, response.results, strict=True):
        operation = OPERATIONS[name]
        params = fields["items"] if operation.takes_items else fields
        printed = await running.ask(name, params)
        outcomes.append(result.WhichOneof("outcome"))
        if result.HasField("response"):
            answer = operation.response()
            assert result.response.Unpack(answer)
            assert answer == await running.ask_grpc(operation, request)
            rendered = result_renderer(answer.DESCRIPTOR, operation.options.result)(answer)
            assert rendered == await raw_result(running, name, params)
        else:
            info = error_details_pb2.ErrorInfo()
            assert result.error.details[0].Unpack(info)
            assert info.reason == printed["error"]["data"]["reason"]
            assert result.error.message == printed["error"]["message"]
    assert outcomes == ["response"] * 3 + ["error"] * 3 + ["response"]


async def raw_result(running: RunningGateway, name: str, params: Any) -> bytes:
    """Return the bytes of `result` over JSON-RPC."""
    response = await running.post({"jsonrpc": "2.0", "id": 1, "method": name, "params": params})
    body = await response.read()
    return body.removeprefix(b'{"jsonrpc":"2.0","result":').removesuffix(b',"id":1}')


async def test_50_balances_cost_a_node_what_a_json_batch_of_them_costs(devnet: Devnet, tmp_path: Path) -> None:
    async with counted(devnet, tmp_path) as (running, relay):
        items = [
            {"jsonrpc": "2.0", "id": n, "method": "getBalance", "params": {"chain": CHAIN, "address": next(FRESH)}}
            for n in range(50)
        ]
        before = relay.requests
        answers = await (await running.post(items)).json()
        over_json = relay.requests - before
        assert all("result" in answer for answer in answers)
        wanted = [OPERATIONS["getBalance"].request(chain=CHAIN, address=next(FRESH)) for _ in range(50)]
        before = relay.requests
        response = await execute(running, wanted)
        over_grpc = relay.requests - before
        assert all(result.HasField("response") for result in response.results)
        assert (over_grpc, over_json) == (1, 1)
        wanted = [OPERATIONS["getBalance"].request(chain=CHAIN, address=next(FRESH)) for _ in range(200)]
        before = relay.requests
        response = await execute(running, wanted)
        assert all(result.HasField("response") for result in response.results)
        assert relay.requests - before == 1
