"""What callers may write for each type, how it is refused, and what hostile return data costs."""

from __future__ import annotations

from typing import Any

import pytest

from server.contracts.events import Event
from server.contracts.interface import Function
from server.contracts.types import parse_type
from server.contracts.words import TooManyValues, Undecodable
from server.errors import InvalidArgument
from server.marketplace.values import MAX_BYTES, MAX_VALUES, accept_arguments, accept_filters, read_arguments, to_json

VITALIK = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
PAIR = {"type": "tuple", "components": [{"name": "to", "type": "address"}, {"name": "amount", "type": "uint128"}]}


def taking(*items: dict[str, Any], outputs: tuple[dict[str, Any], ...] = ()) -> Function:
    inputs = [{"name": f"a{index}", **item} for index, item in enumerate(items)]
    return Function(
        {"type": "function", "name": "f", "stateMutability": "view", "inputs": inputs, "outputs": list(outputs)}
    )


def encode_call(function: Function, values: list[Any]) -> bytes:
    return function.encode(*accept_arguments(values, function.inputs))


def decode_outputs(function: Function, data: bytes) -> list[Any]:
    return [to_json(value) for value in function.decode(data)]


def filter_topics(event: Event, values: list[Any]) -> tuple[bytes | None, ...]:
    return event.filter(accept_filters(values, event))


