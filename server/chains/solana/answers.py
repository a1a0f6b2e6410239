"""The JSON of nodes' answers, as far as it is read: unknown members and types pass by."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from server.upstream.policy import Reply

Answer = TypeVar("Answer")


class Context(msgspec.Struct):
    """The slot that a state was read at."""

    slot: int


class Account(msgspec.Struct):
    """An account; `data` is `[text, encoding]`, or an object where the node parsed it."""

    owner: str
    data: Any


class Amount(msgspec.Struct):
    """`{"context", "value"}` of `getBalance`."""

    context: Context
    value: int


class Accounts(msgspec.Struct):
    """`{"context", "value"}` of `getMultipleAccounts`."""

    context: Context
    value: list[Account | None]


class Keyed(msgspec.Struct):
    """A row of `getTokenAccountsByOwner`."""

    pubkey: str
    account: Account


class Holdings(msgspec.Struct):
    """`{"context", "value"}` of `getTokenAccountsByOwner`."""

    context: Context
    value: list[Keyed]


def read_answer(reply: Reply, kind: type[Answer], what: str) -> Answer:
    """Return a node's answer as that structure; UpstreamUnavailable where it is not of that shape."""
    try:
        return msgspec.json.decode(reply.result, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise malformed(reply, what) from None


def malformed(reply: Reply, what: str) -> UpstreamUnavailable:
    """Return the failure of a node that answered with something else."""
    return UpstreamUnavailable(f"endpoint {reply.endpoint} answered with a malformed {what}")


def read_slot(result: bytes) -> int:
    """Return the slot of a `getSlot` answer; ValueError if it is none."""
    try:
        slot = msgspec.json.decode(result, type=int)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a slot") from None
    if slot < 0:
        raise ValueError("not a slot")
    return slot


def account_bytes(account: Account) -> bytes | None:
    """Return the data of an account that came in base64, None where it came otherwise."""
    data = account.data
    if not (isinstance(data, list) and len(data) == 2 and data[1] == "base64" and isinstance(data[0], str)):
        return None
    try:
        return base64.b64decode(data[0], validate=True)
    except (binascii.Error, ValueError):
        return None


def parsed_info(account: Account, kind: str) -> dict[str, Any] | None:
    """Return `info` of an account that the node parsed as `mint` or `account`, None where it did not."""
    data = account.data
    parsed = data.get("parsed") if isinstance(data, dict) else None
    if not isinstance(parsed, dict) or parsed.get("type") != kind:
        return None
    info = parsed.get("info")
    return info if isinstance(info, dict) else None
