"""The OpenRPC document: valid by the published meta-schema, complete, and true of what the gateway prints and takes."""

from __future__ import annotations

import gzip
import json
import re
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referencing import Registry
from referencing.jsonschema import DRAFT7

from runtime.operations import Operation, load_operations, load_watches
from tests.each import each
from tests.transcoder.events import block
from tests.transcoder.messages import messages
from transcoder.comments import load_comments
from transcoder.openrpc import openrpc
from transcoder.params import parameters_reader
from transcoder.render import result_renderer
from transcoder.watches import Watches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor

    from tests.transcoder.scripted import Face

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "openrpc"
AVAILABLE = tuple(operation for operation in load_operations() if operation.available)
FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

EVERYTHING = openrpc(load_operations(), "http://localhost:8080", profile="devnet")


def load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


def meta_validator() -> jsonschema.Draft7Validator:
    json_schema = DRAFT7.create_resource(load("json-schema.json"))
    uris = ("https://meta.json-schema.tools", "https://meta.json-schema.tools/")
    registry: Registry[Any] = Registry().with_resources([(uri, json_schema) for uri in uris])
    return jsonschema.Draft7Validator(load("openrpc-1.3.json"), registry=registry)


def against(schema: dict[str, Any]) -> jsonschema.Draft7Validator:
    """Return a validator of a schema that refers to the document's components."""
    return jsonschema.Draft7Validator({**schema, "components": EVERYTHING["components"]})


def method_named(name: str) -> dict[str, Any]:
    method: dict[str, Any] = next(entry for entry in EVERYTHING["methods"] if entry["name"] == name)
    return method


async def test_the_served_document_is_valid_openrpc(face: Face) -> None:
    async with face.session.get(face.base + "/openrpc.json") as response:
        assert response.status == 200
        assert response.headers["Content-Type"] == "application/json"
        document = await response.json()
    meta_validator().validate(document)
    assert document["openrpc"].startswith("1.3.")
    assert document["info"]["version"] == "1.1.0"
    assert document["servers"][0]["url"] == face.base + "/${key}/v1"
    assert face.server.asked == []


def test_the_meta_schema_can_refuse() -> None:
    broken = {**EVERYTHING, "methods": [{"name": "x"}]}
    assert list(meta_validator().iter_errors(broken))
    wrong_type = json.loads(json.dumps(EVERYTHING))
    wrong_type["methods"][0]["params"][0]["schema"] = {"type": 5}
    assert list(meta_validator().iter_errors(wrong_type))


def test_the_document_of_every_operation_is_valid() -> None:
    meta_validator().validate(EVERYTHING)
    for schema in EVERYTHING["components"]["schemas"].values():
        jsonschema.Draft7Validator.check_schema(schema)


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        here = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return here.union(*map(references, value.values()))
    if isinstance(value, list):
        return set().union(*map(references, value))
    return set()


