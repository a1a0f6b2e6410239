"""How parameters are named and shown in messages, and what a text must be by its `Format`.

Formats that depend on the chain (FORMAT_ADDRESS, FORMAT_HASH, FORMAT_BECH32) are checked by the chain's driver.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from waypost.options.v1 import options_pb2

from runtime.operations import member
from server.catalog.tokens import PRICED_SYMBOLS
from server.contracts.address import checksum_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from google.protobuf.descriptor import FieldDescriptor

    from runtime.operations import Operation

    Check = Callable[[str], str | None]

_LONGEST_SHOWN = 64
_REPEATED = 3  # google.protobuf.FieldDescriptorProto.Label.LABEL_REPEATED


def item_root(operation: Operation | None) -> str:
    """Return the name under which callers know the items of a multi-item operation, "" for other operations."""
    return "params" if operation is not None and operation.takes_items else ""


@cache
def subject_path(operation: Operation) -> str | None:
    """Return how errors name what the operation looks up, None where it looks up nothing by one parameter.

    For a multi-item operation that is the first item's: it fails as a whole only with the failure of its first item.
    """
    message = operation.method.input_type
    if operation.takes_items:
        message = message.fields_by_name["items"].message_type
    name = next((json_name(field) for field in message.fields if member(field).subject), None)
    return f"{item_root(operation)}[0].{name}" if name and operation.takes_items else name


def shown(value: object) -> str:
    """Return the value as an error message may carry it: quoted, on one line, printable, at most 64 characters."""
    if isinstance(value, bytes):
        value = value.hex()
    if not isinstance(value, str):
        return str(value)
    short = value[:_LONGEST_SHOWN]
    safe = "".join(character if character.isprintable() else "�" for character in short)
    return f"`{safe}{'…' if len(value) > _LONGEST_SHOWN else ''}`"


def is_repeated(field: FieldDescriptor) -> bool:
    """Return whether the field is a list (or a map)."""
    return bool(field.label == _REPEATED)


def json_name(field: FieldDescriptor) -> str:
    """Return the name by which callers know the field: in JSON, where that has it."""
    name: str = field.name if member(field).grpc_only else field.json_name  # type: ignore[attr-defined]  # not in stubs
    return name


@cache
def message_names(operation: Operation) -> Mapping[str, str]:
    """Return the parameters that JSON calls by a word of its own, with their names in messages (decisions/0062)."""
    names = {json_name(field): field.name for field in operation.method.input_type.fields}
    return {name: own for name, own in names.items() if name.lower() != own.replace("_", "")}


MAX_UINT256 = (1 << 256) - 1
MAX_INTEGER = (1 << 53) - 1


def _pattern(pattern: str, advice: str) -> Check:
    matches = re.compile(pattern).fullmatch

    def check(text: str) -> str | None:
        return None if matches(text) else advice

    return check


def _evm_address(text: str) -> str | None:
    try:
        checksum_address(text)
    except ValueError as error:
        return str(error)
    return None


def _is_whole(text: str, most: int) -> bool:
    """Return whether the text is 1 to `most` decimal digits of ASCII."""
    return len(text) <= most and text.isascii() and text.isdecimal()


def _uint(text: str) -> str | None:
    if _is_whole(text, 78) and int(text) <= MAX_UINT256:
        return None
    return "write an unsigned integer below 2^256 in decimal digits"


def _block(text: str) -> str | None:
    if text == "latest" or (_is_whole(text, 16) and int(text) <= MAX_INTEGER):
        return None
    return "write a whole block number in decimal digits, or `latest`"


def _symbol(text: str) -> str | None:
    if text in PRICED_SYMBOLS:
        return None
    return f"write one of {', '.join(PRICED_SYMBOLS)}"


def _date(text: str) -> str | None:
    advice = "write a calendar date as YYYY-MM-DD"
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return advice
    try:
        date.fromisoformat(text)
    except ValueError:
        return advice
    return None


def _url(text: str) -> str | None:
    advice = "write an absolute http or https URL"
    try:
        parts = urlsplit(text)
    except ValueError:
        return advice
    return None if parts.scheme in ("http", "https") and parts.hostname else advice


CHECKS: Mapping[int, Check] = {
    options_pb2.FORMAT_EVM_ADDRESS: _evm_address,
    options_pb2.FORMAT_EVM_HASH: _pattern(r"0x[0-9a-fA-F]{64}", "write 0x and 64 hex digits"),
    options_pb2.FORMAT_HEX_DATA: _pattern(r"0x([0-9a-fA-F]{2})*", "write 0x and an even number of hex digits"),
    options_pb2.FORMAT_HEX_QUANTITY: _pattern(r"0x[0-9a-fA-F]{1,64}", "write 0x and 1 to 64 hex digits"),
    options_pb2.FORMAT_DECIMAL: _pattern(r"[0-9]{1,78}(\.[0-9]{1,78})?", "write a decimal number such as 12.5"),
    options_pb2.FORMAT_UINT: _uint,
    options_pb2.FORMAT_BLOCK: _block,
    options_pb2.FORMAT_HEX_BLOCK: _pattern(r"latest|0x[0-9a-fA-F]{1,14}", "write a hex block number, or `latest`"),
    options_pb2.FORMAT_CURSOR: _pattern(
        r"[A-Za-z0-9:._=-]{1,256}", "write the cursor of the previous page as it was answered"
    ),
    options_pb2.FORMAT_SYMBOL: _symbol,
    options_pb2.FORMAT_DATE: _date,
    options_pb2.FORMAT_BASE58: _pattern(
        r"[1-9A-HJ-NP-Za-km-z]{32,44}", "write a Base58 public key of 32 to 44 characters"
    ),
    options_pb2.FORMAT_COSMOS_HASH: _pattern(r"[0-9a-fA-F]{64}", "write 64 hex digits without 0x"),
    options_pb2.FORMAT_URL: _url,
}
