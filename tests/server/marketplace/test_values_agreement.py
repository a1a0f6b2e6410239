"""Our coding of arguments and outputs agrees with eth-abi, whatever the types and values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from server.contracts.events import Event
from server.contracts.interface import Function
from server.contracts.words import Undecodable
from server.errors import InvalidArgument
from server.marketplace.values import accept_arguments, accept_filters, read_arguments, to_json
from tests.examples import examples
from tests.server.contracts.shapes import JSON, SHAPES, Shape, filled

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = settings(max_examples=examples(80), deadline=None)


def function(inputs: list[Shape] = (), outputs: list[Shape] = ()) -> Function:
    return Function(
        {
            "type": "function",
            "name": "f",
            "stateMutability": "view",
            "inputs": [{**shape.item, "name": f"a{index}"} for index, shape in enumerate(inputs)],
            "outputs": [{**shape.item, "name": ""} for shape in outputs],
        }
    )


def encode_call(function: Function, values: list[Any]) -> bytes:
    return function.encode(*accept_arguments(values, function.inputs))


def decode_outputs(function: Function, data: bytes) -> list[Any]:
    return [to_json(value) for value in function.decode(data)]


def filter_topics(event: Event, values: list[Any]) -> tuple[bytes | None, ...]:
    return event.filter(accept_filters(values, event))


def refusal(call: Callable[[], object]) -> InvalidArgument | None:
    """Return how the call is refused, None where it is not; any other failure is one of the test."""
    try:
        call()
    except InvalidArgument as error:
        return error
    return None


@SETTINGS
@given(filled())
def test_calldata_is_what_eth_abi_encodes(drawn: tuple[list[Shape], list[Any], list[Any]]) -> None:
    shapes, plain, written = drawn
    types = [shape.type for shape in shapes]
    expected = keccak(text=f"f({','.join(types)})")[:4] + encode(types, plain)
    assert encode_call(function(inputs=shapes), read_arguments(json.dumps(written).encode())) == expected


@SETTINGS
@given(filled())
def test_outputs_are_what_was_encoded(drawn: tuple[list[Shape], list[Any], list[Any]]) -> None:
    shapes, plain, written = drawn
    assert decode_outputs(function(outputs=shapes), encode([shape.type for shape in shapes], plain)) == written


@SETTINGS
@given(st.lists(SHAPES, min_size=1, max_size=3), JSON)
def test_garbage_arguments_are_refused_and_nothing_else(shapes: list[Shape], garbage: Any) -> None:
    """Whatever is accepted is what eth-abi would encode; everything else is the caller's mistake, by its place."""
    values = garbage if isinstance(garbage, list) else [garbage] * len(shapes)
    callee = function(inputs=shapes)
    error = refusal(lambda: encode_call(callee, values))
    if error is None:
        decode([shape.type for shape in shapes], encode_call(callee, values)[4:])
    else:
        assert (error.field or "").startswith("args")
        assert error.message.startswith("args")


@SETTINGS
@given(st.binary(max_size=80))
def test_any_bytes_are_arguments_or_the_callers_mistake(raw: bytes) -> None:
    error = refusal(lambda: read_arguments(raw))
    assert error is None or error.field == "args"


@SETTINGS
@given(filled(most=2), st.data())
def test_of_damaged_data_we_read_nothing_that_eth_abi_reads_otherwise(
    drawn: tuple[list[Shape], list[Any], list[Any]], data: st.DataObject
) -> None:
    shapes, plain, _ = drawn
    types = [shape.type for shape in shapes]
    raw = bytearray(encode(types, plain))
    if raw:
        for _ in range(data.draw(st.integers(1, 3))):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.sampled_from((0, 1, 32, 64, 255)))
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    try:
        expected = decode(types, bytes(raw))
    except (DecodingError, UnicodeDecodeError, OverflowError):
        expected = None
    try:
        got = decode_outputs(function(outputs=shapes), bytes(raw))
    except Undecodable:
        got = None
    if expected is not None and got is not None:
        again = encode(types, decode(types, bytes(raw)))
        assert decode_outputs(function(outputs=shapes), again) == got
    assert expected is None or got is not None


@SETTINGS
@given(filled(most=3), st.data())
def test_events_are_read_and_searched_as_solidity_writes_them(
    drawn: tuple[list[Shape], list[Any], list[Any]], data: st.DataObject
) -> None:
    shapes, plain, written = drawn
    # Arrays and tuples have a test of their own: eth-abi does not hash them.
    flags = [shape.type[0] != "(" and shape.type[-1] != "]" and data.draw(st.booleans()) for shape in shapes]
    inputs = [{**shape.item, "indexed": flag} for shape, flag in zip(shapes, flags, strict=True)]
    event = Event.parse({"type": "event", "name": "E", "inputs": inputs})
    topics, expected = [keccak(text=f"E({','.join(shape.type for shape in shapes)})")], []
    for shape, flag, value, json_value in zip(shapes, flags, plain, written, strict=True):
        is_long = shape.type in ("string", "bytes")
        if flag:
            raw = value.encode() if isinstance(value, str) else value
            topics.append(keccak(raw) if is_long else encode([shape.type], [value]))
        expected.append("0x" + topics[-1].hex() if flag and is_long else json_value)
    filters = [json_value if flag else None for json_value, flag in zip(written, flags, strict=True)]
    assert filter_topics(event, filters) == tuple(topics)
    plain_types = [shape.type for shape, flag in zip(shapes, flags, strict=True) if not flag]
    log = encode(plain_types, [value for value, flag in zip(plain, flags, strict=True) if not flag])
    assert list(map(to_json, event.read(topics, log))) == expected


@pytest.mark.parametrize(
    ("types", "value", "topic"),
    [
        # The hash of an array is that of its padded elements, without its length (Solidity ABI, indexed parameters).
        ({"type": "uint8[]"}, ["1", "2"], keccak((1).to_bytes(32) + (2).to_bytes(32))),
        ({"type": "string[]"}, ["ab"], keccak(b"ab".ljust(32, b"\0"))),
        (
            {"type": "tuple", "components": [{"type": "bool"}, {"type": "bytes"}]},
            [True, "0x" + "cd" * 33],
            keccak((1).to_bytes(32) + (b"\xcd" * 33).ljust(64, b"\0")),
        ),
    ],
)
def test_long_indexed_arguments_are_searched_by_their_hash(types: dict[str, Any], value: Any, topic: bytes) -> None:
    event = Event.parse({"type": "event", "name": "E", "inputs": [{**types, "indexed": True}]})
    assert filter_topics(event, [value]) == (event.topic0, topic)
    assert list(map(to_json, event.read([event.topic0, topic], b""))) == ["0x" + topic.hex()]
