"""Random ABI parameters with values: as eth-abi takes them, and as JSON writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eth_utils import to_checksum_address
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable


class Shape(NamedTuple):
    """An ABI parameter, its type as eth-abi writes it, and a strategy of (eth-abi value, JSON value)."""

    item: dict[str, Any]
    type: str
    values: st.SearchStrategy[tuple[Any, Any]]


def _integer(bits: int, signed: bool) -> Shape:
    name = f"{'int' if signed else 'uint'}{bits}"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return Shape({"type": name}, name, st.integers(low, high).map(lambda number: (number, str(number))))


def _address() -> Shape:
    addresses = st.binary(min_size=20, max_size=20).map(lambda raw: to_checksum_address("0x" + raw.hex()))
    return Shape({"type": "address"}, "address", addresses.map(lambda text: (text, text)))


def _fixed(size: int) -> Shape:
    values = st.binary(min_size=size, max_size=size).map(lambda raw: (raw, "0x" + raw.hex()))
    return Shape({"type": f"bytes{size}"}, f"bytes{size}", values)


ELEMENTARY: st.SearchStrategy[Shape] = st.one_of(
    st.builds(_integer, st.integers(1, 32).map(lambda words: 8 * words), st.booleans()),
    st.builds(_address),
    st.just(Shape({"type": "bool"}, "bool", st.booleans().map(lambda value: (value, value)))),
    st.builds(_fixed, st.integers(1, 32)),
    st.just(Shape({"type": "bytes"}, "bytes", st.binary(max_size=70).map(lambda raw: (raw, "0x" + raw.hex())))),
    st.just(Shape({"type": "string"}, "string", st.text(max_size=40).map(lambda text: (text, text)))),
)


def _array(element: Shape, length: int | None) -> Shape:
    suffix = f"[{'' if length is None else length}]"
    lists = st.lists(element.values, min_size=length or 0, max_size=3 if length is None else length)
    both = lists.map(lambda pairs: ([plain for plain, _ in pairs], [json for _, json in pairs]))
    return Shape({**element.item, "type": element.item["type"] + suffix}, element.type + suffix, both)


def _tuple(members: list[Shape]) -> Shape:
    components = [{**member.item, "name": f"m{index}"} for index, member in enumerate(members)]
    both = st.tuples(*(member.values for member in members)).map(
        lambda pairs: (tuple(plain for plain, _ in pairs), [json for _, json in pairs])
    )
    inside = ",".join(member.type for member in members)
    return Shape({"type": "tuple", "components": components}, f"({inside})", both)


SHAPES: st.SearchStrategy[Shape] = st.recursive(
    ELEMENTARY,
    lambda inner: st.one_of(
        st.builds(_array, inner, st.none() | st.integers(1, 3)),
        st.builds(_tuple, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@st.composite
def filled(draw: Callable[..., Any], most: int = 4) -> tuple[list[Shape], list[Any], list[Any]]:
    """Return parameters with values: as eth-abi takes them, and as JSON writes them."""
    shapes = draw(st.lists(SHAPES, max_size=most))
    pairs = [draw(shape.values) for shape in shapes]
    return shapes, [plain for plain, _ in pairs], [json for _, json in pairs]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 300), 1 << 300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(
        ("0x", "0x1", "0x" + "ab" * 20, "-1", "1e3", "\u0661", "0X10", " 1", "+1", "0x" + "F" * 64, "true")
    ),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(("m0", "m1", "x", "")), inner, max_size=3)
    ),
    max_leaves=12,
)
