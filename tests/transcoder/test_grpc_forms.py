"""The document's `x-` members lead from params to the request that the JSON face makes of them."""

from __future__ import annotations

import json
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format
from waypost.generated.services import Services
from waypost.methods import message_of

from runtime.operations import Operation, load_operations, load_watches
from tests.each import each
from tests.transcoder.test_openrpc_published import publications
from transcoder.grpc_forms import attribute, snake
from transcoder.openrpc import openrpc
from transcoder.params import parameters_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message

    Schema = dict[str, Any]

pytestmark = pytest.mark.slow

CALLED = [one for one in load_operations() if not one.stands_for_many]
[FOR_MANY] = [one for one in load_operations() if one.stands_for_many]
PROFILES = ("devnet", "mainnet")
DOCUMENTS = {profile: openrpc(CALLED, "", profile=profile, watches=load_watches()) for profile in PROFILES}


def described(name: str, profile: str) -> tuple[dict[str, Any], dict[str, Schema]]:
    """Return what the document has of an operation or a watch, and the schemas of its parameters."""
    methods = {method["name"]: method for method in DOCUMENTS[profile]["methods"]}
    watches = methods["subscribe"]["x-watches"]
    if name in watches:
        return watches[name], watches[name]["params"]["properties"]
    return methods[name], {param["name"]: param["schema"] for param in methods[name]["params"]}


