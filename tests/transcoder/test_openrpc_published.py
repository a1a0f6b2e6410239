"""OpenRPC lists every published contract method, with schemas that are true of its ABI item."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from waypost_internal.v1 import publication_pb2

from runtime.operations import load_operations, member
from server.chains.facts import load_facts
from server.marketplace.folders import load_catalogue
from server.rpc.marketplace import PublicationServicer
from tests.transcoder.test_openrpc import check_schemas, meta_validator, references
from transcoder.openrpc import openrpc

if TYPE_CHECKING:
    from tests.transcoder.scripted import Face

pytestmark = pytest.mark.slow

APPS = Path(__file__).parents[1] / "apps" / "good"
ADDRESS = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
CALLED = [operation for operation in load_operations() if operation.name == "svc_*"]


async def publications(directory: Path | None = None) -> publication_pb2.ListPublicationsResponse:
    evm = [slug for slug, facts in load_facts().items() if facts.family == "evm"]
    servicer = PublicationServicer(load_catalogue(evm, directory))
    return await servicer.ListPublications(publication_pb2.ListPublicationsRequest(), None)


@pytest.fixture(scope="module")
async def document() -> dict[str, Any]:
    return openrpc(CALLED, "http://localhost:8080", (await publications(APPS)).publications, profile="devnet")


@pytest.fixture(scope="module")
def methods(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {method["name"]: method for method in document["methods"]}


def parameter(method: dict[str, Any], name: str) -> dict[str, Any]:
    return next(param for param in method["params"] if param["name"] == name)


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return bool(jsonschema.Draft7Validator(schema).is_valid(value))


async def test_the_document_is_valid_and_whole(document: dict[str, Any], methods: dict[str, Any]) -> None:
    meta_validator().validate(document)
    published = (await publications(APPS)).publications
    assert list(methods) == [publication.method for publication in published]
    assert len(methods) == 133 + 16 + 2
    for reference in references(document):
        _, first, second, name = reference.split("/")
        assert name in document[first][second], reference
    for method in methods.values():
        for param in method["params"]:
            assert param["description"]
            jsonschema.Draft7Validator.check_schema(param["schema"])
        jsonschema.Draft7Validator.check_schema(method["result"]["schema"])
        required = [param["required"] for param in method["params"]]
        assert required == sorted(required, reverse=True)


def test_templates_want_a_place_and_others_take_none(methods: dict[str, Any]) -> None:
    for name, method in methods.items():
        names = [param["name"] for param in method["params"]]
        is_template = name.split("_")[1] in ("erc20", "erc721api", "multisigwallet", "1odd")
        assert (names[:2] == ["chain", "address"]) == is_template
        events = "_getLogs_" in name
        assert ("cursor" in names) == ("fromBlock" in names) == events
        assert ("height" in names) == ("from" in names) == (not events)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("svc_erc20_erc20api_call_name", [[]], [[1], None]),
        ("svc_erc20_erc20api_call_balanceOf", [[ADDRESS]], [[], ["0x12"], [1], [ADDRESS, ADDRESS]]),
        (
            "svc_ethena_ethereum_susde_call_convertToAssets",
            [["1"], ["0xff"], [1], [10**30]],
            [["1.5"], [1.5], [True], ["ten"], [["1"]], ["-1"], [-1]],
        ),
        ("svc_erc20_erc20api_getLogs_Transfer", [[], [None, ADDRESS], [None, None, None]], [[None, None, "5"], ["x"]]),
        ("svc_multisigwallet_safe_getLogs_AddedOwner", [[], [None]], [[ADDRESS]]),
        (
            "svc_1odd_odd_simulateCall_settle",
            [
                [[ADDRESS, [["0x" + "ab" * 32, -3, [1, "2"]]]], "0x", False, [[1], [], [2]], "memo"],
                [{"maker": ADDRESS, "legs": []}, "0x00", True, [[], [], []], ""],
            ],
            [
                [{"maker": ADDRESS}, "0x", True, [[], [], []], ""],
                [[ADDRESS, []], "0x0", True, [[], [], []], ""],
                [[ADDRESS, []], "0x", True, [[], []], ""],
                [[ADDRESS, [["0xab", 0, [1, 2]]]], "0x", True, [[], [], []], ""],
            ],
        ),
    ],
)
def test_argument_schemas_tell_right_from_wrong(
    methods: dict[str, Any], name: str, right: list[Any], wrong: list[Any]
) -> None:
    schema = parameter(methods[name], "args")["schema"]
    for value in right:
        assert accepts(schema, value), value
    for value in wrong:
        assert not accepts(schema, value), value


def test_result_schemas_tell_right_from_wrong(document: dict[str, Any], methods: dict[str, Any]) -> None:
    def result(name: str) -> dict[str, Any]:
        return {**methods[name]["result"]["schema"], "components": document["components"]}

    common = {"chain": "base", "address": ADDRESS, "abiName": "x", "deploymentName": "x", "method": "x"}
    function = {**common, "abiType": "function", "operation": "call", "blockHeight": 5}
    schema = result("svc_erc20_erc20api_call_decimals")
    assert accepts(schema, {"data": {**function, "outputs": ["18"]}})
    assert not accepts(schema, {"data": {**function, "outputs": [18]}})
    assert not accepts(schema, {"data": {**function, "outputs": []}})
    simulated = {**function, "operation": "simulateCall", "status": "0x0", "gasUsed": "21000", "logs": []}
    assert accepts(
        result("svc_multisigwallet_safe_simulateCall_execTransaction"), {"data": {**simulated, "outputs": []}}
    )
    log = {"address": ADDRESS, "blockNumber": 1, "transactionHash": "0x", "logIndex": 0}
    page = {**common, "abiType": "event", "operation": "getLogs", "count": 1, "limit": 100, "hasMore": False}
    page["cursor"] = None
    schema = result("svc_erc20_erc20api_getLogs_Transfer")
    assert accepts(schema, {"data": {**page, "logs": [{**log, "args": [ADDRESS, ADDRESS, "1"]}]}})
    assert not accepts(schema, {"data": {**page, "logs": [{**log, "args": [ADDRESS, ADDRESS]}]}})


def test_examples_are_of_the_method_that_they_name(methods: dict[str, Any]) -> None:
    (name,) = [name for name, method in methods.items() if "examples" in method]
    (field,) = [field for field in CALLED[0].method.input_type.fields if field.name == "method"]
    assert json.loads(member(field).example) == name
    for pairing in methods[name]["examples"]:
        for example in pairing["params"]:
            assert accepts(parameter(methods[name], example["name"])["schema"], example["value"])
    assert not any("examples" in param["schema"] for method in methods.values() for param in method["params"])


async def test_titles_name_one_schema_each_and_arrays_have_items(document: dict[str, Any]) -> None:
    check_schemas(document)


def test_methods_say_what_they_do(methods: dict[str, Any]) -> None:
    method = methods["svc_oneinch_base_offchainoracle_call_getRateToEth"]
    assert method["summary"] == "Calls getRateToEth of 1inch OffchainOracle."
    assert "getRateToEth(address srcToken, bool useSrcWrappers) returns (uint256 weightedRate)" in method["description"]
    assert "on base" in method["description"]
    assert "OVERLOADED" in methods["svc_1odd_odd_call_get"]["description"]


async def test_the_served_document_follows_the_server(face: Face) -> None:
    face.server.published = await publications()
    assert len(await served_methods(face)) == 133
    assert not any(
        method["name"].startswith("svc_") for method in (await face.call("rpc.discover"))["result"]["methods"]
    )
    face.server.published = await publications(APPS)
    assert len(await served_methods(face)) == 151


async def served_methods(face: Face) -> list[dict[str, Any]]:
    async with face.session.get(face.base + "/openrpc.json?apps=all") as response:
        assert response.status == 200
        document = await response.json()
    meta_validator().validate(document)
    assert document["externalDocs"]["url"] == face.base + "/openrpc.json"
    methods: list[dict[str, Any]] = document["methods"]
    return methods


async def test_without_the_server_there_is_no_document_of_its_methods(face: Face) -> None:
    face.server.published = None
    async with face.session.get(face.base + "/openrpc.json") as response:
        assert response.status == 200
    async with face.session.get(face.base + "/openrpc.json?apps=all") as response:
        assert response.status == 503
        error = (await response.json())["error"]
    assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
    status, answer, _ = await face.post({"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"})
    assert (status, answer["error"]["code"]) == (503, 503)


async def test_the_document_over_the_api_wants_a_key(face: Face) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}
    assert (await face.post(request, path="/wp_bad/v1"))[0] == 401
    face.server.admitted = 0
    assert (await face.post(request))[0] == 429
