"""Event logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import log_pb2

from server.chains.evm.log_entries import log_messages
from server.chains.evm.log_scan import LIMIT, LogFilter
from server.contracts.address import parse_address

if TYPE_CHECKING:
    from server.chains.capabilities import BlockRange
    from server.chains.evm.log_scan import LogScanner
    from server.chains.evm.log_windows import LogWindows
    from server.chains.view import ReadView

# How many blocks the first question covers, by what narrows it: (has an address, has a topic).
_FIRST_SPANS = {(True, True): 10_000, (True, False): 2_000, (False, True): 100, (False, False): 20}


class LogReader:
    """Reads logs of one chain."""

    def __init__(self, windows: LogWindows, scanner: LogScanner) -> None:
        self._windows = windows
        self._scanner = scanner

    async def read_logs(
        self, blocks: BlockRange, address: str | None, topic0: str | None, view: ReadView
    ) -> log_pb2.GetLogsResponse:
        """Return one page of logs, newest first, without the answer's `chain`."""
        contract = None if address is None else parse_address(address, "address")
        topics = () if topic0 is None else (topic0.lower(),)
        window = await self._windows.find(blocks, view)
        span = _FIRST_SPANS[contract is not None, topic0 is not None]
        page = await self._scanner.read_page(window, [LogFilter(contract, topics, span)], view)
        logs = log_messages(page.entries)
        return log_pb2.GetLogsResponse(
            count=len(logs),
            limit=LIMIT,
            has_more=page.below is not None,
            cursor=None if page.below is None else window.cursor(page.below),
            logs=logs,
        )
