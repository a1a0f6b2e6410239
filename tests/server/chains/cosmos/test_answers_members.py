"""Members of nodes' documents that callers need: addresses of documents, ids of withdrawals, parties of messages.

A relay puts into the model's answers what only real chains have; both faces are asked.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from cosmpy.crypto.address import Address
from waypost.v1 import cosmos_pb2, cosmos_validator_pb2, token_pb2, transaction_pb2

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address, operator
from runtime.operations import load_operations
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    import aiohttp

    from devnet.cosmos.process import CosmosChains

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE, BOB, CAROL = (address(HUB, name) for name in (known.ALICE, known.BOB, known.CAROL))
OPERATIONS = {operation.name: operation for operation in load_operations()}


@asynccontextmanager
async def relay(target: str, plain: aiohttp.ClientSession, change: Callable[[str, Any], None]) -> AsyncIterator[str]:
    async def serve(request: web.Request) -> web.Response:
        async with plain.get(target + request.path_qs) as got:
            answer = await got.json()
            change(request.path, answer)
            return web.json_response(answer, status=got.status)

    app = web.Application()
    app.router.add_get("/{path:.*}", serve)
    async with serve_app(app) as url:
        yield url


@asynccontextmanager
async def serving(*endpoints: tuple[str, str, str], folder: Path) -> AsyncIterator[RunningGateway]:
    rows = [{"label": label, "url": url, "kind": kind} for label, url, kind in endpoints]
    async with run_gateway_on({"cosmoshub": {"endpoints": rows}}, folder) as running:
        yield running


async def test_metadata_and_withdrawals_keep_what_nodes_return(
    model: CosmosChains, plain: aiohttp.ClientSession, tmp_path: Path
) -> None:
    def change(path: str, answer: Any) -> None:
        if "denoms_metadata" in path:
            answer["metadata"] |= {"uri": "ipfs://about-atom", "uri_hash": "ab" * 32}
            answer["metadata"]["denom_units"][1]["aliases"] = None
        if path.endswith("/unbonding_delegations"):
            [row] = answer["unbonding_responses"]
            row["entries"][0] |= {"unbonding_id": "18446744073709551615", "unbonding_on_hold_ref_count": "2"}
            old = dict(row["entries"][0])
            del old["unbonding_id"], old["unbonding_on_hold_ref_count"]
            row["entries"].append(old)

    hub = {"chain": "cosmoshub"}
    async with (
        relay(model.endpoints["cosmoshub"][0].url, plain, change) as url,
        serving(("rest", url, "rest"), folder=tmp_path) as gateway,
    ):
        metadata = (await gateway.ask("getTokenMetadata", hub | {"address": "uatom"}))["result"]["data"]["metadata"]
        assert (metadata["uri"], metadata["uri_hash"]) == ("ipfs://about-atom", "ab" * 32)
        assert [unit["aliases"] for unit in metadata["denom_units"]] == [["microatom"], []]
        asked = token_pb2.GetTokenMetadataRequest(chain="cosmoshub", address="uatom")
        typed = (await gateway.ask_grpc(OPERATIONS["getTokenMetadata"], asked)).cosmos.metadata
        assert (typed.uri, typed.uri_hash, list(typed.denom_units[0].aliases)) == (
            "ipfs://about-atom",
            "ab" * 32,
            ["microatom"],
        )
        found = await gateway.ask("getUnbondingDelegations", hub | {"delegator": ALICE})
        held, old = found["result"]["data"]["unbonding_responses"][0]["entries"]
        assert (held["unbonding_id"], held["unbonding_on_hold_ref_count"]) == ("18446744073709551615", "2")
        assert (old["unbonding_id"], old["unbonding_on_hold_ref_count"]) == (None, None)
        request = cosmos_pb2.GetUnbondingDelegationsRequest(chain="cosmoshub", delegator=ALICE)
        rows = (await gateway.ask_grpc(OPERATIONS["getUnbondingDelegations"], request)).unbonding_responses
        first, second = rows[0].entries
        assert (first.unbonding_id, second.HasField("unbonding_id")) == (held["unbonding_id"], False)


def _party(who: str) -> dict[str, Any]:
    return {"address": who, "coins": [{"denom": "uatom", "amount": "1"}]}


MULTI, CREATE = "/cosmos.bank.v1beta1.MsgMultiSend", "/cosmos.staking.v1beta1.MsgCreateValidator"
VALIDATOR = operator(HUB, 1)


@pytest.mark.parametrize(
    ("message", "sender", "receiver"),
    [
        ({"@type": MULTI, "inputs": [_party(ALICE)], "outputs": [_party(BOB), _party(CAROL)]}, ALICE, None),
        ({"@type": MULTI, "inputs": [_party(ALICE)], "outputs": [_party(BOB)]}, ALICE, BOB),
        ({"@type": MULTI, "inputs": [_party(ALICE), _party(CAROL)], "outputs": [_party(BOB)]}, None, BOB),
        ({"@type": MULTI, "inputs": [], "outputs": "none"}, None, None),
        ({"@type": MULTI, "inputs": [{"coins": []}], "outputs": [7]}, None, None),
        ({"@type": CREATE, "delegator_address": "", "validator_address": VALIDATOR}, "own account", VALIDATOR),
        ({"@type": CREATE, "delegator_address": ALICE, "validator_address": VALIDATOR}, ALICE, VALIDATOR),
        ({"@type": CREATE, "delegator_address": "", "validator_address": ALICE}, None, ALICE),
        ({"@type": CREATE, "delegator_address": "", "validator_address": "nobody"}, None, "nobody"),
        ({"@type": "/some.other.Msg", "validator_address": VALIDATOR}, None, VALIDATOR),
    ],
)
async def test_who_sends_and_who_receives(
    model: CosmosChains,
    plain: aiohttp.ClientSession,
    tmp_path: Path,
    message: dict[str, Any],
    sender: str | None,
    receiver: str | None,
) -> None:
    def change(path: str, answer: Any) -> None:
        if "/tx/v1beta1/txs/" in path:
            answer["tx"]["body"]["messages"] = [message]

    if sender == "own account":
        sender = cosmpy_account(VALIDATOR)
    rest, comet = model.endpoints["cosmoshub"]
    async with relay(rest.url, plain, change) as url:
        endpoints = (("rest", url, "rest"), ("comet", comet.url, "comet"))
        async with serving(*endpoints, folder=tmp_path) as gateway:
            block = {"chain": "cosmoshub", "blockNumber": HUB.first + known.SENT_AT}
            listed = (await gateway.ask("getBlockTransactions", block))["result"]["data"]["transactions"]
            item = {"chain": "cosmoshub", "hash": listed[0]["txhash"]}
            [row] = (await gateway.ask("getTransactionByHash", [item]))["result"]["data"]["results"]
            assert (row["transaction"]["from"], row["transaction"]["to"]) == (sender, receiver)
            asked = transaction_pb2.GetTransactionByHashRequest(items=[item])
            typed = (await gateway.ask_grpc(OPERATIONS["getTransactionByHash"], asked)).results[0].value.cosmos
            assert (typed.from_address or None, typed.to or None) == (sender, receiver)


def cosmpy_account(name: str) -> str:
    """The account of an operator address, by another library's reading of it."""
    return str(Address(bytes(Address(name)), HUB.prefix))


