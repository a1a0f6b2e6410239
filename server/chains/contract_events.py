"""The capability to search the events of one contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities import BlockRange
    from server.chains.view import ReadView


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

        `keep` is asked with the number of topics and of bytes of data, and drops logs before they count. A range of
        more than `most_blocks`, both ends counted, is RangeTooLarge; without a `from_block` it has that many. The
        cursor holds the whole window. InvalidArgument for a reversed range or a bad cursor.
        """
        ...
