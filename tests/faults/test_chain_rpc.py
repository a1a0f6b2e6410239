"""A chain's own JSON-RPC over endpoints that fail: what leaves for the nodes, and what native clients are answered."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from tests.e2e.gateway import KEY
from tests.faults import simulator as faults
from tests.faults.test_whole_gateway import gateway_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

PATH = f"/{KEY}/rpc/ethereum"
HASH = "0x" + "12" * 32


def call(method: str, *params: Any, identity: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": list(params)}


async def ask(gateway: RunningGateway, body: Any) -> tuple[int, Any]:
    response = await gateway.post(body, path=PATH)
    return response.status, json.loads(await response.read())


async def test_unequal_reads_of_a_batch_leave_as_one_request(
    faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, node.url) as gateway:
        await ask(gateway, call("eth_chainId"))
        node.asked.clear()
        batch = [call("eth_getTransactionCount", f"0x{number:040x}", "latest", identity=number) for number in range(99)]
        _, answers = await ask(gateway, [*batch, call("eth_gasPrice")])
        assert [answer["result"] for answer in answers[:99]] == ["0x0"] * 99
        sent = [[one for one in asked.methods if one != "eth_chainId"] for asked in node.asked]
        assert [len(methods) for methods in sent] == [100]


async def test_balances_of_a_batch_are_one_execution(
    faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, node.url) as gateway:
        await ask(gateway, call("eth_chainId"))
        node.asked.clear()
        batch = [call("eth_getBalance", f"0x{number:040x}", identity=number) for number in range(50)]
        _, answers = await ask(gateway, [*batch, call("eth_getBalance", known.VITALIK, "latest")])
        assert int(answers[50]["result"], 16) > 0
        assert [method for method in node.methods if method != "eth_chainId"] == ["eth_call"]


async def test_equal_calls_of_one_moment_are_one_and_no_call_is_folded(
    faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, node.url) as gateway:
        await ask(gateway, call("eth_chainId"))
        node.asked.clear()
        wanted = {"to": known.PROBER, "data": "0x", "from": known.VITALIK}
        requests = [ask(gateway, call("eth_call", wanted, "latest")) for _ in range(5)]
        other = ask(gateway, call("eth_call", wanted | {"from": known.PROBER}, "latest"))
        await asyncio.gather(*requests, other)
        assert [asked.methods for asked in node.asked] == [["eth_call"]] * 2


async def test_what_one_node_lacks_is_asked_of_the_others(
    faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path
) -> None:
    nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in range(3)]
    async with gateway_on(tmp_path, *(node.url for node in nodes)) as gateway:
        status, answer = await ask(gateway, call("eth_getTransactionReceipt", HASH))
        assert (status, answer) == (200, {"jsonrpc": "2.0", "id": 1, "result": None})
        assert sum(node.methods.count("eth_getTransactionReceipt") for node in nodes) == 3


async def test_a_refusing_node_is_left_for_another(faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path) -> None:
    broken, sound = await faulty(devnet.endpoints["ethereum"]), await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, broken.url, sound.url) as gateway:
        broken.fault = faults.status("503 Service Unavailable")
        assert await ask(gateway, call("net_version")) == (200, {"jsonrpc": "2.0", "id": 1, "result": "1"})


@pytest.mark.parametrize(
    "fault",
    [
        faults.status("503 Service Unavailable"),
        faults.drop,
        faults.wrong_id,
        faults.cut_json,
        faults.error(
            -32005, "daily request count exceeded at https://node.example/secret", line="429 Too Many Requests"
        ),
        faults.error(-32603, "internal error at 10.0.0.5:8545", line="500 Internal Server Error"),
    ],
    ids=["refuses", "drops", "answers another", "cuts off", "throttles", "is broken"],
)
async def test_where_no_node_answers_the_error_is_the_gateways(
    fault: Any, faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, node.url) as gateway:
        await ask(gateway, call("eth_chainId"))
        node.fault = fault
        status, answer = await ask(gateway, call("eth_gasPrice"))
        assert (status, answer["error"]["code"]) == (503, -32603)
        assert answer["error"]["data"]["reason"] == "UPSTREAM_UNAVAILABLE"
        text = json.dumps(answer)
        assert not any(secret in text for secret in ("node.example", "10.0.0.5", "secret", str(node.port)))


async def test_a_node_that_says_nothing_is_a_503(faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, node.url) as gateway:
        await ask(gateway, call("eth_chainId"))
        node.fault = faults.silence
        status, answer = await ask(gateway, call("eth_gasPrice"))
        assert (status, answer["error"]["code"]) == (503, -32603)
        assert answer["error"]["data"]["reason"] == "DEADLINE_EXCEEDED"


async def test_an_error_comes_whole_but_for_addresses(
    faulty: Callable[..., Any], devnet: Devnet, tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    long = "0x" + "ab" * 400_000
    said = {
        "code": -32000,
        "message": "execution reverted: " + "x" * 20_000 + f" at {node.url}",
        "data": {"answer": long, "of": "http://127.0.0.1:9/key", "numbers": [10**30, 1.5, None]},
    }
    async with gateway_on(tmp_path, node.url) as gateway:
        await ask(gateway, call("eth_chainId"))
        node.fault = spoken(said)
        status, answer = await ask(gateway, call("eth_call", {"to": known.PROBER}, "latest"))
        assert status == 200, answer
        error = answer["error"]
        assert (error["code"], error["data"]["answer"]) == (-32000, long)
        assert error["data"]["numbers"] == [10**30, 1.5, None]
        assert error["message"].startswith("execution reverted: " + "x" * 20_000)
        assert not any(secret in json.dumps(answer) for secret in ("secret-key-in-path", "127.0.0.1", str(node.port)))


def spoken(error: dict[str, Any]) -> Any:
    """Answer every call with this error object."""

    async def answer(request: faults.Request) -> None:
        parsed = json.loads(request.body)
        calls = parsed if isinstance(parsed, list) else [parsed]
        said = [{"jsonrpc": "2.0", "id": one["id"], "error": error} for one in calls]
        faults.write_answer(request, json.dumps(said if isinstance(parsed, list) else said[0]).encode())

    return answer
