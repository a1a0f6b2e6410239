"""Capabilities to search logs: of a chain, of token transfers, of the events of one contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waypost.v1 import log_pb2

    from server.chains.view import ReadView


LIMIT = 1000
"""Most logs of a page (contract section 8)."""


@dataclass(frozen=True, slots=True)
class BlockRange:
    """A range of blocks as its caller wrote it: decimal numbers, `latest`, or None where left out; and the cursor."""

    from_block: str | None
    to_block: str | None
    cursor: str | None


class ContractLog(NamedTuple):
    """A log as the chain holds it; `address` is checksummed, `transaction_hash` in hex."""

    address: str
    block: int
    transaction_hash: str
    log_index: int
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of logs, newest first; `cursor` asks for the older ones, None when there are none in the window."""

    logs: tuple[ContractLog, ...]
    cursor: str | None


class ReadsLogs(Protocol):
    """Can search event logs."""

    async def read_logs(
        self, blocks: BlockRange, address: str | None, topic0: str | None, view: ReadView, limit: int = LIMIT
    ) -> log_pb2.GetLogsResponse:
        """Return one page of at most `limit` logs, newest first, without its `chain`.

        InvalidArgument for a reversed range or a bad cursor.
        """
        ...


class ReadsTransfers(Protocol):
    """Can search token transfers of an account."""

    async def read_transfers(
        self, blocks: BlockRange, address: str, view: ReadView, limit: int = LIMIT
    ) -> log_pb2.GetTransfersResponse:
        """Return one page of at most `limit` transfers, newest first, without its `chain`; errors as for logs."""
        ...


class SearchesEvents(Protocol):
    """Can search the logs of a contract by their topics."""

    async def search_events(
        self,
        blocks: BlockRange,
        address: str,
        topics: Sequence[bytes | None],
        view: ReadView,
        *,
        keep: Callable[[int, int], bool],
        limit: int,
        most_blocks: int,
    ) -> EventPage:
        """Return one page of at most `limit` logs with these topics by position (None: any).

        `keep` is called with the number of topics and of bytes of data, and drops logs before they count. A range of
        more than `most_blocks`, both ends counted, is RangeTooLarge; without a `from_block` it has that many. The
        cursor holds the whole window. InvalidArgument for a reversed range or a bad cursor.
        """
        ...
