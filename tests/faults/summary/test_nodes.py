"""Nodes and chains that fail while a summary is read: it is whole and of one block, or a named error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from devnet import known
from tests.faults import simulator as faults
from tests.faults.summary.asking import FACES, FRESH, LABELS, Caller, Refusal, catch_up, check
from tests.server.chains.evm.nodes import call_data

pytestmark = pytest.mark.devnet


def capped(gas: int) -> faults.Fault:
    """Be a node that caps the gas of an `eth_call`: the real one runs it with no more."""

    async def fault(request: faults.Request) -> None:
        asked = json.loads(request.body)
        for one in asked if isinstance(asked, list) else [asked]:
            if one["method"] == "eth_call":
                one["params"][0]["gas"] = hex(gas)
        faults.write_answer(request, await request.forward(json.dumps(asked).encode()))

    return fault


def too_large(most: int, message: str) -> faults.Fault:
    """Refuse executions whose answer has more than so many hex digits."""

    def change(one: dict[str, Any]) -> None:
        if len(one.get("result", "")) > most:
            del one["result"]
            one["error"] = {"code": -32000, "message": message}

    return faults.spoil("eth_call", change)


LIMITS = {
    "gas": capped(5_000_000),
    "less gas": capped(1_500_000),
    "response": too_large(12_000, "backend response too large"),
    "time": too_large(12_000, "execution aborted (timeout = 5s)"),
    "batches": faults.refuse_batches(),
    "large batches": faults.refuse_batches("batch limit exceeded", over=2),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("limit", LIMITS)
async def test_what_a_node_finds_too_much_is_asked_in_parts(judge, open_gateway, front, limit, face):
    front.fault = LIMITS[limit]
    async with open_gateway(front.url) as gateway:
        caller = Caller(gateway, face)
        for wallet in (known.VITALIK, known.ALICE):
            del front.asked[:]
            await check(judge, await caller.summary(address=wallet))
        # So little stands in this world that five million suffice.
        assert requests_of(front) > 1 or limit == "gas"


@pytest.mark.parametrize("face", FACES)
async def test_elsewhere_ethereum_out_of_reach_costs_the_staking_row(judge, open_gateway, front, site, face):
    async with open_gateway(front.url, polygon=[site.endpoints["polygon"]]) as gateway:
        caller = Caller(gateway, face)
        await front.stop()
        error = (await check(judge, await caller.summary("polygon"), {"stake-a"}, "polygon"))["stake-a"]
        assert (error["code"], error["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
        assert "ethereum" in error["message"]
        own = await caller.ask("getStakeAUserPositions", chain="polygon", address=known.VITALIK)
        assert (own.code, own.reason) == (503, "UPSTREAM_UNAVAILABLE")
        assert "ethereum" in own.message
        await front.start()
        answer: Any = None
        for _ in range(100):
            answer = await caller.summary("polygon")
            if "error" not in str(answer):
                break
            await asyncio.sleep(0.2)
        await check(judge, answer, chain="polygon")


@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("face", FACES)
async def test_a_chain_that_cannot_be_read_is_an_error_and_no_rows(open_gateway, front, face, is_warm):
    async with open_gateway(front.url) as gateway:
        caller = Caller(gateway, face)
        if is_warm:
            await caller.summary(address=known.ALICE)
        await front.stop()
        refusal = await caller.summary()
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.reason) == (503, "UPSTREAM_UNAVAILABLE")


@pytest.mark.parametrize("face", FACES)
async def test_a_block_replaced_between_two_executions_is_no_mixed_answer(judge, open_gateway, front, site, face):
    """On the second block ALICE has given away what the first shows her to have."""
    node, token = site.nodes["ethereum"], "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"
    async with open_gateway(front.url) as gateway:
        caller = Caller(gateway, face)
        await caller.summary(address=known.BOB)
        start = int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
        clean = await node.call("evm_snapshot")
        await node.call("anvil_mine", "0x1", "0xc")
        await catch_up(caller, "ethereum")
        executions = 0

        async def replace(request: faults.Request) -> None:
            nonlocal clean, executions
            answers = []
            for one in json.loads(request.body) if request.asked.is_batch else [json.loads(request.body)]:
                executions += one["method"] == "eth_call"
                if executions == 2:
                    await node.call("evm_revert", clean)
                    clean = await node.call("evm_snapshot")
                    await node.call("anvil_impersonateAccount", known.ALICE)
                    data = call_data("transfer(address,uint256)", known.BOB, 10**15)
                    await node.call("eth_sendTransaction", {"from": known.ALICE, "to": token, "data": data})
                    await node.call("evm_setNextBlockTimestamp", start + 5)
                    await node.call("evm_mine")
                answers.append(json.loads(await request.forward(json.dumps(one).encode())))
            faults.write_answer(request, json.dumps(answers if request.asked.is_batch else answers[0]).encode())

        before = await caller.summary(address=known.VITALIK)
        front.fault = replace
        del front.asked[:]
        summary = await caller.summary(address=known.ALICE)
        front.fault = faults.honest
        assert executions > 2
        # The batch; its executions anew; and all once more, as what is kept of the block that went away shows itself.
        assert requests_of(front) == 3
        try:
            assert summary["blockHeight"] == before["blockHeight"]
            await check(judge, summary)
        finally:
            await node.call("evm_revert", clean)
            # Longer than the branch that went away.
            await node.call("anvil_mine", "0x3", "0xc")


def foreign(request_of_other: str) -> faults.Fault:
    """Answer with the state of another chain."""

    async def fault(request: faults.Request) -> None:
        session = request.forward.__self__._session  # type: ignore[attr-defined]
        headers = {"Content-Type": "application/json"}
        async with session.post(request_of_other, data=request.body, headers=headers) as response:
            faults.write_answer(request, await response.read())

    return fault


ENDPOINT_FAULTS = {
    "hung": faults.silence,
    "half": faults.half_batch,
    "other ids": faults.wrong_id,
    "not JSON": faults.cut_json,
    "cut": faults.cut,
    "empty results": faults.spoil("eth_call", lambda one: one.update(result="0x")),
    "words gone": faults.spoil("eth_call", lambda one: one.update(result=one["result"][:-512])),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("fault", [*ENDPOINT_FAULTS, "other chain"])
async def test_one_of_three_endpoints_that_fails_is_not_noticed(judge, open_gateway, faulty, site, fault, face):
    fronts = [await faulty(site.endpoints["ethereum"]) for _ in LABELS]
    async with open_gateway(*(front.url for front in fronts)) as gateway:
        caller = Caller(gateway, face)
        bad = fronts[0]
        bad.fault = ENDPOINT_FAULTS.get(fault) or foreign(site.endpoints["polygon"])
        for wallet in (known.VITALIK, known.ALICE, known.BOB):
            await check(judge, await caller.summary(address=wallet))


@pytest.mark.parametrize("face", FACES)
async def test_ten_summaries_at_once_are_ten_requests_and_then_none(judge, open_gateway, front, face):
    wallets = [next(FRESH) for _ in range(8)] + [known.VITALIK, known.ALICE]
    async with open_gateway(front.url) as gateway:
        caller = Caller(gateway, face)
        await caller.summary(address=known.BOB)

        async def ask() -> list[Any]:
            if face == "gRPC":
                return list(await asyncio.gather(*(caller.summary(address=wallet) for wallet in wallets)))
            params = [{"chain": "ethereum", "address": wallet} for wallet in wallets]
            body = [
                {"jsonrpc": "2.0", "id": place, "method": "getDefiSummary", "params": one}
                for place, one in enumerate(params)
            ]
            answers = await (await gateway.post(body)).json()
            return [one["result"]["data"] for one in sorted(answers, key=lambda one: one["id"])]

        del front.asked[:]
        first = await ask()
        assert 1 <= requests_of(front) <= 10
        del front.asked[:]
        again = await ask()
        assert requests_of(front) == 0
        for summary, same in zip(first, again, strict=True):
            assert summary["protocols"] == same["protocols"]
            await check(judge, summary)


def requests_of(front: faults.FaultyNode) -> int:
    """Return how many requests brought reads of contracts."""
    return sum("eth_call" in asked.methods for asked in front.asked)
