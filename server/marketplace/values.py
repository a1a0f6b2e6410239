"""Arguments as callers write them and values as they are answered: JSON here, Python values of the ABI there.

Every argument is checked before anything is encoded or read: integers keep all their digits, and a value that does not
fit is refused by its position, its name and its type. Answered are integers as decimal text, addresses checksummed,
bytes as 0x and hex, arrays and tuples as arrays. Typed messages hold bytes as bytes, which are taken like hex text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from server.contracts.address import checksum_address
from server.contracts.types import Array, Bytes, Text, Tuple
from server.contracts.words import Address, Boolean, FixedBytes, Integer
from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from server.contracts.events import Event
    from server.contracts.types import Parameter, Type

MAX_BYTES = 128 * 1024
"""Longest JSON text of arguments."""

MAX_VALUES = 4096
"""Most values in arguments, those inside of arrays and objects included."""

FIELD = "args"

_SHOWN = 64
_DECIMAL = re.compile(r"-?[0-9]{1,78}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")
_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def json_array(values: Iterable[Any]) -> bytes:
    """Return Python values as the text of a JSON array."""
    return _encode(list(map(to_json, values)))


def to_json(value: Any) -> Any:
    """Return a Python value as JSON."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return list(map(to_json, value))


def json_text(value: Any) -> str:
    """Return a Python value as one text: itself where its JSON is text, else its JSON."""
    written = to_json(value)
    return written if isinstance(written, str) else _encode(written).decode()


def read_arguments(json: bytes | None) -> list[Any]:
    """Return the arguments of a call as JSON values; none where there is no text or `null`.

    Raises:
        InvalidArgument: not a JSON array, or one that is too long or too deep.
    """
    if not json:
        return []
    _bound_bytes(len(json))
    try:
        value = _decode(json)
    except RecursionError:
        raise InvalidArgument("args: arrays nest too deep", field=FIELD) from None
    except (msgspec.MsgspecError, UnicodeError, ValueError):
        raise InvalidArgument("args is no JSON array of readable values", field=FIELD) from None
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidArgument("args must be an array of the arguments in their order", field=FIELD)
    _bound_values(value)
    return value


def bound_arguments(values: list[Any]) -> list[Any]:
    """Return arguments of a typed message; InvalidArgument where their JSON would be refused for its size."""
    _bound_bytes(_json_size(values))
    _bound_values(values)
    return values


def accept_arguments(values: Sequence[Any], parameters: Sequence[Parameter]) -> list[Any]:
    """Return the arguments of a function as Python values.

    Raises:
        InvalidArgument: another number of arguments, or one that does not fit its type; names `args` or the place.
    """
    if len(values) != len(parameters):
        wanted = f"{len(parameters)}: {', '.join(map(str, parameters))}" if parameters else "none"
        raise InvalidArgument(f"args has {_counted(len(values))}; write {wanted}", field=FIELD)
    return [
        _accept_argument(value, parameter, index)
        for index, (value, parameter) in enumerate(zip(values, parameters, strict=True))
    ]


def accept_filters(values: Sequence[Any], event: Event) -> list[Any]:
    """Return the filters of an event as Python values in the order of its inputs, None for any.

    Raises:
        InvalidArgument: more filters than inputs, one for an input that is not indexed, or one that does not fit.
    """
    inputs = event.inputs
    if len(values) > len(inputs):
        wanted = f"at most {len(inputs)}: {', '.join(map(str, inputs))}" if inputs else "none"
        raise InvalidArgument(f"args has {_counted(len(values))}; write {wanted}", field=FIELD)
    filters = []
    for index, (value, parameter) in enumerate(zip(values, inputs, strict=False)):
        if value is not None and not parameter.is_indexed:
            path = f"{FIELD}[{index}]"
            raise InvalidArgument(
                f"{path} ({parameter}) is not indexed, so it cannot be filtered by; write null", field=path
            )
        filters.append(None if value is None else _accept_argument(value, parameter, index))
    return filters


