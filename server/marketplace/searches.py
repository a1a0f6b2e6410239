"""Events: pages of decoded logs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from waypost.v1 import marketplace_outcome_pb2

from server.abi.arguments import read_arguments
from server.abi.reader import Undecodable
from server.chains.capabilities import BlockRange, SearchesEvents
from server.marketplace.values import native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waypost.v1 import marketplace_pb2

    from server.abi.events import Event
    from server.chains.capabilities import ContractLog
    from server.chains.registry import Chains
    from server.chains.view import ReadView
    from server.marketplace.methods import Method
    from server.marketplace.targets import Target

LIMIT = 100
"""Most events of a page (decisions section 5.1)."""

MOST_BLOCKS = 10_000
"""Longest window, both of its ends counted (contract section 8)."""

# The data of more is taken apart beside the event loop: each log may stand for twenty thousand values.
_LARGE = 64 * 1024


class Searches:
    """Searches events."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def search(
        self, method: Method, target: Target, request: marketplace_pb2.CallMethodRequest, view: ReadView
    ) -> marketplace_outcome_pb2.MarketplaceEvents:
        """Return one page, newest first. Logs that fit no form of the event are left out.

        By their size they are left out before the page is cut; the few that have the size and still do not decode make
        the page shorter.
        """
        events = method.events
        shapes = tuple((event.topics, event.least_data) for event in events)
        topics = events[0].filter_topics(read_arguments(request.args.json))
        searcher = self._chains.capability(target.chain, SearchesEvents)
        page = await searcher.search_events(
            BlockRange(
                from_block=request.from_block if request.HasField("from_block") else None,
                to_block=request.to_block if request.HasField("to_block") else None,
                cursor=request.cursor if request.HasField("cursor") else None,
            ),
            target.address,
            topics,
            view,
            keep=lambda topics, size: any(topics == count and size >= least for count, least in shapes),
            limit=LIMIT,
            most_blocks=MOST_BLOCKS,
        )
        if sum(len(log.data) for log in page.logs) > _LARGE:
            logs = await asyncio.to_thread(_messages, events, page.logs)
        else:
            logs = _messages(events, page.logs)
        return marketplace_outcome_pb2.MarketplaceEvents(
            count=len(logs), limit=LIMIT, has_more=page.cursor is not None, cursor=page.cursor, logs=logs
        )


def _messages(events: Sequence[Event], logs: Sequence[ContractLog]) -> list[marketplace_outcome_pb2.MarketplaceEvent]:
    """Return the logs that fit a form of the event as messages."""
    return [
        marketplace_outcome_pb2.MarketplaceEvent(
            address=log.address,
            block_number=log.block,
            transaction_hash=log.transaction_hash,
            log_index=log.log_index,
            args=native(args),
        )
        for log in logs
        if (args := _decode(events, log.topics, log.data)) is not None
    ]


def _decode(events: Sequence[Event], topics: Sequence[bytes], data: bytes) -> list[Any] | None:
    """Return the arguments by the form of the event that has as many topics; None where none fits."""
    for event in events:
        if event.topics == len(topics):
            try:
                return event.decode(topics, data)
            except Undecodable:
                continue
    return None
