"""Logs and token transfers as sources of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from waypost.v1 import evm_pb2, log_pb2, stream_pb2

from server.chains.capabilities.logs import WatchesLogs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities.following import Link
    from server.chains.capabilities.logs import BlockItems
    from server.chains.registry import Chains
    from server.chains.view import ReadView
    from server.streams.source import Source, Stamp

Item = TypeVar("Item", evm_pb2.EvmLog, log_pb2.TokenTransfer)


class SelectedSource(Generic[Item]):
    """What a filter selects, `answer` being how an event with an item of it is written.

    An item that is taken back is as it was, but for its member `removed`.
    """

    def __init__(self, items: BlockItems[Item], answer: Callable[[Stamp, Item | None], bytes]) -> None:
        self.key = items.key
        self._items: BlockItems[Item] = items
        self._answer: Callable[[Stamp, Item | None], bytes] = answer

    async def read_items(self, link: Link, view: ReadView) -> Sequence[Item]:
        """Return what is selected of the block; raises as `BlockItems.read`."""
        return await self._items.read(link, view)

    def encode(self, stamp: Stamp, item: Item | None) -> bytes:
        """Return the serialised response."""
        if item is not None and stamp.kind == stream_pb2.EVENT_KIND_REMOVED:
            gone = type(item)()
            gone.CopyFrom(item)
            gone.removed = True
            item = gone
        return self._answer(stamp, item)


def open_log_source(chains: Chains, request: stream_pb2.WatchLogsRequest) -> Source[evm_pb2.EvmLog]:
    """Return the source of the logs that a request selects.

    Raises:
        InvalidArgument: an address is none.
        NotAvailable: the chain has no such logs.
    """
    topics = (request.topic0, request.topic1, request.topic2, request.topic3)
    selected = chains.capability(request.chain, WatchesLogs).select_logs(request.addresses, topics)
    return SelectedSource(selected, _log_response)


def open_transfer_source(chains: Chains, request: stream_pb2.WatchTransfersRequest) -> Source[log_pb2.TokenTransfer]:
    """Return the source of the transfers that a request selects; raises as `open_log_source`.

    Raises:
        InvalidArgument: neither an address nor a token is given.
    """
    selected = chains.capability(request.chain, WatchesLogs).select_transfers(request.addresses, request.tokens)
    return SelectedSource(selected, _transfer_response)


def _log_response(stamp: Stamp, log: evm_pb2.EvmLog | None) -> bytes:
    return stream_pb2.WatchLogsResponse(
        cursor=stamp.cursor,
        chain=stamp.chain,
        kind=stamp.kind,
        block_number=stamp.number,
        block_hash=stamp.hash,
        finality=stamp.finality,
        log=log,
    ).SerializeToString()


def _transfer_response(stamp: Stamp, transfer: log_pb2.TokenTransfer | None) -> bytes:
    return stream_pb2.WatchTransfersResponse(
        cursor=stamp.cursor,
        chain=stamp.chain,
        kind=stamp.kind,
        block_number=stamp.number,
        block_hash=stamp.hash,
        finality=stamp.finality,
        transfer=transfer,
    ).SerializeToString()
