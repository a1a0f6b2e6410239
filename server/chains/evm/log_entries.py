"""Logs as nodes write them: parsed with the place that orders them, and as messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from waypost.v1 import evm_pb2

from server.checksum import checksum_address
from server.contracts.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable


class LogEntry(msgspec.Struct, rename="camel", gc=False):
    """One log of a node's answer; quantities are still hex text."""

    address: str
    topics: list[str]
    data: str
    block_number: str
    transaction_hash: str
    log_index: str
    removed: bool | None = None


class Place(NamedTuple):
    """Where a log stands: block number and index among the block's logs. Places order as the chain does."""

    block: int
    log_index: int


_ENTRIES = msgspec.json.Decoder(list[LogEntry])
# Address, transaction hash, topics, data: one search over all of them costs a third of one for each.
_MEMBERS = re.compile(r"0x[0-9a-fA-F]{40}(?: 0x[0-9a-fA-F]{64}){1,5} 0x(?:[0-9a-fA-F]{2})*+")
_MOST_INDEX = (1 << 31) - 1


def read_entries(result: bytes) -> list[LogEntry]:
    """Return the logs of an `eth_getLogs` answer, or of a receipt.

    Raises:
        ValueError: the JSON is no list of mined logs: a member is missing or of another shape, or the log is one that
            a reorganisation undid, of which only subscriptions tell.
    """
    try:
        entries = _ENTRIES.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a list of mined logs") from error
    if not all(map(_is_mined, entries)):
        raise ValueError("not a mined log")
    return entries


def place_of(entry: LogEntry) -> Place:
    """Return where the log stands.

    Raises:
        ValueError: block number or index is no hex quantity, or the index is beyond all blocks.
    """
    place = Place(quantity(entry.block_number), quantity(entry.log_index))
    if place.log_index > _MOST_INDEX:
        raise ValueError("more logs than any block has")
    return place


def log_message(entry: LogEntry) -> evm_pb2.EvmLog:
    """Return the log as a message.

    Raises:
        ValueError: a quantity is malformed.
    """
    place = place_of(entry)
    return evm_pb2.EvmLog(
        address=checksum_address(entry.address),
        topics=entry.topics,
        data=entry.data,
        block_number=place.block,
        transaction_hash=entry.transaction_hash,
        log_index=place.log_index,
        removed=bool(entry.removed),
    )


def log_messages(entries: Iterable[LogEntry]) -> list[evm_pb2.EvmLog]:
    """Return the logs as messages, in the same order; raises as `log_message`."""
    return [log_message(entry) for entry in entries]


def parse_logs(result: bytes | msgspec.Raw) -> list[evm_pb2.EvmLog]:
    """Return the logs of a JSON list as messages; raises as `read_entries` and `log_message`."""
    return log_messages(read_entries(bytes(result)))


def _is_mined(entry: LogEntry) -> bool:
    members = (entry.address, entry.transaction_hash, *entry.topics, entry.data)
    text = " ".join(members)
    is_whole = _MEMBERS.fullmatch(text) is not None and text.count(" ") == len(members) - 1
    return is_whole and not entry.removed
