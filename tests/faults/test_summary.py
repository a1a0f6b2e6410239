"""The summary of a wallet's positions while contracts, nodes and chains fail: a row fails alone, a figure is never wrong.

Both faces of a whole gateway over nodes in which the protocols stand at their addresses. What it answers is compared
with the operations of its own, asked at the same block through another gateway that has sound nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import pytest_asyncio
from google.rpc import error_details_pb2, status_pb2

from devnet import known
from devnet.launcher import Devnet
from runtime.operations import load_operations
from server.chains.evm import gate
from tests.contract.evm.nodes import call_data
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.faults import simulator as faults
from transcoder.render import result_renderer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from devnet.evm.node import Node

OPERATIONS = {operation.name: operation for operation in load_operations()}
FACES = ("JSON-RPC", "gRPC")
FRESH = (f"0x{number:040x}" for number in itertools.count(1 << 90))
LABELS = ("alpha", "beta", "gamma")

OWN = {
    "lend-a-v2": "getLendAV2UserPositions",
    "lend-a-v3": "getLendAV3UserPositions",
    "lend-b-v2": "getLendBV2UserPositions",
    "lend-b-v3": "getLendBV3UserPositions",
    "lend-c": "getLendCUserPositions",
    "stake-a": "getStakeAUserPositions",
    "pool-a-lend": "getPoolALend",
}
"""The rows in their order, and the operation that answers each by itself."""
HERE = {"ethereum": set(OWN), "polygon": {"lend-a-v2", "lend-a-v3", "lend-b-v3", "stake-a"}}

# A contract that every reading of the row needs. The addresses are those of facts/protocols.yaml.
CONTRACTS = {
    "lend-a-v2": "0x057835Ad21a177dbdd3090bB1CAE03EaCF78Fc6d",
    "lend-a-v3": "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
    "lend-b-v2": "0x5d3a536E4D6DbD6114cc1Ead35777bAB948E3643",
    "lend-b-v3": "0xc3d688B66703497DAA19211EEdff47f25384cdc3",
    "lend-c": "0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb",
    "stake-a": "0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84",
    "pool-a-lend": "0xeA6876DDE9e3467564acBeE1Ed5bac88783205E0",
}
WRAPPED = "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"
"""The rates of stake-a come out of the wrapped token's contract, which asks the other."""
# Runtime code: reverts without data; returns a byte less than a word, all ones.
CODES = {"reverts": "0x60006000fd", "nonsense": "0x7f" + "ff" * 32 + "600052601f6000f3", "no code": "0x"}


@dataclass
class Refusal:
    """An error over either face."""

    code: int
    reason: str
    message: str


@dataclass
class Caller:
    """Asks a gateway over one face; answers are the `data` of JSON-RPC."""

    gateway: RunningGateway
    face: str

    async def ask(self, method: str, **params: Any) -> Any:
        if self.face == "JSON-RPC":
            answer = await self.gateway.ask(method, params)
            if "result" in answer:
                return answer["result"]["data"]
            error = answer["error"]
            return Refusal(error["code"], error["data"]["reason"], error["message"])
        operation = OPERATIONS[method]
        try:
            message = await self.gateway.ask_grpc(operation, operation.request(**params))
        except grpc.aio.AioRpcError as error:
            return _refusal(error)
        return json.loads(result_renderer(message.DESCRIPTOR, operation.options.result)(message))["data"]

    async def summary(self, chain: str = "ethereum", address: str = known.VITALIK) -> Any:
        return await self.ask("getDefiSummary", chain=chain, address=address)


def _refusal(error: grpc.aio.AioRpcError) -> Refusal:
    codes = {grpc.StatusCode.UNAVAILABLE: 503, grpc.StatusCode.DEADLINE_EXCEEDED: 503}
    status, info = status_pb2.Status(), error_details_pb2.ErrorInfo()
    details = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    status.ParseFromString(details)
    for detail in status.details:
        detail.Unpack(info)
    return Refusal(codes[error.code()], info.reason, str(error.details()))