def word(number: int) -> bytes:
    return number.to_bytes(32, "big", signed=number < 0)


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        ("uint256", str(2**256 - 1), 2**256 - 1),
        ("uint256", f'"{2**256 - 1}"', 2**256 - 1),
        ("uint256", f'"{2**256 - 1:#x}"', 2**256 - 1),
        ("uint8", "255", 255),
        ("int256", f"-{2**255}", -(2**255)),
        ("int8", '"-128"', -128),
        ("uint256", '"007"', 7),
    ],
)
def test_integers_keep_all_digits(kind: str, text: str, number: int) -> None:
    assert encode_call(taking({"type": kind}), read_arguments(f"[{text}]".encode()))[4:] == word(number)


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ({"type": "uint8"}, 256),
        ({"type": "uint8"}, -1),
        ({"type": "uint256"}, 2**256),
        ({"type": "int8"}, 128),
        ({"type": "uint256"}, 1.0),
        ({"type": "uint256"}, "1.0"),
        ({"type": "uint256"}, "1e3"),
        ({"type": "uint256"}, " 1"),
        ({"type": "uint256"}, "\u0661"),
        ({"type": "uint256"}, "0x"),
        ({"type": "uint256"}, "0x" + "f" * 65),
        ({"type": "uint256"}, "9" * 79),
        ({"type": "uint256"}, True),
        ({"type": "uint256"}, None),
        ({"type": "bool"}, 1),
        ({"type": "bool"}, "true"),
        ({"type": "address"}, VITALIK[:-1] + "4"),
        ({"type": "address"}, VITALIK[2:]),
        ({"type": "bytes4"}, "0x010203"),
        ({"type": "bytes4"}, "0x0102030405"),
        ({"type": "bytes"}, "0x1"),
        ({"type": "bytes"}, "text"),
        ({"type": "string"}, 7),
        ({"type": "string"}, "\ud800"),
        ({"type": "uint8[2]"}, ["1"]),
        ({"type": "uint8[]"}, "1,2"),
        (PAIR, [VITALIK]),
        (PAIR, {"to": VITALIK}),
        (PAIR, {"to": VITALIK, "amount": 1, "more": 1}),
        ({"type": "tuple", "components": [{"type": "bool"}]}, {"": True}),
    ],
)
def test_what_does_not_fit_is_refused_by_position_name_and_type(item: dict[str, Any], value: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        encode_call(taking({"type": "bool"}, item), [True, value])
    assert caught.value.field == "args[1]"
    assert caught.value.message.startswith(f"args[1] (a1: {parse_type(item).canonical}) ")


def test_a_mistake_inside_an_argument_is_named_by_its_own_place() -> None:
    pairs = taking({**PAIR, "type": "tuple[]"})
    with pytest.raises(InvalidArgument) as caught:
        encode_call(pairs, [[[VITALIK, 1], {"to": VITALIK, "amount": -1}]])
    assert caught.value.field == "args[0][1].amount"
    assert caught.value.message.startswith("args[0][1].amount of uint128 (a0: (address,uint128)[]) is -1; ")


def test_tuples_are_arrays_or_objects() -> None:
    pair = taking(PAIR)
    assert encode_call(pair, [[VITALIK, "7"]]) == encode_call(pair, [{"amount": 7, "to": VITALIK.lower()}])


@pytest.mark.parametrize("values", [[], [VITALIK, 1, 2]])
def test_the_number_of_arguments_is_reported_with_their_names(values: list[Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"write 2: a0: address, a1: uint256$") as caught:
        encode_call(taking({"type": "address"}, {"type": "uint256"}), values)
    assert caught.value.field == "args"
    with pytest.raises(InvalidArgument, match=r"^args has 1 value; write none$"):
        encode_call(taking(), [7])


@pytest.mark.parametrize(
    "text",
    [b'{"a": 1}', b'"x"', b"7", b"[1", b"\xff", b"[" * 5000, b"[" + b"9" * 5000 + b"]", b"[" + b" " * MAX_BYTES + b"]"],
)
def test_what_is_no_array_of_arguments_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_arguments(text)
    assert caught.value.field == "args"


@pytest.mark.parametrize("text", ["[" + "1," * MAX_VALUES + "1]", "[[" + "[]," * MAX_VALUES + '{"a": 1}]]'])
def test_more_values_than_a_call_needs_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match=f"more than {MAX_VALUES} values"):
        read_arguments(text.encode())


@pytest.mark.parametrize("text", [None, b"", b"null", b"[]"])
def test_no_arguments_may_be_written_or_left_out(text: bytes | None) -> None:
    assert read_arguments(text) == []


def returning(*types: str) -> Function:
    return taking(outputs=tuple({"type": kind} for kind in types))


@pytest.mark.parametrize(
    ("types", "data"),
    [
        (("uint256",), b""),
        (("uint8",), word(256)),
        (("int8",), word(128)),
        (("bool",), word(2)),
        (("address",), word(1 << 160)),
        (("bytes4",), b"\1" * 32),
        (("string",), word(32) + word(5)),
        (("string",), word(2**255)),
        (("uint8[]",), word(32) + word(2**200)),
        (("uint8[]",), word(32) + word(2) + word(1)),
        (("uint8[3]",), word(1) * 2),
    ],
)
def test_data_that_is_no_encoding_is_reported_apart(types: tuple[str, ...], data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_outputs(returning(*types), data)


def test_texts_are_read_as_solidity_reads_them() -> None:
    """Without padding, and with bytes that are no UTF-8; what follows the outputs does not matter."""
    assert decode_outputs(returning("string"), word(32) + word(3) + b"a\xffb") == ["a\ufffdb"]
    assert decode_outputs(returning("uint256"), word(7) + word(8)) == ["7"]


@pytest.mark.parametrize(
    ("kind", "shared"),
    [
        ("uint8[][]", word(1000) + word(1) * 1000),
        ("uint8[2][]", word(1) * 2),
        ("string[]", word(32_000) + b"a" * 32_000),
        ("bytes[]", word(32_000) + b"a" * 32_000),
    ],
)
def test_small_data_that_stands_for_many_values_is_given_up(kind: str, shared: bytes) -> None:
    """A thousand offsets lead to the same bytes; where elements have no offsets there is no harm to do."""
    count = 1000
    data = word(32) + word(count) + word(32 * count) * count + shared
    with pytest.raises(Undecodable if kind == "uint8[2][]" else TooManyValues):
        decode_outputs(returning(kind), data)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "uint7"},
        {"type": "uint264"},
        {"type": "uint08"},
        {"type": "bytes33"},
        {"type": "bytes0"},
        {"type": "fixed128x18"},
        {"type": "tuple"},
        {"type": "tuple", "components": []},
        {"type": "uint8[0]"},
        {"type": "uint8[1000000]"},
        {"type": "uint8" + "[]" * 9},
        {"type": "uint8 "},
        {"type": ["uint8"]},
        {},
    ],
)
def test_types_that_cannot_be_called_with_are_refused(item: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_type(item)


def test_anonymous_events_and_too_many_topics_are_refused() -> None:
    one = {"type": "uint8", "indexed": True}
    for item in ({"anonymous": True, "inputs": []}, {"inputs": [one] * 4}):
        with pytest.raises(ValueError, match="E "):
            Event.parse({"type": "event", "name": "E", **item})


def test_filters_beyond_the_inputs_or_by_plain_ones_are_refused() -> None:
    event = Event.parse(
        {
            "type": "event",
            "name": "E",
            "inputs": [{"name": "who", "type": "address", "indexed": True}, {"name": "much", "type": "uint8"}],
        }
    )
    assert filter_topics(event, []) == filter_topics(event, [None, None]) == (event.topic0,)
    with pytest.raises(InvalidArgument, match="much: uint8"):
        filter_topics(event, [None, "1"])
    with pytest.raises(InvalidArgument, match=r"has 3 values; write at most 2: who: address, much: uint8$"):
        filter_topics(event, [None, None, None])
    with pytest.raises(InvalidArgument) as caught:
        filter_topics(event, ["0x1"])
    assert caught.value.field == "args[0]"
