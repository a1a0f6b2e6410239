"""Searches of logs: those of any contract as messages, those of one contract by their topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import log_pb2

from server.chains.capabilities.logs import LIMIT, ContractLog, EventPage, ReadsLogs, SearchesEvents
from server.chains.evm.logs.entries import log_messages
from server.chains.evm.logs.scan import LogFilter
from server.contracts.address import checksum_address, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities.logs import BlockRange
    from server.chains.evm.logs.cursor import LogWindows
    from server.chains.evm.logs.entries import LogEntry, Place
    from server.chains.evm.logs.scan import LogScanner
    from server.chains.view import ReadView

# How many blocks the first request covers, by what narrows it: (has an address, has a topic).
_FIRST_SPANS = {(True, True): 10_000, (True, False): 2_000, (False, True): 100, (False, False): 20}
# How many blocks the first request covers, by whether more than the event narrows it: pages are short, and a busy
# token writes a hundred transfers into every block.
_EVENT_SPANS = {False: 500, True: 10_000}


class LogReader(ReadsLogs):
    """Reads logs of one chain."""

    def __init__(self, windows: LogWindows, scanner: LogScanner) -> None:
        self._windows = windows
        self._scanner = scanner

    async def read_logs(
        self, blocks: BlockRange, address: str | None, topic0: str | None, view: ReadView, limit: int = LIMIT
    ) -> log_pb2.GetLogsResponse:
        """Return one page of logs, newest first, without the answer's `chain`."""
        contract = None if address is None else parse_address(address, "address")
        topics = () if topic0 is None else (topic0.lower(),)
        window = await self._windows.find(blocks, view)
        span = _FIRST_SPANS[contract is not None, topic0 is not None]
        page = await self._scanner.read_page(window, [LogFilter(contract, topics, span)], view, limit=limit)
        logs = log_messages(page.logs)
        return log_pb2.GetLogsResponse(
            count=len(logs),
            page_size=limit,
            has_more=page.below is not None,
            next_page_token=None if page.below is None else window.cursor(page.below),
            logs=logs,
        )


class ContractLogReader(SearchesEvents):
    """Searches logs of contracts on one chain."""

    def __init__(self, windows: LogWindows, scanner: LogScanner) -> None:
        self._windows = windows
        self._scanner = scanner

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
        """See `SearchesEvents`."""
        contract = parse_address(address, "address")
        window = await self._windows.find_within(blocks, view, most_blocks)
        texts = tuple(None if topic is None else "0x" + topic.hex() for topic in topics)
        wanted = LogFilter(contract, texts, _EVENT_SPANS[len(texts) > 1])
        page = await self._scanner.read_page(
            window,
            [wanted],
            view,
            keep=lambda entry: keep(len(entry.topics), len(entry.data) // 2 - 1),
            limit=limit,
        )
        logs = tuple(_contract_log(place, entry) for place, entry in page.logs)
        return EventPage(logs, None if page.below is None else window.cursor(page.below))


def _contract_log(place: Place, entry: LogEntry) -> ContractLog:
    return ContractLog(
        checksum_address(entry.address),
        place.block,
        entry.transaction_hash,
        place.log_index,
        tuple(bytes.fromhex(topic[2:]) for topic in entry.topics),
        bytes.fromhex(entry.data[2:]),
    )
