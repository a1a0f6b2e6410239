"""Every published method through stubs that protoc generated from `waypost apps proto`: the answer of the JSON face."""

from __future__ import annotations

import importlib
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict

from cli.__main__ import main
from devnet import known
from devnet import known_marketplace as places
from runtime.settings import load_settings
from server.marketplace.folders import load_catalogue
from tests.e2e.gateway import run_gateway
from tests.rewinding import rewound
from tests.server.marketplace.conftest import CHAINS, METHODS, Marketplace
from tests.server.marketplace.test_methods import DAI, arguments, places_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from devnet.launcher import Devnet
    from server.marketplace.catalogue import PublishedMethod

pytestmark = pytest.mark.devnet

APPS = Path(__file__).parents[2] / "apps" / "good"
ODD = {name: method for name, method in load_catalogue(CHAINS, APPS).methods.items() if method.app.app_id == "1odd"}
KEY = (("x-api-key", "local"),)
# Copies its arguments into its answer: CALLDATACOPY(0, 4, CALLDATASIZE - 4), RETURN.
MIRROR = "0x600436038060045f375ff3"
MIRROR_AT = "0x00000000000000000000000000000000004D6972"


class Stubs:
    """Generated modules of the apps, imported from a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, app_id: str) -> tuple[Any, Any]:
        """Return the modules of messages and of stubs."""
        word = f"n_{app_id}" if app_id[0].isdigit() else app_id
        name = f"waypost_apps.{word}.v1.{word}"
        return importlib.import_module(f"{name}_pb2"), importlib.import_module(f"{name}_pb2_grpc")

    async def call(self, channel: Any, method: PublishedMethod, params: dict[str, Any], metadata: Any = KEY) -> Any:
        """Return the response message of a method called with the parameters of the JSON face."""
        messages, stubs = self.of(method.app.app_id)
        rpc = self.rpc(messages, method)
        request = getattr(messages, f"{rpc}Request")()
        members = {name.rstrip("_"): value for name, value in params.items() if name != "args"}
        ParseDict(members, request)
        if params.get("args"):
            request.args.CopyFrom(ParseDict(named(request.args.DESCRIPTOR, params["args"]), type(request.args)()))
        (stub,) = (value for name, value in vars(stubs).items() if name.endswith("Stub"))
        return await getattr(stub(channel), rpc)(request, metadata=metadata, timeout=20)

    @staticmethod
    def rpc(messages: Any, method: PublishedMethod) -> str:
        """Return the rpc that its comment calls by the published name, as a reader of the file would find it."""
        (service,) = messages.DESCRIPTOR.services_by_name.values()
        parts = [method.deployment.chain or "", method.deployment.name, method.operation, method.abi_name]
        wanted = "".join(part[:1].upper() + part[1:] for part in parts)
        assert wanted in service.methods_by_name
        return wanted


def named(message: Any, values: Any) -> dict[str, Any]:
    """Return positional JSON values under the names of a message's fields, bytes as protobuf's JSON has them."""
    return {
        message.fields_by_number[number].json_name: into(message.fields_by_number[number], value)
        for number, value in enumerate(values, 1)
        if value is not None
    }


def into(field: Any, value: Any) -> Any:
    if field.label == FieldDescriptor.LABEL_REPEATED:
        return [one_into(field, element) for element in value]
    return one_into(field, value)


def one_into(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        if [one.name for one in field.message_type.fields] == ["items"]:
            return {"items": into(field.message_type.fields[0], value)}
        return named(field.message_type, value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b64encode(bytes.fromhex(value[2:])).decode()
    return str(value) if field.type == FieldDescriptor.TYPE_STRING else value


def positional(message: Any) -> list[Any]:
    """Return a message's fields as the JSON face prints outputs."""
    members = MessageToDict(message, always_print_fields_with_no_presence=True, preserving_proto_field_name=True)
    return listed(message.DESCRIPTOR, members)


def listed(message: Any, members: dict[str, Any]) -> list[Any]:
    return [out_of(field, members[field.name]) for field in message.fields]


def out_of(field: Any, value: Any) -> Any:
    if field.label == FieldDescriptor.LABEL_REPEATED:
        return [one_out_of(field, element) for element in value]
    return one_out_of(field, value)