@pytest.fixture(autouse=True)
def company(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of one moment leave together, however loaded the machine is: requests are counted."""
    monkeypatch.setattr(gate, "LONGEST_SECONDS", 10.0)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site() -> AsyncIterator[Devnet]:
    """Nodes of this module's own, as it changes contracts and replaces blocks."""
    async with Devnet.start(("ethereum", "polygon"), mines=False) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def judge(site: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Caller]:
    """A gateway with sound nodes."""
    folder = tmp_path_factory.mktemp("judge")
    async with run_gateway_on(settings(**{slug: [url] for slug, url in site.endpoints.items()}), folder) as gateway:
        yield Caller(gateway, FACES[0])


@pytest.fixture
def open_gateway(tmp_path: Path) -> Callable[..., Any]:
    """Opens a gateway without any tables yet on these endpoints of ethereum, and of polygon if there are any."""

    @contextlib.asynccontextmanager
    async def opened(*urls: str, **others: list[str]) -> AsyncIterator[RunningGateway]:
        async with run_gateway_on(settings(ethereum=list(urls), **others), tmp_path) as gateway:
            yield gateway

    return opened


def settings(**urls: list[str]) -> dict[str, Any]:
    return {
        slug: {"endpoints": [{"label": label, "url": url} for label, url in zip(LABELS, of_chain, strict=False)]}
        for slug, of_chain in urls.items()
    }


async def catch_up(caller: Caller, chain: str) -> None:
    """Let a gateway learn of the newest block, by a read that shares nothing with others."""
    assert not isinstance(await caller.ask("getBalance", chain=chain, address=next(FRESH)), Refusal)


async def check(judge: Caller, summary: Any, failed: set[str] = frozenset(), chain: str = "ethereum") -> dict[str, Any]:
    """Check order, states and figures of a summary, and return the errors by row."""
    await catch_up(judge, chain)
    assert not isinstance(summary, Refusal), summary
    assert [row["protocol"] for row in summary["protocols"]] == list(OWN)
    errors = {}
    for row in summary["protocols"]:
        name = row["protocol"]
        wanted = "unsupported" if name not in HERE[chain] else "error" if name in failed else "ok"
        assert row["status"] == wanted, row
        if wanted == "ok":
            own = await judge.ask(OWN[name], chain=chain, address=summary["address"])
            assert row["data"] == {key: own[key] for key in own.keys() - {"chain", "address", "blockHeight"}}
            assert own["blockHeight"] == summary["blockHeight"]
        else:
            assert row["data"] is None
            if wanted == "error":
                errors[name] = row["error"]
    assert errors.keys() == failed
    return errors


@contextlib.asynccontextmanager
async def with_code(node: Node, address: str, code: str) -> AsyncIterator[None]:
    """Other code at an address, in a block of its own, for as long as the block inside runs."""
    was = await node.call("eth_getCode", address, "latest")
    assert was != "0x", f"nothing stands at {address}"
    await node.call("anvil_setCode", address, code)
    await node.call("anvil_mine", "0x1", "0xc")
    try:
        yield
    finally:
        await node.call("anvil_setCode", address, was)
        await node.call("anvil_mine", "0x1", "0xc")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("chain", list(HERE))
async def test_rows_are_those_of_the_operations_of_their_own(judge, open_gateway, site, face, chain):
    async with open_gateway(site.endpoints["ethereum"], polygon=[site.endpoints["polygon"]]) as gateway:
        for wallet in (known.VITALIK, known.ALICE, known.BOB, next(FRESH)):
            await check(judge, await Caller(gateway, face).summary(chain, wallet), chain=chain)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def warm(site: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """A gateway of the module that has all tables, with an endpoint that no test spoils."""
    async with run_gateway_on(
        settings(ethereum=[site.endpoints["ethereum"]]), tmp_path_factory.mktemp("warm")
    ) as gateway:
        await Caller(gateway, FACES[0]).summary()
        yield gateway


@pytest.mark.parametrize("row", OWN)
@pytest.mark.parametrize("what", CODES)
async def test_a_contract_that_does_not_answer_costs_its_row_alone(judge, warm, site, row, what):
    await check_row(judge, warm, site.nodes["ethereum"], row, what)


@pytest.mark.parametrize(("row", "what"), list(zip(OWN, itertools.cycle(CODES), strict=False)))
async def test_so_does_one_whose_tables_are_not_there_yet(judge, open_gateway, site, row, what):
    node = site.nodes["ethereum"]
    async with open_gateway(node.url) as gateway:
        await check_row(judge, gateway, node, row, what)


async def check_row(judge: Caller, gateway: RunningGateway, node: Node, row: str, what: str) -> None:
    """Both faces ask at once: the two wallets share a block, and one of them asks for what the other needs too."""
    address, callers = CONTRACTS[row], [Caller(gateway, face) for face in FACES]
    async with with_code(node, address, CODES[what]):
        await catch_up(callers[0], "ethereum")
        asked = zip(callers, (known.ALICE, known.VITALIK), strict=True)
        for summary in await asyncio.gather(*(caller.summary(address=wallet) for caller, wallet in asked)):
            error = (await check(judge, summary, {row}))[row]
            assert error["code"] == 503
            assert error["reason"] in ("UPSTREAM_UNAVAILABLE", "PRICE_UNAVAILABLE")
            if what == "no code":
                assert (WRAPPED if row == "stake-a" else address) in error["message"]
                assert "no contract is there" in error["message"] or row == "stake-a"
        own = await callers[1].ask(OWN[row], chain="ethereum", address=known.VITALIK)
        assert isinstance(own, Refusal)
        assert (own.code, own.reason, own.message) == (503, error["reason"], error["message"])
    # It recovers by itself.
    await catch_up(callers[0], "ethereum")
    await check(judge, await callers[0].summary())


@pytest_asyncio.fixture(loop_scope="session")
async def front(site: Devnet, faulty: Any) -> faults.FaultyNode:
    """The node of ethereum, to be spoilt."""
    found: faults.FaultyNode = await faulty(site.endpoints["ethereum"])
    return found


async def test_tables_that_take_too_long_fail_their_row_and_are_there_the_next_time(judge, open_gateway, front):
    factory = CONTRACTS["pool-a-lend"][2:].lower()
    async with open_gateway(front.url) as gateway:
        callers = [Caller(gateway, face) for face in FACES]
        for row, method in OWN.items():
            if row != "pool-a-lend":
                await callers[0].ask(method, chain="ethereum", address=known.ALICE)

        async def slow(request: faults.Request) -> None:
            # Only the tables of the vaults ask for the vault of a place.
            if factory in request.body.decode() and call_data("vaults(uint256)", 0)[2:10] in request.body.decode():
                await asyncio.sleep(4)
            await faults.honest(request)

        front.fault = slow
        for summary in await asyncio.gather(*(caller.summary() for caller in callers)):
            error = (await check(judge, summary, {"pool-a-lend"}))["pool-a-lend"]
            assert (error["code"], error["reason"]) == (503, "DEADLINE_EXCEEDED")
            assert "3 s" in error["message"]
        await asyncio.sleep(1.5)
        for caller in callers:
            await check(judge, await caller.summary())


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
        async with asyncio.timeout(20):
            while "error" in str(answer := await caller.summary("polygon")):
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
