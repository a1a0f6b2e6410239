"""Calls that nodes refuse in words of their own: an answer where it is repeated and confirmed, else an outage."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from devnet import known
from tests.e2e.questions.question import OPERATIONS
from tests.faults import simulator as faults
from tests.faults.test_whole_gateway import gateway_on
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway
    from tests.faults.simulator import FaultyNode

pytestmark = pytest.mark.devnet

# A contract that reverts whatever it is called with, without data.
TARGET = "0x00000000000000000000000000000000000000fa"
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
CODE = "0x5f5ffd"
# Error code, message: none of the words that are known.
ODD = (-32000, "the frobnicator gave up at https://node.example/v2/s3cret-k3y")
ASKED: dict[str, dict[str, Any]] = {
    "simulateCall": {"to": TARGET, "data": "0x1234"},
    "estimateGas": {"to": TARGET, "data": "0x1234"},
    "chainRpc": {"method": "eth_call", "params": [{"to": TARGET, "data": "0x1234"}, "latest"]},
    "getTokenBalance": {"address": WALLET, "token": TARGET},
    "getTokenMetadata": {"address": TARGET},
    "getNftTokenOwner": {"contract": TARGET, "tokenId": "1"},
    "getNftBalance": {"contract": TARGET, "address": WALLET},
}
MADE_UP = ("simulateCall", "estimateGas", "chainRpc")


def refuses(code: int, message: str, times: int | None = None) -> faults.Fault:
    """Answer calls of the target with this error, `times` times; pass everything else on."""
    left = [times]

    async def fault(request: faults.Request) -> None:
        asked, answer = json.loads(request.body), await request.node_answer()
        pairs = zip(asked, answer, strict=True) if isinstance(asked, list) else [(asked, answer)]
        hit = False
        for one, reply in pairs:
            to = one["params"][0].get("to", "") if one["params"] and isinstance(one["params"][0], dict) else ""
            if one["method"] not in ("eth_call", "eth_estimateGas") or to.lower() != TARGET:
                continue
            hit = True
            reply.pop("result", None)
            reply.pop("error", None)
            if left[0] == 0:
                reply["result"] = "0x5208"
            else:
                reply["error"] = {"code": code, "message": message}
        if hit and left[0]:
            left[0] -= 1
        faults.write_answer(request, json.dumps(answer).encode())

    return fault


def calls_of(*nodes: FaultyNode) -> list[int]:
    """How many requests with a call in them each node got since it was cleared."""
    return [
        sum(any(one in ("eth_call", "eth_estimateGas") for one in asked.methods) for asked in node.asked)
        for node in nodes
    ]


@contextlib.asynccontextmanager
async def site(
    devnet: Devnet, faulty: Callable[..., Any], folder: Path, *kinds: faults.Fault
) -> AsyncIterator[tuple[RunningGateway, list[FaultyNode]]]:
    """A gateway on as many endpoints as there are kinds of faults; the first is asked first."""
    async with unchanged(devnet, "ethereum") as node:
        await node.call("anvil_setCode", TARGET, CODE)
        await node.call("evm_mine")
        nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in kinds]
        async with gateway_on(folder, *(one.url for one in nodes)) as gateway:
            # Chain ids and heads are known before anything is counted, and that the first is by far the fastest.
            for one in nodes[1:]:
                one.fault = faults.delay(0.2)
            for _ in range(4):
                await gateway.ask("getBalance", {"chain": "ethereum", "address": WALLET})
                await gateway.ask("getChainHealth", {"chain": "ethereum"})
                await node.call("evm_mine")
            for one, kind in zip(nodes, kinds, strict=True):
                one.fault = kind
                one.asked.clear()
            yield gateway, nodes


async def ask(gateway: RunningGateway, method: str) -> dict[str, Any]:
    return await gateway.ask(method, {"chain": "ethereum", **ASKED[method]})


async def errors_of(gateway: RunningGateway, nodes: list[FaultyNode], words: str) -> list[dict[str, Any]]:
    """Return what callers' own calls get of nodes that refuse them in these words; only those requests are kept."""
    for node in nodes:
        node.fault = refuses(-32000, words)
        node.asked.clear()
    return [(await ask(gateway, method))["error"] for method in MADE_UP]


async def check_grpc(gateway: RunningGateway, method: str, error: dict[str, Any]) -> None:
    """Check that the gRPC face answers what the JSON face answered."""
    params: dict[str, Any] = {"chain": "ethereum", **ASKED[method]}
    operation = OPERATIONS[method]
    if method == "chainRpc":
        params["params"] = {"json": json.dumps(params["params"])}
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await gateway.ask_grpc(operation, ParseDict(params, operation.request()))
    assert caught.value.details() == error["message"]
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("endpoints", [1, 2, 3])
async def test_what_is_repeated_and_confirmed_is_the_answer(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path, method: str, endpoints: int
) -> None:
    others = [refuses(-32603, "quite another wording")] * (endpoints - 1)
    async with site(devnet, faulty, tmp_path, refuses(*ODD), *others) as (gateway, nodes):
        error = (await ask(gateway, method))["error"]
        # A token's reads were folded before; then one request, and two more at most: a second endpoint, and the first
        # once more.
        folds = 0 if method in MADE_UP else 1
        assert calls_of(nodes[0]) == [2 + folds]
        assert sum(calls_of(*nodes[1:])) == min(1, endpoints - 1)
        assert error["code"] == 400
        if method in MADE_UP:
            assert error["data"]["reason"] == "REVERTED"
            assert error["message"].startswith("the nodes refuse the call: the frobnicator gave up at ")
            assert "data" not in error["data"]
        else:
            assert error["data"]["reason"] == "NOT_A_TOKEN"
        assert "s3cret" not in f"{error}"
        assert "node.example" not in f"{error}"
        await check_grpc(gateway, method, error)