async def test_all_validators_over_grpc(model: CosmosChains, tmp_path: Path) -> None:
    endpoints = [(one.label, one.url, one.kind) for one in model.endpoints["cosmoshub"]]
    async with serving(*endpoints, folder=tmp_path) as gateway:
        asked = cosmos_validator_pb2.GetValidatorsRequest(chain="cosmoshub", status="BOND_STATUS_ALL")
        answer = await gateway.ask_grpc(OPERATIONS["getValidators"], asked)
        assert answer.count == len(answer.validators) == 4
        assert cosmos_validator_pb2.BOND_STATUS_ALL not in {one.status for one in answer.validators}


async def test_a_state_that_is_none_is_not_believed(
    model: CosmosChains, plain: aiohttp.ClientSession, tmp_path: Path
) -> None:
    def change(path: str, answer: Any) -> None:
        if path.endswith("/validators"):
            answer["validators"][0]["status"] = "BOND_STATUS_ALL"

    async with (
        relay(model.endpoints["cosmoshub"][0].url, plain, change) as url,
        serving(("rest", url, "rest"), folder=tmp_path) as gateway,
    ):
        answer = await gateway.ask("getValidators", {"chain": "cosmoshub"})
    assert answer["error"]["code"] == 503, json.dumps(answer)


async def test_swapped_endpoints_are_named_as_such(
    model: CosmosChains, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rest, comet = model.endpoints["cosmoshub"]
    endpoints = (("one", comet.url, "rest"), ("two", rest.url, "comet"))
    async with serving(*endpoints, folder=tmp_path) as gateway:
        for method, params, words in (
            ("getStakingPool", {}, "one: is a CometBFT RPC and not the SDK's REST gateway: its kind has to be `comet`"),
            (
                "getBlockResults",
                {"blockNumber": HUB.first + known.SENT_AT},
                "two: is the SDK's REST gateway and not a CometBFT RPC: its kind has to be `rest`",
            ),
        ):
            error = (await gateway.ask(method, {"chain": "cosmoshub"} | params))["error"]
            assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
            assert words in error["message"]
            assert "127.0.0.1" not in error["message"]
    excluded = [record.getMessage() for record in caplog.records if "excluded" in record.getMessage()]
    assert any("its kind has to be `comet`" in line for line in excluded)
    assert any("its kind has to be `rest`" in line for line in excluded)


async def test_endpoints_of_the_right_kind_are_not_asked_twice(
    model: CosmosChains, plain: aiohttp.ClientSession, tmp_path: Path
) -> None:
    asked: list[str] = []
    async with (
        relay(model.endpoints["cosmoshub"][0].url, plain, lambda path, _: asked.append(path)) as url,
        serving(("rest", url, "rest"), folder=tmp_path) as gateway,
    ):
        assert "result" in await gateway.ask("getStakingPool", {"chain": "cosmoshub"})
    assert "/status" not in asked