def over_grpc(values: dict[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    """Return an object of ours in the JSON of its message, as docs/openrpc.md says."""
    return {name: written(value, schemas[name]) for name, value in values.items()}


def written(value: Any, schema: Schema) -> Any:
    [array, text] = schema.get("anyOf", [schema, {}])
    if isinstance(value, str) and "x-grpc-split" in text:
        value = split(value, text["x-grpc-split"], [*array["items"].get("properties", {})])
    if schema.get("x-grpc-type") == "json":
        return {"json": json.dumps(value)}
    if isinstance(value, list):
        return [written(one, array["items"]) for one in value]
    if isinstance(value, dict):
        return over_grpc(value, schema["properties"])
    if value in (values := schema.get("x-grpc-values", {})):
        return values[value]
    kind = schema.get("x-grpc-type")
    return str(value) if kind == "string" else int(str(value), 0) if kind == "integer" else value


def split(text: str, at: list[str], names: list[str]) -> list[Any]:
    elements = text.split(at[0])
    if len(at) == 1:
        return elements
    return [dict(zip(names, one.split(at[1], len(names) - 1), strict=False)) for one in elements]


def in_python(values: dict[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    """Return the arguments of the Python client for parameters."""
    arguments = {}
    for name, value in values.items():
        schema = schemas[name]
        [array, _] = schema.get("anyOf", [schema, {}])
        if "properties" in array.get("items", {}):
            value = [in_python(one, array["items"]["properties"]) for one in value]
        elif schema.get("x-grpc-type") != "json":
            value = written(value, schema)
        arguments[schema.get("x-grpc-name", snake(name))] = value
    return arguments


def examples(name: str, profile: str) -> list[dict[str, Any]]:
    document, _ = described(name, profile)
    if "example" in document:
        return [document["example"]]
    return [{one["name"]: one["value"] for one in pairing["params"]} for pairing in document["examples"]]


def variants(schema: Schema) -> Iterator[Any]:
    """Yield values that JSON-RPC takes and that gRPC writes otherwise."""
    yield from schema.get("x-grpc-values", {})
    if schema.get("type") == ["string", "integer"]:
        yield from (7, "0x10" if schema.get("pattern", "").startswith("^(0x") else "16")
    if "anyOf" in schema:
        [array, _] = schema["anyOf"]
        rows = [row.values() for row in array["examples"][0]] if "properties" in array["items"] else [[1], [2]]
        yield ",".join(":".join(map(str, row)) for row in rows)


def read(operation: Operation, params: dict[str, Any]) -> Message:
    return parameters_reader(operation)(json.dumps(params).encode())


@each([*CALLED, *load_watches()], name=attrgetter("name"))
def test_examples_are_the_same_request_over_grpc_as_over_json_rpc(operation: Operation) -> None:
    for profile in PROFILES:
        _, schemas = described(operation.name, profile)
        for params in examples(operation.name, profile):
            wanted = read(operation, params)
            given = json.dumps(over_grpc(params, schemas))
            assert json_format.Parse(given, operation.request()) == wanted


@each([*CALLED, *load_watches()], name=attrgetter("name"))
def test_every_other_writing_is_the_same_request(operation: Operation) -> None:
    _, schemas = described(operation.name, "devnet")
    [params, *_] = examples(operation.name, "devnet")
    for name, schema in schemas.items():
        for value in variants(schema):
            changed = {**params, name: value}
            given = json.dumps(over_grpc(changed, schemas))
            assert json_format.Parse(given, operation.request()) == read(operation, changed), changed


@each([*CALLED, *load_watches()], name=attrgetter("name"))
def test_the_python_client_makes_the_same_request(operation: Operation) -> None:
    document, schemas = described(operation.name, "devnet")
    for params in examples(operation.name, "devnet"):
        path, request = asked(document["x-python"], in_python(params, schemas))
        assert path == operation.path == document["x-grpc"]
        assert request == read(operation, params)


def asked(call: str, arguments: dict[str, Any]) -> tuple[str, Message]:
    """Return the path and the request of a call of the client."""

    def ask(method: Any, fields: dict[str, Any], _: float | None) -> Any:
        return method.path, message_of(method.request, fields)

    client: Any = Services
    service, _, method = call.partition(".")
    made: tuple[str, Message] = getattr(getattr(client(ask, ask), service), method)(**arguments)
    return made


@each([*CALLED, *load_watches()], name=attrgetter("name"))
def test_the_typescript_client_has_the_service_and_the_method(operation: Operation) -> None:
    document, _ = described(operation.name, "devnet")
    service, method = operation.path.removeprefix("/waypost.v1.").split("/")
    assert document["x-typescript"] == {"service": service, "method": method[:1].lower() + method[1:]}
    assert document.get("x-items", False) is operation.takes_items


async def test_published_methods_are_called_by_name_beside_their_parameters() -> None:
    published = (await publications()).publications
    document = openrpc([FOR_MANY], "", published, profile="devnet")
    values = {
        "chain": "base",
        "address": "0x" + "11" * 20,
        "from": "0x" + "22" * 20,
        "value": 5,
        "args": ["1", {"a": 2}],
    }
    for method in document["methods"]:
        schemas = {param["name"]: param["schema"] for param in method["params"]}
        params = {name: value for name, value in values.items() if name in schemas}
        wanted = read(FOR_MANY, params)
        wanted.method = method["name"]  # type: ignore[attr-defined]  # every such request has it (options.proto)
        given = {**method["x-grpc-with"], **over_grpc(params, schemas)}
        assert json_format.ParseDict(given, FOR_MANY.request()) == wanted
        arguments = {**method["x-grpc-with"], **in_python(params, schemas)}
        assert asked(method["x-python"], arguments) == (FOR_MANY.path, wanted)
        assert method["x-typescript"] == {"service": "MarketplaceService", "method": "callMethod"}
    taken = chain.from_iterable((param["name"] for param in method["params"]) for method in document["methods"])
    assert {"args", "from", "value", "cursor"} <= set(taken)


@pytest.mark.parametrize(
    ("service", "name"),
    [
        ("waypost.v1.AccountService", "accounts"),
        ("waypost.v1.NftService", "nfts"),
        ("waypost.v1.GasService", "gas"),
        ("waypost.v1.RawService", "raw"),
    ],
)
def test_services_are_attributes_by_the_plural_of_their_name(service: str, name: str) -> None:
    assert attribute(service) == name


@pytest.mark.parametrize(
    ("rpc", "name"),
    [
        ("GetBalance", "get_balance"),
        ("GetDexAV3Quote", "get_dex_a_v3_quote"),
        ("GetNftErc1155Balance", "get_nft_erc1155_balance"),
        ("GetYieldsYieldAImpliedApy", "get_yields_yield_a_implied_apy"),
        ("ResolveEns", "resolve_ens"),
    ],
)
def test_rpcs_are_methods_in_snake_case(rpc: str, name: str) -> None:
    assert snake(rpc) == name
