"""Logs as nodes write them: decoded with the place that orders them, and as messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from waypost.v1 import evm_pb2

from server.contracts.address import checksum_address

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
    transaction_index: str | None = None


class Place(NamedTuple):
    """Where a log stands: block number and index among the block's logs. Places order as the chain does."""

    block: int
    log_index: int


class PlacedEntry(NamedTuple):
    """A log and where it stands."""

    place: Place
    entry: LogEntry


class _HashedEntry(LogEntry, kw_only=True, rename="camel", gc=False):
    block_hash: str


Entry = TypeVar("Entry", bound=LogEntry)

_ENTRIES = msgspec.json.Decoder(list[LogEntry])
_HASHED_ENTRIES = msgspec.json.Decoder(list[_HashedEntry])
# Block number, log index, address, transaction hash, topics, data: one search over all costs a fifth of one for each.
_MEMBERS = re.compile(
    r"0[xX][0-9a-fA-F]+ 0[xX][0-9a-fA-F]+ 0x[0-9a-fA-F]{40}(?: 0x[0-9a-fA-F]{64}){1,5} 0x(?:[0-9a-fA-F]{2})*+"
)
_INDEX = re.compile(r"0x[0-7]?[0-9a-fA-F]{1,7}")
_BESIDE_TOPICS = 5
_MOST_INDEX = (1 << 31) - 1


def read_entries(result: bytes | msgspec.Raw) -> list[PlacedEntry]:
    """Return the logs of an `eth_getLogs` answer, or of a receipt, in its order.

    Raises:
        ValueError: the JSON is no list of mined logs: a member is missing or of another shape, an index is beyond all
            blocks, or the log is one that a reorganisation undid, which only subscriptions report.
    """
    return _place(_decode(_ENTRIES, result))


def read_block_entries(result: bytes | msgspec.Raw, number: int, block_hash: str) -> list[PlacedEntry]:
    """Return the logs of one block out of an answer of `eth_getLogs`, each once, in their order.

    Raises:
        ValueError: as `read_entries`; one is of another block; two stand in one place.
    """
    entries = _decode(_HASHED_ENTRIES, result)
    if any(entry.block_hash.lower() != block_hash for entry in entries):
        raise ValueError("a log of another block")
    placed = _place(entries)
    at = dict(placed)
    if any(place.block != number or at[place] != entry for place, entry in placed):
        raise ValueError("logs that contradict each other")
    return [PlacedEntry(place, at[place]) for place in sorted(at)]


def read_range_entries(result: bytes | msgspec.Raw) -> list[tuple[PlacedEntry, str]]:
    """Return the logs of an answer of `eth_getLogs` with the hashes of their blocks; raises as `read_entries`."""
    entries = _decode(_HASHED_ENTRIES, result)
    return [(placed, entry.block_hash.lower()) for placed, entry in zip(_place(entries), entries, strict=True)]


def _decode(decoder: msgspec.json.Decoder[list[Entry]], result: bytes | msgspec.Raw) -> list[Entry]:
    try:
        return decoder.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a list of mined logs") from error


def _place(entries: Iterable[LogEntry]) -> list[PlacedEntry]:
    placed = []
    for entry in entries:
        number, index, topics = entry.block_number, entry.log_index, entry.topics
        text = " ".join((number, index, entry.address, entry.transaction_hash, *topics, entry.data))
        # A member that holds a blank could pass for two.
        if entry.removed or not _MEMBERS.fullmatch(text) or text.count(" ") != len(topics) + _BESIDE_TOPICS - 1:
            raise ValueError("not a mined log")
        place = Place(int(number, 16), int(index, 16))
        if place.log_index > _MOST_INDEX:
            raise ValueError("more logs than any block has")
        placed.append(PlacedEntry(place, entry))
    return placed


def log_messages(placed: Iterable[PlacedEntry]) -> list[evm_pb2.EvmLog]:
    """Return the logs as messages, in the same order.

    Raises:
        ValueError: the checksum of an address is wrong.
    """
    return [
        evm_pb2.EvmLog(
            address=checksum_address(entry.address),
            topics=entry.topics,
            data=entry.data,
            block_number=place.block,
            transaction_hash=entry.transaction_hash,
            log_index=place.log_index,
            removed=bool(entry.removed),
            transaction_index=_transaction_index(entry),
        )
        for place, entry in placed
    ]


def _transaction_index(entry: LogEntry) -> int | None:
    text = entry.transaction_index
    return int(text, 16) if text is not None and _INDEX.fullmatch(text) else None


def parse_logs(result: bytes | msgspec.Raw) -> list[evm_pb2.EvmLog]:
    """Return the logs of a JSON list as messages; raises as `read_entries` and `log_messages`."""
    return log_messages(read_entries(result))
