"""Arguments of functions as the ABI encodes them, out of Python values; the writers are made once for each function.

Source: Solidity documentation, "Contract ABI Specification", "Formal Specification of the Encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.abi.composites import Array, Text, Tuple
from server.abi.mismatch import shown
from server.abi.reader import WORD
from server.abi.words import WordType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.abi.composites import Type

    Writer = Callable[[Any], bytes]


def row_writer(kinds: Sequence[Type]) -> Callable[[Sequence[Any]], bytes]:
    """Return what writes values of these types as neighbours; ValueError for a value of another type or size.

    There must be as many values as types.
    """
    writers = [writer(kind) for kind in kinds]
    if not any(kind.is_dynamic for kind in kinds):
        return lambda values: b"".join([write(value) for write, value in zip(writers, values, strict=True)])
    are_dynamic = [kind.is_dynamic for kind in kinds]
    size = sum(kind.head_size for kind in kinds)

    def write_row(values: Sequence[Any]) -> bytes:
        heads, tails, end = [], [], size
        for write, is_dynamic, value in zip(writers, are_dynamic, values, strict=True):
            written = write(value)
            if is_dynamic:
                heads.append(end.to_bytes(WORD, "big"))
                tails.append(written)
                end += len(written)
            else:
                heads.append(written)
        return b"".join(heads + tails)

    return write_row


def writer(kind: Type) -> Writer:
    """Return what writes a value of a type: in place, or what the offset to it leads to."""
    if isinstance(kind, WordType):
        return kind.to_word
    if isinstance(kind, Tuple):
        return _tuple_writer(kind)
    if isinstance(kind, Array):
        return _array_writer(kind)
    return _write_text if isinstance(kind, Text) else _write_bytes


def _tuple_writer(kind: Tuple) -> Writer:
    write_row = row_writer(kind.members)

    def write(value: Any) -> bytes:
        if not isinstance(value, tuple | list) or len(value) != len(kind.members):
            raise ValueError(f"{shown(value)} is no {kind.canonical}")
        return write_row(value)

    return write


def _array_writer(kind: Array) -> Writer:
    def write(value: Any) -> bytes:
        if not isinstance(value, tuple | list) or kind.length not in (None, len(value)):
            raise ValueError(f"{shown(value)} is no {kind.canonical}")
        elements = row_writer((kind.element,) * len(value))(value)
        return elements if kind.length is not None else len(value).to_bytes(WORD, "big") + elements

    return write


def _write_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"{shown(value)} is no bytes")
    return len(value).to_bytes(WORD, "big") + value + bytes(-len(value) % WORD)


def _write_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is no string")
    return _write_bytes(value.encode())
