"""Arguments as callers write them: JSON bytes to values of ABI types.

Every value is checked before anything is encoded or asked: integers keep all their digits, and a value that does not
fit is refused by its position, its name and its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from server.abi.mismatch import Mismatch
from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.abi.parameters import Parameter

MAX_BYTES = 128 * 1024
"""Longest JSON text of arguments."""

MAX_VALUES = 4096
"""Most values in arguments, those inside of arrays and objects included."""

FIELD = "args"

_decode = msgspec.json.Decoder().decode


def read_arguments(json: bytes | None) -> list[Any]:
    """Return the arguments of a call; none where there is no text or `null`.

    Raises:
        InvalidArgument: not a JSON array, or one that is too long or too deep.
    """
    if not json:
        return []
    if len(json) > MAX_BYTES:
        raise InvalidArgument(f"args has {len(json)} bytes; write at most {MAX_BYTES}", field=FIELD)
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
    if _exceeds(value, MAX_VALUES):
        raise InvalidArgument(f"args holds more than {MAX_VALUES} values", field=FIELD)
    return value


def _exceeds(values: list[Any], most: int) -> bool:
    """Return whether there are more values than that, inner ones included."""
    stack: list[Any] = [values]
    while stack:
        inner = stack.pop()
        most -= len(inner)
        if most < 0:
            return True
        stack += [one for one in (inner.values() if isinstance(inner, dict) else inner) if isinstance(one, list | dict)]
    return False


def accept_arguments(values: Sequence[Any], parameters: Sequence[Parameter]) -> list[Any]:
    """Return the arguments of a function as eth-abi encodes them.

    Raises:
        InvalidArgument: another number of arguments, or one that does not fit its type; names `args` or the place.
    """
    if len(values) != len(parameters):
        wanted = f"{len(parameters)}: {', '.join(map(str, parameters))}" if parameters else "none"
        raise InvalidArgument(f"args has {counted(len(values), 'value')}; write {wanted}", field=FIELD)
    return [
        accept_argument(value, parameter, index)
        for index, (value, parameter) in enumerate(zip(values, parameters, strict=True))
    ]


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts: `1 value`, `2 values`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def accept_argument(value: Any, parameter: Parameter, index: int) -> Any:
    """Return one argument as eth-abi encodes it; raises as `accept_arguments`."""
    path = f"{FIELD}[{index}]"
    try:
        return parameter.type.accept(value, path)
    except Mismatch as error:
        inner = f" of {error.type}" if error.path != path else ""
        raise InvalidArgument(f"{error.path}{inner} ({parameter}) {error.why}", field=error.path) from None
