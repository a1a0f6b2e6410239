"""listMarketplaceMethods, getMarketplaceContract and the OpenRPC document, as the JSON face prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from eth_utils.abi import abi_to_signature, event_abi_to_log_topic, function_abi_to_4byte_selector

from devnet import known
from tests.server.marketplace.conftest import METHODS
from tests.server.marketplace.test_methods import DAI, arguments, places_of

if TYPE_CHECKING:
    from tests.server.marketplace.conftest import Marketplace

pytestmark = pytest.mark.devnet

CATALOGUE = Path(__file__).parents[3] / "server" / "marketplace" / "apps"


async def listed(marketplace: Marketplace, **filters: Any) -> list[dict[str, Any]]:
    answer = await marketplace.gateway.ask("listMarketplaceMethods", filters)
    methods: list[dict[str, Any]] = answer["result"]["data"]["methods"]
    return methods


async def test_every_published_method_is_listed_by_name(marketplace: Marketplace) -> None:
    methods = await listed(marketplace)
    assert [method["method"] for method in methods] == sorted(METHODS)
    for method in methods:
        published = METHODS[method["method"]]
        assert method["isTemplate"] == (method["chain"] is None) == (method["address"] is None)
        assert (method["abiName"], method["abiType"]) == (published.abi_item["name"], published.abi_item["type"])
        names = [(parameter["name"], parameter["type"]) for parameter in published.abi_item["inputs"]]
        assert [(parameter["name"], parameter["type"]) for parameter in method["params"]] == names


async def test_a_row_has_the_contract_s_members(marketplace: Marketplace) -> None:
    rows = {row["method"]: row for row in await listed(marketplace)}
    assert rows["svc_erc20_erc20api_getLogs_Transfer"] == {
        "method": "svc_erc20_erc20api_getLogs_Transfer",
        "abiName": "Transfer",
        "abiType": "event",
        "params": [
            {"name": "from", "type": "address", "indexed": True},
            {"name": "to", "type": "address", "indexed": True},
            {"name": "value", "type": "uint256", "indexed": False},
        ],
        "appId": "erc20",
        "deploymentName": "erc20api",
        "isTemplate": True,
        "chain": None,
        "address": None,
    }
    assert rows["svc_cbeth_ethereum_cbeth_call_balanceOf"] == {
        "method": "svc_cbeth_ethereum_cbeth_call_balanceOf",
        "abiName": "balanceOf",
        "abiType": "function",
        "params": [{"name": "account", "type": "address"}],
        "appId": "cbeth",
        "deploymentName": "cbeth",
        "isTemplate": False,
        "chain": "ethereum",
        "address": "0xBe9895146f7AF43049ca1c1AE358B0541Ea49704",
    }


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"appId": "lido"}, 45),
        ({"appId": "lido", "abiType": "event"}, 5),
        ({"abiType": "function"}, 133 - 22),
        ({"chain": "base"}, 3 + 8 + 10 + 8),
        ({"chain": "base", "appId": "oneinch"}, 3),
        ({"chain": "gnosis"}, 8 + 10 + 8),
        ({"chain": "solana"}, 0),
        ({"chain": "solana", "appId": "erc20"}, 0),
        ({"chain": "polygon", "appId": "lido"}, 0),
        ({"chain": None, "appId": None, "abiType": None}, 133),
    ],
    ids=str,
)
async def test_filters_combine(filters: dict[str, Any], count: int, marketplace: Marketplace) -> None:
    methods = await listed(marketplace, **filters)
    assert len(methods) == count
    for method in methods:
        assert method["chain"] in (filters.get("chain") or method["chain"], None)
        assert method["appId"] == (filters.get("appId") or method["appId"])
        assert method["abiType"] == (filters.get("abiType") or method["abiType"])


@pytest.mark.parametrize(
    ("filters", "code", "reason", "field"),
    [
        ({"appId": "erc21"}, 404, "NOT_FOUND", "appId"),
        ({"chain": "bas"}, 404, "CHAIN_UNKNOWN", "chain"),
        ({"abiType": "error"}, 400, "INVALID_ARGUMENT", "abiType"),
        ({"abiType": "FUNCTION"}, 400, "INVALID_ARGUMENT", "abiType"),
        ({"appId": 5}, 400, "INVALID_ARGUMENT", "appId"),
        ({"app": "erc20"}, 400, "UNKNOWN_PARAMETER", "app"),
    ],
    ids=str,
)
async def test_wrong_filters_are_refused(
    filters: dict[str, Any], code: int, reason: str, field: str, marketplace: Marketplace
) -> None:
    error = (await marketplace.gateway.ask("listMarketplaceMethods", filters))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (code, reason, field)


@pytest.mark.parametrize("app_id", sorted({method.app.app_id for method in METHODS.values()}))
async def test_a_contract_has_its_deployments_methods_and_abis(app_id: str, marketplace: Marketplace) -> None:
    data = (await marketplace.gateway.ask("getMarketplaceContract", {"appId": app_id}))["result"]["data"]
    assert list(data) == ["appId", "name", "isTemplate", "deployments"]
    assert data["appId"] == app_id
    rows = {row["method"]: row for row in await listed(marketplace, appId=app_id)}
    assert {method["method"] for deployment in data["deployments"] for method in deployment["methods"]} == set(rows)
    for deployment in data["deployments"]:
        assert deployment["abi"] == json.loads((CATALOGUE / app_id / f"{deployment['name']}.json").read_text())
        assert data["isTemplate"] == (deployment["chain"] is None) == (deployment["address"] is None)
        for method in deployment["methods"]:
            assert method == rows[method["method"]]
            assert (method["deploymentName"], method["chain"]) == (deployment["name"], deployment["chain"])


def test_selectors_are_those_of_an_independent_library() -> None:
    """A few selectors and first topics that explorers know; the rest of each ABI is judged by web3's own answers."""
    items = {abi_to_signature(method.abi_item): method.abi_item for method in METHODS.values()}  # type: ignore[arg-type]
    known_ones = {
        "getStETHByWstETH(uint256)": "bb2952fc",
        "getPooledEthByShares(uint256)": "7a28fb88",
        "getRate(address,address,bool)": "802431fb",
        "exchangeRate()": "3ba0b9a9",
        "getEETHByWeETH(uint256)": "94626044",
        "getThreshold()": "e75235b8",
    }
    for declared, selector in known_ones.items():
        assert function_abi_to_4byte_selector(items[declared]).hex() == selector  # type: ignore[arg-type]
    topic = event_abi_to_log_topic(items["TransferShares(address,address,uint256)"])  # type: ignore[arg-type]
    assert topic.hex() == "9d9c909296d9c674451c0c24f02cb64981eb3b727f99865939192f880a755dcb"