@pytest.mark.parametrize("method", MADE_UP)
async def test_a_second_endpoint_that_answers_is_believed(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path, method: str
) -> None:
    async with site(devnet, faulty, tmp_path, refuses(*ODD), refuses(*ODD, times=0)) as (gateway, nodes):
        answer = await ask(gateway, method)
        assert "0x5208" in f"{answer['result']}"
        assert calls_of(*nodes) == [1, 1]


@pytest.mark.parametrize("method", MADE_UP)
@pytest.mark.parametrize("endpoints", [1, 2])
async def test_what_is_not_repeated_is_not_the_answer(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path, method: str, endpoints: int
) -> None:
    others = [refuses(*ODD)] * (endpoints - 1)
    async with site(devnet, faulty, tmp_path, refuses(*ODD, times=1), *others) as (gateway, nodes):
        answer = await ask(gateway, method)
        assert "0x5208" in f"{answer['result']}"
        assert sum(calls_of(*nodes)) == endpoints + 1


async def test_without_a_second_opinion_of_a_sound_endpoint_it_stays_an_outage(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    async with site(devnet, faulty, tmp_path, refuses(*ODD), faults.honest) as (gateway, nodes):
        await nodes[1].stop()
        reasons = []
        for _ in range(30):
            answer = await ask(gateway, "simulateCall")
            reasons.append(answer["error"]["data"]["reason"])
            # Reads of others show which endpoints are dead.
            await gateway.ask("getChainHealth", {"chain": "ethereum"})
        assert reasons[0] == "UPSTREAM_UNAVAILABLE"
        # Once the dead one counts as dead, the living one is the only one there is.
        assert reasons[-1] == "REVERTED"
        assert sorted(reasons, key=reasons.index) == sorted(reasons, reverse=True)


WORDS_OF_OTHER_THINGS = [
    "daily request count limit reached",
    "this node is overloaded, come back in a while",
    "evm: call took too long",
    "the state is gone",
    "no such block here",
    "method handler crashed",
    "internal failure",
    "request timed out while waiting",
    "backend said no",
]


async def test_words_of_limits_state_blocks_time_and_methods_are_no_answer(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    async with site(devnet, faulty, tmp_path, faults.honest, faults.honest) as (gateway, nodes):
        for words in WORDS_OF_OTHER_THINGS:
            for error in await errors_of(gateway, nodes, words):
                assert error["code"] == 503, error
                assert error["data"]["reason"] != "REVERTED"
            assert calls_of(*nodes) == [3, 3], words


async def test_errors_of_other_codes_are_no_answer(devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path) -> None:
    async with site(devnet, faulty, tmp_path, faults.honest) as (gateway, [node]):
        for code in (-32001, -32700, 7, -32005):
            node.fault = refuses(code, "the frobnicator gave up")
            node.asked.clear()
            answer = await ask(gateway, "simulateCall")
            assert answer["error"]["data"]["reason"] != "REVERTED"
            assert calls_of(node) == [1], code


def refuse_all(*passed: str) -> faults.Fault:
    """Refuse the calls of all contracts but these, as a node may that has lost something it has no words for."""

    async def fault(request: faults.Request) -> None:
        asked, answer = json.loads(request.body), await request.node_answer()
        for one, reply in zip(asked, answer, strict=True) if isinstance(asked, list) else [(asked, answer)]:
            if one["method"] == "eth_call" and one["params"][0].get("to", "").lower() not in passed:
                reply.pop("result", None)
                reply["error"] = {"code": ODD[0], "message": ODD[1]}
        faults.write_answer(request, json.dumps(answer).encode())

    return fault


@pytest.mark.parametrize("has_multicall", [True, False])
async def test_reads_of_the_gateways_own_choice_never_take_a_broken_node_for_an_answer(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path, has_multicall: bool
) -> None:
    fault = refuse_all() if has_multicall else refuse_all(known.MULTICALL3.lower())
    async with site(devnet, faulty, tmp_path, fault, fault) as (gateway, nodes):
        if not has_multicall:
            await devnet.nodes["ethereum"].call("anvil_setCode", known.MULTICALL3, "0x")
        answer = await gateway.ask("getApprovals", {"chain": "ethereum", "address": WALLET})
        assert answer["error"]["code"] == 503, answer
        assert len(nodes[0].methods) >= (2 if has_multicall else 30)


# What go-ethereum 1.17 answers for precompiled contracts (core/vm/contracts.go), code -32000.
PRECOMPILES = [
    "invalid input length",
    "invalid final flag",
    "bad elliptic curve pairing size",
    "invalid fp.Element encoding",
    "invalid field element top bytes",
    "g1 point is not on correct subgroup",
    "g2 point is not on correct subgroup",
    "invalid point: not on curve",
    "bn256: malformed point",
    "mismatched versioned hash",
    "error verifying kzg proof: can't verify opening proof",
    "one or more of base/exponent/modulus length exceeded 1024 bytes",
]


async def test_precompiled_contracts_that_refuse_their_input_are_known(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    async with site(devnet, faulty, tmp_path, faults.honest, faults.honest) as (gateway, nodes):
        for words in PRECOMPILES:
            for error in await errors_of(gateway, nodes, words):
                assert (error["code"], error["data"]["reason"]) == (400, "REVERTED"), words
            # It is the answer at once: no other endpoint is asked.
            assert sum(calls_of(*nodes)) == 3
