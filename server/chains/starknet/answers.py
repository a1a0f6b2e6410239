"""What Starknet nodes answer: felts, members of documents, newest blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from server.chains.view import NewestBlock, NewestCall
from server.errors import InvalidArgument

if TYPE_CHECKING:
    Members = dict[str, msgspec.Raw]


# Nodes refuse leading zeros (specification: `^0x(0|[a-fA-F1-9][a-fA-F0-9]{0,62})$`), while wallets and explorers pad to
# 64 digits: what callers write is normalised before it is sent, and felts are compared as numbers.

PRIME = (1 << 251) + 17 * (1 << 192) + 1
"""Felts are below it."""

ADDRESS_BOUND = (1 << 251) - 256
"""Addresses are below it (Starknet documentation, contract address)."""

_FELT = re.compile(r"0[xX][0-9a-fA-F]{1,64}")


def parse_address(text: str, field: str) -> str:
    """Return an address in lower case without leading zeros; InvalidArgument naming `field` for what is none."""
    return hex(_number(text, ADDRESS_BOUND, field, "a Starknet address", "2^251 - 256"))


def parse_hash(text: str) -> str:
    """Return a transaction hash in lower case without leading zeros; InvalidArgument (`hash`) for what is none."""
    return hex(_number(text, PRIME, "hash", "a Starknet transaction hash", "the field's prime"))


def felt_number(text: str) -> int:
    """Return the number of a felt that a node wrote; ValueError for what is none."""
    if not _FELT.fullmatch(text):
        raise ValueError("not a felt")
    number = int(text, 16)
    if number >= PRIME:
        raise ValueError("beyond the field")
    return number


def _number(text: str, bound: int, field: str, what: str, limit: str) -> int:
    if not _FELT.fullmatch(text):
        raise InvalidArgument(f"{field}: {what} is 0x and up to 64 hex digits", field=field)
    number = int(text, 16)
    if number >= bound:
        raise InvalidArgument(f"{field}: {what} is below {limit}", field=field)
    return number


_HALF = 1 << 128
_MOST_DECIMALS = 255

_NUMBER = msgspec.json.Decoder(int)
_TEXT = msgspec.json.Decoder(str)
_TEXTS = msgspec.json.Decoder(list[str])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_FAULTS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError)

NEWEST: tuple[str, list[object]] = ("starknet_getBlockWithTxHashes", ["latest"])
"""The call, method and parameters, that brings the newest accepted block: `starknet_blockNumber` has no time."""


def json_number(result: bytes) -> int:
    """Return a JSON integer of 0 or more; ValueError for anything else."""
    try:
        number = _NUMBER.decode(result)
    except _FAULTS:
        raise ValueError("not a number") from None
    if not 0 <= number < 1 << 63:
        raise ValueError("not a block number")
    return number


def json_felt(result: bytes) -> int:
    """Return the number of a JSON felt; ValueError for anything else."""
    return felt_number(json_text(result))


def json_text(result: bytes) -> str:
    """Return a JSON string; ValueError for anything else."""
    try:
        return _TEXT.decode(result)
    except _FAULTS:
        raise ValueError("not a string") from None


def json_items(result: bytes) -> list[msgspec.Raw]:
    """Return the elements of a JSON array; ValueError for anything else."""
    try:
        return _ITEMS.decode(result)
    except _FAULTS:
        raise ValueError("not an array") from None


def json_members(result: bytes) -> Members:
    """Return the members of a JSON object; ValueError for anything else."""
    try:
        return _OBJECT.decode(result)
    except _FAULTS:
        raise ValueError("not an object") from None


def without(members: Members, names: frozenset[str]) -> bytes:
    """Return the object without the members of these names, all others in the node's own bytes; empty if none is."""
    rest = [msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in members.items() if name not in names]
    return b"{" + b",".join(rest) + b"}" if rest else b""


def json_felts(result: bytes) -> list[int]:
    """Return the felts that a call returned; ValueError for anything else."""
    try:
        return [felt_number(text) for text in _TEXTS.decode(result)]
    except _FAULTS:
        raise ValueError("not felts") from None


def amount_of(felts: list[int]) -> int | None:
    """Return an amount of two felts (u256, low half first), or of the one felt of old tokens; None where it is none."""
    if len(felts) == 1:
        return felts[0]
    return felts[0] + felts[1] * _HALF if len(felts) == 2 and max(felts) < _HALF else None


def decimals_of(felts: list[int]) -> int | None:
    """Return the decimals that a token returned; None where it returned none."""
    return felts[0] if len(felts) == 1 and felts[0] <= _MOST_DECIMALS else None


def parse_newest(result: bytes) -> NewestBlock:
    """Return what an answer to `NEWEST` holds; ValueError for what is no block."""
    header = json_members(result)
    try:
        return NewestBlock(json_number(header["block_number"]), json_number(header["timestamp"]))
    except KeyError:
        raise ValueError("not a block") from None


NEWEST_CALL = NewestCall(*NEWEST, parse_newest)
