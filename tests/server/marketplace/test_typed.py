"""ABI values of any type pass through typed messages and come out as they went in."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from server.contracts.types import parse_parameters
from server.marketplace.catalogue import App, Catalogue, Deployment, PublishedMethod
from server.marketplace.design import design_app, value_fields
from server.marketplace.proto_files import Message, Scope, file_descriptor, pascal, snake
from server.marketplace.typed import MethodCodec
from server.marketplace.values import accept_arguments, to_json
from tests.examples import examples

NAMES = st.sampled_from(["", "a", "A", "_a", "from", "value", "items", "amountOut", "amount_out", "class", "ID2", "$"])
WORDS = st.one_of(
    st.sampled_from(["address", "bool", "string", "bytes", "function"]),
    st.integers(1, 32).map(lambda size: f"bytes{size}"),
    st.integers(1, 32).map(lambda size: f"uint{8 * size}"),
    st.integers(1, 32).map(lambda size: f"int{8 * size}"),
)


@st.composite
def parameters(draw: st.DrawFn, depth: int = 0) -> dict[str, Any]:
    """An ABI parameter of any type."""
    suffix = "".join(draw(st.lists(st.sampled_from(["[]", "[2]"]), max_size=2)))
    name = draw(NAMES)
    if depth < 2 and draw(st.integers(0, 3)) == 0:
        members = draw(st.lists(parameters(depth + 1), min_size=1, max_size=3))
        return {"name": name, "type": "tuple" + suffix, "components": members}
    return {"name": name, "type": draw(WORDS) + suffix}


def hexes(size: int | None) -> st.SearchStrategy[str]:
    sizes = {"max_size": 5} if size is None else {"min_size": size, "max_size": size}
    return st.binary(**sizes).map(lambda raw: "0x" + raw.hex())


def values(parameter: dict[str, Any]) -> st.SearchStrategy[Any]:
    """JSON values of the parameter as answers hold them."""
    written = parameter["type"]
    if written.endswith("[2]"):
        return st.lists(values({**parameter, "type": written[:-3]}), min_size=2, max_size=2)
    if written.endswith("[]"):
        return st.lists(values({**parameter, "type": written[:-2]}), max_size=3)
    if written == "tuple":
        return st.tuples(*map(values, parameter["components"])).map(list)
    if written in ("bool", "string"):
        return st.booleans() if written == "bool" else st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    if written.startswith(("uint", "int")):
        bits = int(written.lstrip("uint"))
        low, high = (0, 2**bits - 1) if written[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return st.integers(low, high).map(str)
    sizes = {"address": 20, "bytes": None, "function": 24}
    return hexes(sizes[written] if written in sizes else int(written.removeprefix("bytes")))


def publish(item: dict[str, Any]) -> Catalogue:
    """Return a catalogue with one app of one ABI item."""
    deployment = Deployment("d", None, None, ("svc_a_d_call_f",), b"[]", (item,))
    app = App("a", "A", True, (deployment,))
    return Catalogue([app], [PublishedMethod("svc_a_d_call_f", app, deployment, "call", item)], ["ethereum"])


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data(), declared=st.lists(parameters(), max_size=4))
def test_outputs_and_arguments_survive(data: st.DataObject, declared: list[dict[str, Any]]) -> None:
    item = {"type": "function", "name": "f", "inputs": declared, "outputs": declared, "stateMutability": "view"}
    catalogue = publish(item)
    layout = design_app(catalogue.apps["a"], catalogue)
    pool = DescriptorPool()
    pool.Add(file_descriptor(layout))
    (rpc,) = layout.rpcs
    request, response = (
        GetMessageClass(pool.FindMessageTypeByName(f"{layout.package}.{rpc.name}{suffix}"))
        for suffix in ("Request", "Response")
    )
    codec = MethodCodec(rpc.method, request, response)
    written = [data.draw(values(parameter)) for parameter in declared]
    inputs = parse_parameters(declared)
    plain = accept_arguments(written, inputs)
    answer: Any = response()
    codec.write_outputs(answer, plain)
    typed: Any = response.FromString(answer.SerializeToString())
    assert typed.HasField("outputs")
    asked: Any = request(chain="ethereum")
    if declared:
        # The same parameters make the same fields, so the outputs' bytes are arguments too.
        asked.args.MergeFromString(typed.outputs.SerializeToString())
    call, read = codec.read_request(asked.SerializeToString())
    assert (call.method, call.chain, call.HasField("address")) == ("svc_a_d_call_f", "ethereum", False)
    again = accept_arguments(codec.read_arguments(read), inputs)
    assert again == plain
    # What JSON callers would write is the same, but for the casing of addresses.
    assert accept_arguments(list(map(to_json, plain)), inputs) == plain


@given(declared=st.lists(parameters(), max_size=4))
def test_no_message_is_named_as_one_around_it(declared: list[dict[str, Any]]) -> None:
    """Java refuses such classes."""
    item = {"type": "function", "name": "f", "inputs": declared, "outputs": declared, "stateMutability": "view"}
    catalogue = publish(item)
    (rpc,) = design_app(catalogue.apps["a"], catalogue).rpcs
    inside: list[tuple[Message, tuple[str, ...]]] = [(rpc.request, ()), (rpc.response, ())]
    while inside:
        message, around = inside.pop()
        assert message.name.lower() not in around
        inside += [(nested, (*around, message.name.lower())) for nested in message.nested]


def test_messages_in_messages_of_their_name_are_numbered() -> None:
    order = {"name": "order", "type": "tuple", "components": [{"name": "id", "type": "uint8"}]}
    item = {"name": "order", "type": "tuple", "components": [order, {"name": "cube", "type": "bytes[][][][]"}]}
    (field,) = value_fields(parse_parameters([item]))
    assert isinstance(field.type, Message)
    inner, cube = field.type.nested
    assert (field.type.name, inner.name, cube.name) == ("OrderValue", "OrderValue2", "CubeList")
    assert [one.name for one in cube.nested] == ["CubeList2"]
    assert [one.name for one in cube.nested[0].nested] == ["CubeList3"]


@given(st.lists(NAMES | st.text(st.sampled_from("aA1_$"), max_size=4), max_size=8))
def test_names_of_one_scope_differ_in_every_language(given_names: list[str]) -> None:
    scope = Scope()
    claimed = [scope.claim(snake(name) or "value") for name in given_names]
    assert len({name.replace("_", "") for name in claimed}) == len(claimed)
    for name in claimed:
        assert name[0].isalpha()
        assert name == name.lower()
        assert not name.startswith("_")
        assert "__" not in name


def test_names_read_as_their_language_s() -> None:
    assert [snake(name) for name in ("_stETHAmount", "getWstETHByStETH", "1inch", "$", "a__b")] == [
        "st_eth_amount",
        "get_wst_eth_by_st_eth",
        "n_1inch",
        "",
        "a_b",
    ]
    assert [pascal(name) for name in ("balanceOf", "_nonce", "$total$2", "1odd")] == [
        "BalanceOf",
        "Nonce",
        "Total2",
        "N1odd",
    ]