async def documented(marketplace: Marketplace) -> dict[str, Any]:
    async with marketplace.gateway.session.get(f"{marketplace.gateway.http}/openrpc.json?apps=all") as response:
        document: dict[str, Any] = await response.json()
    return document


async def test_the_document_is_true_of_every_method(marketplace: Marketplace) -> None:
    document = await documented(marketplace)
    described = {method["name"]: method for method in document["methods"]}
    assert set(described) == set(METHODS)
    for name, method in METHODS.items():
        if method.operation == "simulateCall":
            continue
        _, _, where = places_of(method)[0]
        params = {"args": arguments(method) if method.operation == "call" else [], **where}
        schemas = {param["name"]: param for param in described[name]["params"]}
        assert {param for param, schema in schemas.items() if schema["required"]} <= set(params)
        for param, value in params.items():
            jsonschema.Draft7Validator(schemas[param]["schema"]).validate(value)
        result = (await marketplace.gateway.ask(name, params))["result"]
        shape = {**described[name]["result"]["schema"], "components": document["components"]}
        jsonschema.Draft7Validator(shape).validate(result)


@pytest.mark.parametrize(
    "args",
    [[known.ALICE[:-1]], [5], [known.ALICE, 1], [], [None], [[known.ALICE]]],
    ids=str,
)
async def test_what_the_document_refuses_the_gateway_refuses(args: list[Any], marketplace: Marketplace) -> None:
    document = await documented(marketplace)
    name = "svc_erc20_erc20api_call_balanceOf"
    (method,) = (one for one in document["methods"] if one["name"] == name)
    (schema,) = (param["schema"] for param in method["params"] if param["name"] == "args")
    assert not jsonschema.Draft7Validator(schema).is_valid(args)
    error = await marketplace.refused(name, chain="ethereum", address=DAI, args=args)
    assert error["code"] == 400
