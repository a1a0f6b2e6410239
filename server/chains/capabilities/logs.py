"""Capabilities to search logs: of a chain, of token transfers, of the events of one contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from runtime.operations import LATEST_BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waypost.v1 import evm_pb2, log_pb2, marketplace_pb2

    from server.chains.capabilities.following import Link
    from server.chains.view import ReadView


Item = TypeVar("Item", covariant=True)

LIMIT = 1000
"""Most logs of a page (contract section 8)."""


@dataclass(frozen=True, slots=True)
class BlockRange:
    """A range of blocks as its caller wrote it: decimal numbers, `latest`, or None where left out; and the cursor."""

    from_block: str | None
    to_block: str | None
    cursor: str | None

    @classmethod
    def of(
        cls, request: log_pb2.GetLogsRequest | log_pb2.GetTransfersRequest | marketplace_pb2.CallMethodRequest
    ) -> BlockRange:
        """Return the range that a request names."""
        return cls(
            from_block=_written(request.from_block) if request.HasField("from_block") else None,
            to_block=_written(request.to_block) if request.HasField("to_block") else None,
            cursor=request.page_token or None,
        )


def _written(block: int) -> str:
    return "latest" if block == LATEST_BLOCK else str(block)


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


class BlockItems(ABC, Generic[Item]):
    """What a filter selects of each block. `key` is the filter in writing, the same for equal ones in every process."""

    key: str

    @abstractmethod
    async def read(self, link: Link, view: ReadView) -> Sequence[Item]:
        """Return what is selected of that very block, in its order.

        Raises:
            UpstreamUnavailable: no node returned the block's logs, or not now.
            ResponseTooLarge: the nodes do not return so many: the filter selects too much.
        """


class WatchesLogs(Protocol):
    """Can select logs and token transfers block by block; what many filters need of a block is read once."""

    def select_logs(self, addresses: Sequence[str], topics: Sequence[Sequence[str]]) -> BlockItems[evm_pb2.EvmLog]:
        """Return the logs of these contracts with one of these topics at each position; an empty list is any.

        InvalidArgument for what is no address.
        """
        ...

    def select_transfers(self, addresses: Sequence[str], tokens: Sequence[str]) -> BlockItems[log_pb2.TokenTransfer]:
        """Return the transfers from or to these accounts, of these tokens; an empty list is any.

        InvalidArgument, field `address`, for neither, and for what is no address.
        """
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
