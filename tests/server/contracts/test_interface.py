"""Typed functions of contracts agree with eth-abi, whatever the types and values; hostile data is read in bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils import keccak, to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from server.contracts.calls import ContractCall, ContractOutcome
from server.contracts.interface import Function, Interface, Unreadable
from server.contracts.reverts import Revert
from server.contracts.words import Undecodable
from tests.examples import examples
from tests.server.contracts.shapes import SHAPES, Shape, filled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SETTINGS = settings(max_examples=examples(80), deadline=None)
TOKEN = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def function(inputs: Sequence[Shape] = (), outputs: Sequence[Shape] = ()) -> Function:
    """Return a function of such inputs and outputs, by its Solidity signature."""
    inside, back = (", ".join(shape.type for shape in shapes) for shapes in (inputs, outputs))
    return Interface.parse(f"function f({inside}) view returns ({back})")["f"]


def returned(data: bytes) -> ContractOutcome:
    return ContractOutcome(True, data)


def as_read(value: Any) -> Any:
    """Return a value as it is read: tuples of tuples, lists of arrays, as eth-abi takes them here."""
    if isinstance(value, tuple):
        return tuple(map(as_read, value))
    return list(map(as_read, value)) if isinstance(value, list) else value


@SETTINGS
@given(filled())
def test_calldata_is_what_eth_abi_encodes(drawn: tuple[list[Shape], list[Any], list[Any]]) -> None:
    shapes, plain, _ = drawn
    types = [shape.type for shape in shapes]
    call = function(inputs=shapes).call(TOKEN, *plain, gas=70_000, sender=WALLET, is_optional=True)
    data = keccak(text=f"f({','.join(types)})")[:4] + encode(types, plain)
    assert call == ContractCall(TOKEN, data, 70_000, WALLET, True)


@SETTINGS
@given(filled(), st.binary(max_size=64))
def test_outputs_are_what_was_encoded(drawn: tuple[list[Shape], list[Any], list[Any]], after: bytes) -> None:
    shapes, plain, _ = drawn
    data = encode([shape.type for shape in shapes], plain)
    assert function(outputs=shapes).read(returned(data)) == as_read(tuple(plain))
    assert function(outputs=shapes).read(returned(data + bytes(len(after)))) == as_read(tuple(plain))


@SETTINGS
@given(st.lists(SHAPES, min_size=1, max_size=3), st.binary(max_size=300), st.data())
def test_of_any_bytes_nothing_is_read_that_eth_abi_reads_otherwise(
    shapes: list[Shape], raw: bytes, data: st.DataObject
) -> None:
    types = [shape.type for shape in shapes]
    if data.draw(st.booleans()):
        damaged = bytearray(encode(types, [data.draw(shape.values)[0] for shape in shapes]))
        for _ in range(data.draw(st.integers(1, 3))):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.sampled_from((0, 1, 32, 64, 255)))
        raw = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        got = function(outputs=shapes).read(returned(raw))
    except Unreadable:
        with pytest.raises((DecodingError, UnicodeDecodeError, OverflowError)):
            decode(types, raw)
        return
    try:
        expected = decode(types, raw)
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return  # padding that is not zero, text that is not UTF-8
    again = encode(types, expected)
    assert function(outputs=shapes).read(returned(again)) == got


@pytest.mark.parametrize("bits", [8, 24, 128, 248, 256])
def test_integers_that_do_not_fit_are_neither_written_nor_read(bits: int) -> None:
    for name, low, high in (("uint", 0, (1 << bits) - 1), ("int", -(1 << (bits - 1)), (1 << (bits - 1)) - 1)):
        one = Interface.parse(f"function f({name}{bits}) view returns ({name}{bits})")["f"]
        for value in (low, high):
            assert one.read_one(returned(one.encode(value)[4:])) == value
        for value in (low - 1, high + 1, True, "1", 1.0, None):
            with pytest.raises(ValueError, match=f"{name}{bits}"):
                one.encode(value)
        if bits < 256:
            word = (high + 1).to_bytes(32, "big")
            with pytest.raises(Unreadable):
                one.read(returned(word))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("address", "0x00"),
        ("address", TOKEN[2:] + "00"),
        ("address", "0x" + "g" * 40),
        ("address", "0x" + "12 " * 13 + "1"),
        ("address", 5),
        ("bool", 1),
        ("bytes32", b"short"),
        ("bytes4", "0x01020304"),
        ("(address,uint24)", (TOKEN,)),
        ("(address,uint24)", TOKEN),
        ("uint256[2]", [1]),
        ("bytes", "text"),
        ("(uint256,bytes)", (1, "text")),
        ("uint256[]", [-1]),
    ],
)
def test_arguments_of_another_type_are_refused(kind: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^f\("):
        Interface.parse(f"function f({kind})")["f"].encode(value)


def test_the_number_of_arguments_is_that_of_the_inputs() -> None:
    one = Interface.parse("function f(address)")["f"]
    for arguments in ((), (TOKEN, TOKEN)):
        with pytest.raises(ValueError, match="is called with"):
            one.call(TOKEN, *arguments)


@pytest.mark.parametrize(
    ("returns", "data"),
    [
        ("(uint256)", b""),
        ("(uint256)", bytes(31)),
        ("(uint256, address)", bytes(32)),
        ("(address)", b"\1" + bytes(31)),
        ("(bool)", (2).to_bytes(32, "big")),
        ("(bytes4)", bytes(31) + b"\1"),
        ("(int24)", (1 << 23).to_bytes(32, "big")),
        ("(string)", (1 << 255).to_bytes(32, "big")),
        ("(string)", (32).to_bytes(32, "big") + (33).to_bytes(32, "big") + bytes(32)),
        ("(uint256[])", (32).to_bytes(32, "big") + (1 << 200).to_bytes(32, "big")),
        ("(uint256[2])", bytes(63)),
        ("((uint256, uint256))", bytes(63)),
        # What some nodes hand out as a result is a revert.
        ("(uint256)", bytes.fromhex("08c379a0") + encode(["string"], ["no"])),
    ],
)
def test_data_that_is_no_answer_is_not_read(returns: str, data: bytes) -> None:
    one = Interface.parse(f"function f() view returns {returns}")["f"]
    with pytest.raises(Unreadable, match=r"^f\(\)"):
        one.read(returned(data))


def test_a_call_that_failed_is_not_read_whatever_it_reverted_with() -> None:
    one = Interface.parse("function f() view returns (uint256)")["f"]
    with pytest.raises(Unreadable, match="reverted"):
        one.read(ContractOutcome(False, bytes(32)))
    assert Interface.parse("function poke()")["poke"].read(returned(b"")) == ()


def test_few_bytes_do_not_stand_for_many_values() -> None:
    """A hundred arrays at one place of a thousand words each: 100,000 values in 35 kB."""
    width = 1000
    head = (32).to_bytes(32, "big") + (100).to_bytes(32, "big") + (100 * 32).to_bytes(32, "big") * 100
    data = head + width.to_bytes(32, "big") + bytes(32 * width)
    one = Interface.parse("function f() view returns (uint256[][])")["f"]
    assert decode(["uint256[][]"], data)[0][99] == (0,) * width
    with pytest.raises(Unreadable, match="too many values"):
        one.read(returned(data))


def test_values_are_those_of_python() -> None:
    one = Interface.parse(
        "function f() view returns (address, int24, bool, bytes4, bytes, string, uint8[], (uint256 a, address[] b) s)"
    )["f"]
    types = ["address", "int24", "bool", "bytes4", "bytes", "string", "uint8[]", "(uint256,address[])"]
    values = [WALLET.lower(), -5, True, b"\1\2\3\4", b"xyz", "text", [1, 2], (7, [TOKEN.lower()])]
    expected = (WALLET, -5, True, b"\1\2\3\4", b"xyz", "text", [1, 2], (7, [TOKEN]))
    assert one.read(returned(encode(types, values))) == expected
    assert to_checksum_address(WALLET) == WALLET


def test_interfaces_of_text_have_functions_events_and_errors() -> None:
    interface = Interface.parse(
        """
        # a pool
        function slot0() external view returns (uint160 sqrtPriceX96, int24 tick)   # the rest is not read
        function quote((address tokenIn, uint24 fee)[] calldata steps, uint amount) returns (uint amountOut);
        function f(uint256) view returns (bool)
        function f(address who) payable
        event Swap(address indexed sender, int256 amount)
        error PoolNotInitialized()
        error NotEnoughLiquidity(bytes32 poolId)
        """
    )
    assert interface["slot0"].selector == bytes.fromhex("3850c7bd")
    assert interface["quote"].signature == "quote((address,uint24)[],uint256)"
    assert interface["f(address)"].selector == keccak(text="f(address)")[:4]
    with pytest.raises(KeyError, match=r"one of f\(uint256\), f\(address\)"):
        interface["f"]
    with pytest.raises(KeyError):
        interface["g"]
    sender = bytes(12) + bytes.fromhex(WALLET[2:])
    swap = interface.events["Swap"]
    assert swap.topic0 == keccak(text="Swap(address,int256)")
    assert swap.read([swap.topic0, sender], encode(["int256"], [-3])) == (WALLET, -3)
    pool = keccak(text="pool")
    selector = keccak(text="NotEnoughLiquidity(bytes32)")[:4]
    revert = Revert.of(ContractOutcome(False, selector + pool))
    assert interface.errors[revert.selector].name == "NotEnoughLiquidity"
    assert interface.errors[revert.selector].read(revert.data) == (pool,)
    for data in (selector, b"", b"\0" * 36):
        with pytest.raises(Undecodable):
            interface.errors[selector].read(data)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("balanceOf(address)", "begins with"),
        ("function balanceOf", "parentheses"),
        ("function balanceOf(address", "ends where"),
        ("function balanceOf(address) returns", "parentheses"),
        ("function balanceOf(address) returns (uint7)", "uint7"),
        ("function balanceOf(address) views returns (uint256)", "'views'"),
        ("function balanceOf(IERC20 token)", "IERC20"),
        ("function balanceOf(address indexed token)", "comma"),
        ("function balanceOf(address; uint256)", "';'"),
        ("event Swap(address a) returns (uint256)", "'returns'"),
        ("error E(uint256[0] a)", "array of 0"),
        ("function f()\nfunction f() view returns (uint256)", "twice"),
        ("struct S { uint256 a; }", "'{'"),
    ],
)
def test_lines_that_are_no_signature_are_refused(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        Interface.parse(line)


def test_interfaces_are_resources_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "some_protocol" / "abi"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "pool.abi").write_text("function get_virtual_price() view returns (uint256)\n")
    (folder / "bad.abi").write_text("# one\nfunction f(\n")
    monkeypatch.syspath_prepend(tmp_path)
    pool = Interface.load("some_protocol", "pool")
    assert pool["get_virtual_price"].call(TOKEN) == ContractCall(TOKEN, bytes.fromhex("bb7b8b80"))
    assert Interface.load("some_protocol", "pool") is pool
    with pytest.raises(ValueError, match=r"some_protocol/abi/bad\.abi: line 2"):
        Interface.load("some_protocol", "bad")
    with pytest.raises(FileNotFoundError):
        Interface.load("some_protocol", "none")


def test_reverts_hold_their_data_as_bytes() -> None:
    text = bytes.fromhex("08c379a0") + encode(["string"], ["Too little received"])
    assert Revert.of(ContractOutcome(False, text)) == Revert(text, text[:4], "Too little received")
    panic = bytes.fromhex("4e487b71") + (17).to_bytes(32, "big")
    assert Revert.of(ContractOutcome(False, panic)) == Revert(panic, panic[:4], None)
    assert Revert.of(ContractOutcome(False, b"")) == Revert(b"", b"", None)
    assert Revert.of(ContractOutcome(False, b"\1\2")) == Revert(b"\1\2", b"", None)
    with pytest.raises(ValueError, match="did not revert"):
        Revert.of(returned(b""))