class _Mismatch(ValueError):
    """A value that does not fit: its place in the arguments (`args[1][0]`), the type there, and what to write."""

    def __init__(self, path: str, kind: Type, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.type = kind.canonical
        self.why = why


def _accept_argument(value: Any, parameter: Parameter, index: int) -> Any:
    path = f"{FIELD}[{index}]"
    try:
        return _accept(parameter.type, value, path)
    except _Mismatch as error:
        inner = f" of {error.type}" if error.path != path else ""
        raise InvalidArgument(f"{error.path}{inner} ({parameter}) {error.why}", field=error.path) from None


def _accept(kind: Type, value: Any, path: str) -> Any:
    return _ACCEPT[type(kind)](kind, value, path)


def _accept_integer(kind: Integer, value: Any, path: str) -> int:
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and _DECIMAL.fullmatch(value):
        number = int(value)
    elif isinstance(value, str) and _HEX.fullmatch(value):
        number = int(value, 16)
    least, most = kind.bounds
    if number is None or not least <= number <= most:
        raise _Mismatch(path, kind, f"is {_shown(value)}; write {_range(kind)}")
    return number


def _range(kind: Integer) -> str:
    least, most = kind.bounds
    if kind.bits <= 32:
        return f"an integer from {least} to {most}, as decimal or 0x text or as a number"
    top = kind.bits - kind.is_signed
    return f"an integer from {f'-2^{top}' if kind.is_signed else 0} to 2^{top}-1, as decimal or 0x text"


def _accept_address(kind: Address, value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _Mismatch(path, kind, f"is {_shown(value)}; write an address as 0x and 40 hex digits")
    try:
        return checksum_address(value)
    except ValueError as error:
        raise _Mismatch(path, kind, f"is {_shown(value)}; {error}") from None


def _accept_boolean(kind: Boolean, value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise _Mismatch(path, kind, f"is {_shown(value)}; write true or false, without quotes")
    return value


def _accept_bytes(kind: Bytes | FixedBytes, value: Any, path: str) -> bytes:
    size = kind.size if isinstance(kind, FixedBytes) else None
    what = "bytes" if size is None else f"{size} bytes"
    if isinstance(value, bytes):
        raw = value
    elif isinstance(value, str) and _BYTES.fullmatch(value):
        raw = bytes.fromhex(value[2:])
    else:
        raise _Mismatch(path, kind, f"is {_shown(value)}; write {what} as 0x and two hex digits for each")
    if size is not None and len(raw) != size:
        raise _Mismatch(path, kind, f"has {len(raw)} bytes; write exactly {what}")
    return raw


def _accept_text(kind: Text, value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _Mismatch(path, kind, f"is {_shown(value)}; write text in quotes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Mismatch(path, kind, "holds half of a surrogate pair; write valid Unicode") from None
    return value


def _accept_array(kind: Array, value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Mismatch(path, kind, f"is {_shown(value)}; write an array of {kind.element.canonical}")
    if kind.length is not None and len(value) != kind.length:
        raise _Mismatch(path, kind, f"has {len(value)} elements; write exactly {kind.length}")
    return [_accept(kind.element, element, f"{path}[{index}]") for index, element in enumerate(value)]


def _accept_tuple(kind: Tuple, value: Any, path: str) -> tuple[Any, ...]:
    if isinstance(value, dict):
        return _accept_named(kind, value, path)
    if not isinstance(value, list):
        form = f"an array of {len(kind.members)}" + (" or an object by name" if all(kind.names) else "")
        raise _Mismatch(path, kind, f"is {_shown(value)}; write {form}")
    if len(value) != len(kind.members):
        raise _Mismatch(path, kind, f"has {len(value)} members; write {len(kind.members)}")
    return tuple(
        _accept(member, inner, f"{path}[{index}]")
        for index, (member, inner) in enumerate(zip(kind.members, value, strict=True))
    )


def _accept_named(kind: Tuple, value: dict[str, Any], path: str) -> tuple[Any, ...]:
    if not all(kind.names):
        raise _Mismatch(path, kind, "has members without a name; write an array")
    unknown = [name for name in value if name not in kind.names]
    missing = [name for name in kind.names if name not in value]
    if unknown or missing:
        what = f"has no member {missing[0]}" if missing else f"has an unknown member {_shown(unknown[0])}"
        raise _Mismatch(path, kind, f"{what}; write {', '.join(kind.names)}")
    return tuple(
        _accept(member, value[name], f"{path}.{name}") for name, member in zip(kind.names, kind.members, strict=True)
    )


_ACCEPT: Mapping[type, Callable[[Any, Any, str], Any]] = {
    Integer: _accept_integer,
    Address: _accept_address,
    Boolean: _accept_boolean,
    FixedBytes: _accept_bytes,
    Bytes: _accept_bytes,
    Text: _accept_text,
    Array: _accept_array,
    Tuple: _accept_tuple,
}


def _bound_bytes(size: int) -> None:
    if size > MAX_BYTES:
        raise InvalidArgument(f"args has {size} bytes; write at most {MAX_BYTES}", field=FIELD)


def _bound_values(values: list[Any]) -> None:
    """Raise InvalidArgument where there are more than `MAX_VALUES`, inner ones included."""
    left = MAX_VALUES
    stack: list[Any] = [values]
    while stack:
        inner = stack.pop()
        left -= len(inner)
        if left < 0:
            raise InvalidArgument(f"args holds more than {MAX_VALUES} values", field=FIELD)
        stack += [one for one in (inner.values() if isinstance(inner, dict) else inner) if isinstance(one, list | dict)]


def _json_size(value: Any) -> int:
    """Return how long a value of a typed message is as JSON."""
    if isinstance(value, list):
        return 1 + max(1, len(value)) + sum(map(_json_size, value))
    return 2 * len(value) + 4 if isinstance(value, bytes) else len(_encode(value))


def _counted(number: int) -> str:
    return f"{number} value" if number == 1 else f"{number} values"


def _shown(value: Any) -> str:
    """Return a JSON value as an error shows it: short, and containers by kind only."""
    if isinstance(value, str):
        text = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return '"' + "".join(character if character.isprintable() else "?" for character in text) + '"'
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