def one_out_of(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        members = listed(field.message_type, value)
        return members[0] if [one.name for one in field.message_type.fields] == ["items"] else members
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "0x" + b64decode(value).hex()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def folded(message: Any) -> dict[str, Any]:
    """Return a response as the JSON face prints its `data`, for the members that both have."""
    data: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        if field.name in ("outputs", "args"):
            data[field.json_name] = positional(value)
        elif field.name == "logs":
            data["logs"] = [folded(log) for log in value]
        else:
            data[field.json_name] = list(value) if field.label == FieldDescriptor.LABEL_REPEATED else value
    return data


def same(typed: Any, data: dict[str, Any]) -> None:
    """Both answers say the same; what is unset in protobuf is empty or null in JSON."""
    found = folded(typed)
    for name, value in data.items():
        if name not in ("method", "abiName", "deploymentName", "operation", "abiType"):
            got = found.pop(name, value if not value else "nothing")
            assert got == value or (value is None and got == ""), name
    assert found == {}


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stubs]:
    folder = tmp_path_factory.mktemp("stubs")
    patch = pytest.MonkeyPatch()
    patch.setenv("WAYPOST_MARKETPLACE__APPS", str(APPS))
    paths = []
    for app_id in sorted({method.app.app_id for method in (*METHODS.values(), *ODD.values())}):
        word = f"n_{app_id}" if app_id[0].isdigit() else app_id
        path = folder / "waypost_apps" / word / "v1" / f"{word}.proto"
        path.parent.mkdir(parents=True)
        with path.open("w") as file:
            patch.setattr(sys, "stdout", file)
            assert main(["apps", "proto", app_id]) == 0
            patch.undo()
            patch.setenv("WAYPOST_MARKETPLACE__APPS", str(APPS))
        paths.append(str(path))
    patch.undo()
    flags = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", str(folder), *flags, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield Stubs(folder)
    sys.path.remove(str(folder))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def odd_marketplace(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Marketplace]:
    """A gateway with an operator's own apps."""
    folder = tmp_path_factory.mktemp("odd")
    overrides = full_devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1"},
        "marketplace": {"apps": str(APPS)},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield Marketplace(running, full_devnet)


def callable_methods(*operations: str) -> list[str]:
    return [name for name, method in METHODS.items() if method.operation in operations]


@pytest.mark.parametrize("name", callable_methods("call"))
async def test_reads(name: str, marketplace: Marketplace, stubs: Stubs) -> None:
    method = METHODS[name]
    for _, _, where in places_of(method):
        params = {"args": arguments(method), **where}
        typed = await stubs.call(marketplace.gateway.channel, method, params)
        same(typed, await marketplace.call(name, **params))


@pytest.mark.parametrize("name", callable_methods("getLogs"))
async def test_events(name: str, marketplace: Marketplace, stubs: Stubs) -> None:
    method = METHODS[name]
    for _, _, where in places_of(method):
        data = await marketplace.call(name, **where)
        same(await stubs.call(marketplace.gateway.channel, method, dict(where)), data)
        inputs = method.abi_item["inputs"]
        wanted = [
            value if parameter["indexed"] else None
            for parameter, value in zip(inputs, data["logs"][0]["args"], strict=True)
        ]
        if any(value is not None for value in wanted):
            filtered = await marketplace.call(name, args=wanted, **where)
            assert 1 <= filtered["count"] <= data["count"]
            same(await stubs.call(marketplace.gateway.channel, method, {"args": wanted, **where}), filtered)


@pytest.mark.parametrize("name", callable_methods("simulateCall"))
@pytest.mark.parametrize("sender", [known.DEVELOPER, known.BOB], ids=["succeeds", "fails"])
async def test_simulations(name: str, sender: str, marketplace: Marketplace, stubs: Stubs) -> None:
    method, node = METHODS[name], marketplace.devnet.nodes["ethereum"]
    params = {"chain": "ethereum", "address": places.SAFE, "args": arguments(method), "from": sender}
    async with rewound(node):
        await node.call("anvil_setBalance", places.SAFE, hex(1000))
        data = await marketplace.call(name, **params)
        typed = await stubs.call(marketplace.gateway.channel, method, params)
    assert data["status"] == typed.status == ("0x1" if sender == known.DEVELOPER else "0x0")
    assert typed.HasField("outputs") == bool(data["outputs"])
    same(typed, data)


