"""Transactions as a CometBFT node keeps them: found by hash, their bytes taken apart, written as a REST gateway does.

The bytes are those of the transaction that was asked for, because their SHA-256 is its hash: where they cannot be
decoded no other node is asked.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec

from server.chains.cosmos.answers import Gas, Height, timestamp_of
from server.chains.cosmos.sdk_json import Unwritable, Writing, load_module
from server.errors import NotFound, NotSupported
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.view import ReadView

Answer = TypeVar("Answer")

MOST_BYTES = 2 * 1024 * 1024
"""The largest transaction that is decoded, twice what nodes take into their pools unless they are configured to."""


class _Outcome(msgspec.Struct):
    code: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0
    data: str | None = None
    log: str = ""
    info: str = ""
    gas_wanted: Gas = "0"
    gas_used: Gas = "0"
    events: msgspec.Raw = msgspec.Raw(b"[]")
    codespace: str = ""


class _Indexed(msgspec.Struct):
    height: Height
    tx_result: _Outcome
    tx: str


class _Header(msgspec.Struct):
    height: Height
    time: str


class _Headed(msgspec.Struct):
    header: _Header


class _LoggedAttribute(msgspec.Struct):
    key: str = ""
    value: str = ""


class _LoggedEvent(msgspec.Struct):
    type: str = ""
    attributes: list[_LoggedAttribute] = []


class _MessageLog(msgspec.Struct):
    msg_index: int = 0
    log: str = ""
    events: list[_LoggedEvent] = []


class _Found(NamedTuple):
    """A transaction's bytes, its place, how it ended, and what its messages returned."""

    raw: bytes
    height: str
    outcome: _Outcome
    data: bytes


async def read_raw_transaction(
    nodes: CosmosNodes, wanted: str, view: ReadView, read: Callable[[bytes], Answer]
) -> Answer:
    """Return what `read` makes of the transaction of that hash (upper-case hex), written as the REST gateway's answer.

    `read` runs beside the event loop. Raises NotFound, and NotSupported for bytes that cannot be decoded or nodes
    without an index of transactions.
    """
    named = {"hash": base64.b64encode(bytes.fromhex(wanted)).decode()}
    try:
        found = await nodes.call("tx", named, view, lambda body: _found(body, wanted), CallPolicy(null_elsewhere=True))
    except NotFound as error:
        raise absent(f"{nodes.slug} has no transaction of that hash, or not yet", error) from None
    policy = CallPolicy(null_elsewhere=True, min_block=int(found.height))
    made_at = await nodes.call("header", {"height": found.height}, view, lambda body: _time(body, found.height), policy)
    # In a thread, however small it is: the first one of its kind imports the types of its messages.
    return await asyncio.to_thread(lambda: read(_answer(found, wanted, made_at)))


def decode_transaction(data: bytes) -> dict[str, Any]:
    """Return `body`, `auth_info` and `signatures` of a transaction's bytes, as the REST gateway writes them.

    A message of a type that is not known, or of bytes that are not of its type, is `@type` and `value` (base64); so
    are the ones within messages. Raises Unwritable for what is no transaction, or a larger one than 2 MiB.
    """
    if len(data) > MOST_BYTES:
        raise Unwritable("larger than 2 MiB")
    types, writing = load_module("cosmos.tx.v1beta1.tx_pb2"), Writing()
    raw: Any = writing.read(types.TxRaw, data)
    return {
        "body": writing.write(writing.read(types.TxBody, raw.body_bytes)),
        "auth_info": writing.write(writing.read(types.AuthInfo, raw.auth_info_bytes)),
        "signatures": [base64.b64encode(signature).decode() for signature in raw.signatures],
    }


def _found(body: bytes, wanted: str) -> _Found:
    indexed = msgspec.json.decode(body, type=_Indexed)
    raw = base64.b64decode(indexed.tx, validate=True)
    if hashlib.sha256(raw).hexdigest().upper() != wanted:
        raise ValueError("another transaction than the one asked for")
    outcome = indexed.tx_result
    return _Found(raw, indexed.height, outcome, base64.b64decode(outcome.data or "", validate=True))


def _time(body: bytes, height: str) -> str:
    """Return when a block was made, in whole seconds, as the REST gateway states it with a transaction."""
    header = msgspec.json.decode(body, type=_Headed).header
    if header.height != height:
        raise ValueError("the header of another block")
    return f"{timestamp_of(header.time).ToDatetime().isoformat(timespec='seconds')}Z"


def _answer(found: _Found, wanted: str, made_at: str) -> bytes:
    try:
        tx = decode_transaction(found.raw)
    except Unwritable as error:
        words = f"the transaction cannot be decoded, it is {error}; getBlockTransactions returns how it ended"
        raise NotSupported(words) from None
    outcome = found.outcome
    response = {
        "height": found.height,
        "txhash": wanted,
        "codespace": outcome.codespace,
        "code": outcome.code,
        "data": found.data.hex().upper(),
        "raw_log": outcome.log,
        "logs": _logs(outcome.log),
        "info": outcome.info,
        "gas_wanted": outcome.gas_wanted,
        "gas_used": outcome.gas_used,
        "timestamp": made_at,
        "events": [] if bytes(outcome.events) == b"null" else outcome.events,
    }
    return msgspec.json.encode({"tx": tx, "tx_response": response})


def _logs(log: str) -> list[_MessageLog]:
    """Return the logs of the messages, which nodes before SDK 0.50 write into a transaction's log."""
    try:
        return msgspec.json.decode(log, type=list[_MessageLog])
    except (msgspec.MsgspecError, RecursionError):
        return []