def schemas_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every schema of a document, those within others too."""
    waiting = [*document["components"]["schemas"].values()]
    for method in document["methods"]:
        waiting += [method["result"]["schema"], *(param["schema"] for param in method["params"])]
    while waiting:
        schema = waiting.pop()
        if "$ref" in schema:
            continue
        yield schema
        for word in ("properties", "patternProperties"):
            waiting += schema.get(word, {}).values()
        for word in ("items", "additionalProperties", "anyOf", "allOf"):
            inner = schema.get(word, [])
            waiting += inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else []


def check_schemas(document: dict[str, Any]) -> None:
    """Assert what generators of types rely on."""
    titles: dict[str, Any] = {}
    for schema in schemas_of(document):
        assert titles.setdefault(schema["title"], schema) == schema, schema["title"]
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", schema["title"])
        assert schema.get("type") != "array" or "items" in schema, schema["title"]
        # Written into code as they are.
        assert all(name.isidentifier() for name in schema.get("properties", {})), schema["title"]
    components = document["components"]["schemas"]
    for name in components:
        assert_ends(name, components, ())


def assert_ends(name: str, components: dict[str, Any], above: tuple[str, ...]) -> None:
    """Assert that replacing references by what they refer to ends."""
    assert name not in above, " -> ".join((*above, name))
    for reference in references(components[name]):
        assert_ends(reference.rpartition("/")[2], components, (*above, name))


def test_titles_name_one_schema_each_and_arrays_have_items() -> None:
    check_schemas(EVERYTHING)


def test_members_whose_names_are_no_names_of_types_are_described() -> None:
    account = EVERYTHING["components"]["schemas"]["CosmosAccount"]
    assert "@type" in account["required"]
    schema = against({"$ref": "#/components/schemas/CosmosAccount"})
    right = dict.fromkeys(account["required"], "1") | {"pub_key": None}
    schema.validate(right)
    assert not schema.is_valid(right | {"@type": 5})


def test_a_trace_is_described_to_a_depth() -> None:
    components = EVERYTHING["components"]["schemas"]
    tree = components["TraceFrameTree"]
    digits = {name for name, one in tree["properties"].items() if one.get("pattern") == "^[0-9]+$"}
    frame = {name: "1" if name in digits else "0x" for name in tree["required"]}
    schema = against({"$ref": "#/components/schemas/TraceFrameTree"})
    deep = {**frame, "calls": [{**frame, "calls": [{**frame, "calls": [frame]}]}]}
    schema.validate(deep)
    assert not schema.is_valid({**frame, "calls": [{**frame, "calls": [{**frame, "gas": []}], "gas": []}]})
    assert not schema.is_valid({**frame, "calls": [{"type": 5}]})


def test_it_is_small() -> None:
    served = openrpc([one for one in AVAILABLE if not one.stands_for_many], "http://localhost:8080", profile="mainnet")
    assert len(gzip.compress(json.dumps(served).encode())) < 150_000


def test_methods_say_which_rpc_they_are_and_what_they_cost() -> None:
    for operation in load_operations():
        method = method_named(operation.name)
        assert method["x-service"] == operation.service
        assert method["x-grpc"] == operation.path
        assert method["x-cost"] == operation.cost
        (tag,) = method["tags"]
        assert EVERYTHING["components"]["tags"][tag["$ref"].rpartition("/")[2]] == {
            "name": operation.service.rpartition(".")[2],
            "description": load_comments()[operation.service],
        }


def test_positions_are_those_of_the_document() -> None:
    for operation in load_operations():
        method = method_named(operation.name)
        assert method["paramStructure"] == ("by-name" if operation.stands_for_many else "either")
        if operation.stands_for_many:
            continue
        for pairing in method["examples"]:
            # What is given first may be given by position.
            names = [example["name"] for example in pairing["params"]]
            assert names == [param["name"] for param in method["params"]][: len(names)]
            read, values = parameters_reader(operation), {one["name"]: one["value"] for one in pairing["params"]}
            by_position = read(json.dumps(list(values.values())).encode())
            assert by_position == read(json.dumps(values).encode())
            assert len(by_position.ListFields()) == len(values)


def test_examples_are_those_of_the_profile() -> None:
    real = {method["name"]: method for method in openrpc(load_operations(), "", profile="mainnet")["methods"]}
    differing = set()
    for name, method in real.items():
        for local, other in zip(method_named(name)["params"], method["params"], strict=True):
            first, second = (one["schema"].get("examples") for one in (local, other))
            assert (first is None) == (second is None)
            assert first is None or len(first) == len(second) == 1
            if first != second:
                differing.add(name)
    assert {"getReceipt", "getNftMetadata", "getValidator", "getBlockTransactions"} <= differing
    (number,) = [one for one in real["getBlockTransactions"]["params"] if one["name"] == "blockNumber"]
    assert number["schema"]["examples"] == [22_000_000]
    assert real["getBlockTransactions"]["examples"][0]["params"][1]["value"] == 22_000_000


def test_every_reference_leads_somewhere() -> None:
    for reference in references(EVERYTHING):
        _, first, second, name = reference.split("/")
        assert name in EVERYTHING[first][second], reference


async def test_discover_answers_the_document_itself(face: Face) -> None:
    answer = await face.call("rpc.discover")
    async with face.session.get(face.base + "/openrpc.json") as response:
        assert answer["result"] == await response.json()
    assert [name for name, _, _ in face.server.asked] == ["Admit"]
    assert (await face.call("rpc.discover", {"x": 1}))["error"]["code"] == 400
    spaced = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover","params":{ }}'
    assert "result" in (await face.post(spaced))[1]


WATCHED = openrpc(load_operations(), "http://localhost:8080", profile="devnet", watches=load_watches())


def test_watches_are_described_under_subscribe() -> None:
    meta_validator().validate(WATCHED)
    for reference in references(WATCHED):
        _, first, second, name = reference.split("/")
        assert name in WATCHED[first][second], reference
    subscribe, unsubscribe = WATCHED["methods"][-2:]
    assert (subscribe["name"], unsubscribe["name"]) == ("subscribe", "unsubscribe")
    assert {one["x-transport"] for one in (subscribe, unsubscribe)} == {"websocket"}
    names = [watch.name for watch in load_watches()]
    assert subscribe["params"][0]["schema"]["enum"] == list(subscribe["x-watches"]) == names
    # Without one that is available there is nothing to subscribe to.
    assert not {"subscribe", "unsubscribe"} & {method["name"] for method in EVERYTHING["methods"]}


@each(load_watches(), name=attrgetter("name"))
def test_examples_of_watches_are_accepted_and_described(watch: Operation) -> None:
    subscribe = next(method for method in WATCHED["methods"] if method["name"] == "subscribe")
    described = subscribe["x-watches"][watch.name]
    request = parameters_reader(watch)(json.dumps(described["example"]).encode())
    assert request.ListFields()
    schemas = {**described["params"], "components": WATCHED["components"]}
    jsonschema.Draft7Validator(schemas).validate(described["example"])
    jsonschema.Draft7Validator(subscribe["params"][1]["schema"]).validate(described["example"])


@each(load_watches(), name=attrgetter("name"))
@FEW
@given(data=st.data())
def test_events_match_their_schema(watch: Operation, data: st.DataObject) -> None:
    message = data.draw(messages(watch.response.DESCRIPTOR))
    event = Watches([watch], None).find(watch.name).print_event(message.SerializeToString())
    components = {"schemas": structure(WATCHED["components"]["schemas"])}
    described = next(one for one in WATCHED["methods"] if one["name"] == "subscribe")["x-watches"][watch.name]
    jsonschema.Draft7Validator({"$ref": described["event"], "components": components}).validate(json.loads(event.text))


def test_notifications_are_described() -> None:
    schema = next(one for one in WATCHED["methods"] if one["name"] == "subscribe")["x-notification"]["params"]
    validator = jsonschema.Draft7Validator(schema)
    watch = Watches(load_watches(), None).find("watchBlocks")
    event = json.loads(watch.print_event(block(7).SerializeToString()).text)
    validator.validate({"subscription": "1", "cursor": "c7", "event": event})
    validator.validate({"subscription": "1", "end": True})
    validator.validate({"subscription": "1", "error": {"code": 503}})
    for wrong in ({"subscription": "1"}, {"event": event}, {"subscription": "1", "event": event, "more": 1}):
        assert not validator.is_valid(wrong)


async def test_only_available_operations_are_listed_aliases_included(face: Face) -> None:
    names = [method["name"] for method in (await face.call("rpc.discover"))["result"]["methods"]]
    known = [name for operation in AVAILABLE for name in (operation.name, *operation.aliases)]
    # `svc_*` stands for what is published, here nothing.
    socket = ["subscribe", "unsubscribe"] if any(watch.available for watch in load_watches()) else []
    assert names == [name for name in known if not name.endswith("*")] + socket
    assert {"getBalance", "getHealth", "getBlockByNumber"} <= set(names)


def test_products_names_are_shown_beside_the_neutral_ones() -> None:
    neutral, product = method_named("getLendAV3UserPositions"), method_named("getAaveV3UserPositions")
    assert neutral["params"] == product["params"]
    assert "getLendAV3UserPositions" in product["description"]


def test_methods_say_what_they_do() -> None:
    for method in EVERYTHING["methods"]:
        assert method["summary"].endswith(".")
        assert len(method["summary"]) > 20
        for param in method["params"]:
            assert param["description"], (method["name"], param["name"])
        required = [param["required"] for param in method["params"]]
        assert required == sorted(required, reverse=True)


def test_descriptions_speak_of_what_json_rpc_callers_know() -> None:
    """Comments are written for all languages: their names of rpcs and fields are not those of JSON-RPC."""
    spoken = " ".join(descriptions(EVERYTHING))
    rpcs = {operation.method.name for operation in load_operations()}
    assert not rpcs & set(re.findall(r"\w+", spoken))
    assert "Service." not in spoken
    printed, fields = set(), set()
    for message in (
        kind.DESCRIPTOR for operation in load_operations() for kind in (operation.request, operation.response)
    ):
        walk(message, printed, fields)
    assert "balance_raw" in fields - printed
    assert not (fields - printed) & set(re.findall(r"\w+", spoken))
    assert "balanceRaw shifted by" in spoken
    assert "gas_used" in printed


def descriptions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("description", "summary") and isinstance(inner, str):
                yield inner
            else:
                yield from descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from descriptions(inner)


def walk(message: Descriptor, printed: set[str], fields: set[str], seen: frozenset[str] = frozenset()) -> None:
    """Collect the names of the fields below a message, and how they are printed."""
    for field in message.fields:
        printed.add(field.json_name)  # type: ignore[attr-defined]  # missing in the stubs
        fields.add(field.name)
        if field.message_type is not None and message.full_name not in seen:
            walk(field.message_type, printed, fields, seen | {message.full_name})


def test_items_are_described_by_items() -> None:
    method = method_named("getBlockByNumber")
    (items,) = method["params"]
    array, text = items["schema"]["anyOf"]
    assert items["name"] == "items"
    assert array["maxItems"] == 50
    assert text["type"] == "string"
    assert "array of objects" in method["description"]


def test_every_reason_is_an_error_with_its_code() -> None:
    errors = EVERYTHING["components"]["errors"]
    assert errors["CHAIN_UNKNOWN"]["code"] == 404
    assert errors["RATE_LIMITED"]["code"] == 429
    assert len(errors) == 31


@each(load_operations(), name=attrgetter("name"))
def test_examples_are_accepted(operation: Operation) -> None:
    params = {}
    for param in method_named(operation.name)["params"]:
        schema = param["schema"]
        against(schema).check_schema(schema)
        examples = schema.get("examples") or schema.get("anyOf", [{}])[0].get("examples", [])
        for example in examples:
            against(schema).validate(example)
            params[param["name"]] = example
    request = parameters_reader(operation)(json.dumps(params).encode())
    assert len(request.ListFields()) == len(params)


@each(load_operations(), name=attrgetter("name"))
@FEW
@given(data=st.data())
def test_results_match_their_schema(operation: Operation, data: st.DataObject) -> None:
    response = data.draw(messages(operation.response.DESCRIPTOR))
    render = result_renderer(operation.response.DESCRIPTOR, operation.options.result)
    shape = structure(method_named(operation.name)["result"]["schema"])
    components = {"schemas": structure(EVERYTHING["components"]["schemas"])}
    jsonschema.Draft7Validator({**shape, "components": components}).validate(json.loads(render(response)))


def structure(schema: Any) -> Any:
    """Return the schema without what depends on values that the strategies do not honour (patterns, closed sets)."""
    if isinstance(schema, dict):
        kept = {key: structure(value) for key, value in schema.items() if key not in {"pattern", "format", "maxLength"}}
        if kept.get("type") == "string" and "enum" in kept:
            del kept["enum"], kept["type"]
        return kept
    return [structure(entry) for entry in schema] if isinstance(schema, list) else schema
