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


@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("row", OWN)
@pytest.mark.parametrize("what", CODES)
async def test_a_contract_that_does_not_answer_costs_its_row_alone(judge, open_gateway, site, row, what, is_warm):
    """Both faces ask at once: the two wallets share a block, and one of them pays for what the other needs too."""
    node, address = site.nodes["ethereum"], CONTRACTS[row]
    async with open_gateway(node.url) as gateway:
        callers = [Caller(gateway, face) for face in FACES]
        if is_warm:
            await check(judge, await callers[0].summary())
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
            assert own.code == 503
        # It recovers by itself.
        await catch_up(callers[0], "ethereum")
        await check(judge, await callers[0].summary())