NESTED = [
    [known.ALICE, [["0x" + "ab" * 32, "-5", ["1", str(2**256 - 1)]], ["0x" + "00" * 32, "0", ["0", "0"]]]],
    "0x00ff",
    True,
    [["1", str(2**64 - 1)], [], ["0"]],
    "grüße ☃",
    [[], [str(-(2**255)), "0"]],
    "0x12345678",
    "255",
    str(-(2**39)),
    "-1",
    [known.BOB, known.ALICE],
    [[True, "0x"], [False, "0x0102"]],
    "0x" + "cd" * 24,
]
ZEROS = [
    ["0x" + "00" * 20, []],
    "0x",
    False,
    [[], [], []],
    "",
    [],
    "0x00000000",
    "0",
    "0",
    "0",
    [],
    [[False, "0x"], [False, "0x"]],
    "0x" + "00" * 24,
]


LONG = [*NESTED[:-3], [known.BOB] * 300, *NESTED[-2:]]


@pytest.mark.parametrize("values", [NESTED, ZEROS, LONG], ids=["nested", "zeros", "long"])
async def test_values_of_every_type(values: list[Any], odd_marketplace: Marketplace, stubs: Stubs) -> None:
    node = odd_marketplace.devnet.nodes["ethereum"]
    method = ODD["svc_1odd_odd_call_mirror"]
    params = {"chain": "ethereum", "address": MIRROR_AT, "args": values}
    async with rewound(node):
        await node.call("anvil_setCode", MIRROR_AT, MIRROR)
        data = await odd_marketplace.call(method.name, **params)
        typed = await stubs.call(odd_marketplace.gateway.channel, method, params)
    assert data["outputs"] == values
    same(typed, data)


async def refusal(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    details = bytes(dict(caught.value.trailing_metadata() or ()).get("grpc-status-details-bin", b""))
    return caught.value.code(), "waypost" if b"waypost" in details else ""


async def test_refusals_are_those_of_every_call(marketplace: Marketplace, stubs: Stubs) -> None:
    channel, method = marketplace.gateway.channel, METHODS["svc_erc20_erc20api_call_balanceOf"]
    invalid = (grpc.StatusCode.INVALID_ARGUMENT, "waypost")
    whole = {"chain": "ethereum", "address": DAI, "args": [known.ALICE]}
    for params in (
        {**whole, "chain": ""},
        {**whole, "address": "0x12"},
        {**whole, "args": ["0x12"]},
        {**whole, "args": []},
        {**whole, "chain": "solana"},
        {**whole, "value": "-1"},
        {**whole, "height": "0x1"},
    ):
        assert await refusal(stubs.call(channel, method, params)) == invalid, params
    unknown = stubs.call(channel, method, {**whole, "chain": "atlantis"})
    assert await refusal(unknown) == (grpc.StatusCode.NOT_FOUND, "waypost")
    keyless = stubs.call(channel, method, whole, metadata=())
    assert await refusal(keyless) == (grpc.StatusCode.UNAUTHENTICATED, "waypost")


async def test_malformed_messages_are_refused_after_the_key(marketplace: Marketplace) -> None:
    path = "/waypost_apps.erc20.v1.Erc20Service/Erc20apiCallBalanceOf"
    call = marketplace.gateway.channel.unary_unary(path)
    assert await refusal(call(b"\xff\xff", metadata=KEY)) == (grpc.StatusCode.INVALID_ARGUMENT, "waypost")
    assert await refusal(call(b"\xff\xff")) == (grpc.StatusCode.UNAUTHENTICATED, "waypost")
    assert await refusal(call(bytes(200_000), metadata=KEY)) == (grpc.StatusCode.INVALID_ARGUMENT, "waypost")
    missing = marketplace.gateway.channel.unary_unary("/waypost_apps.erc20.v1.Erc20Service/Nothing")
    assert (await refusal(missing(b"", metadata=KEY)))[0] is grpc.StatusCode.UNIMPLEMENTED


async def test_overloaded_methods_have_no_rpc_and_refuse_calls(odd_marketplace: Marketplace, stubs: Stubs) -> None:
    messages, _ = stubs.of("1odd")
    (service,) = messages.DESCRIPTOR.services_by_name.values()
    assert "OddCallGet" not in service.methods_by_name
    error = await odd_marketplace.refused("svc_1odd_odd_call_get", chain="ethereum", address=DAI, args=["1"])
    assert (error["code"], error["data"]["reason"]) == (400, "OVERLOADED")
