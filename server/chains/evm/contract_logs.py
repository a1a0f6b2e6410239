"""The logs of one contract by their topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.capabilities import ContractLog, EventPage
from server.chains.evm.log_entries import place_of
from server.chains.evm.log_scan import LogFilter
from server.checksum import checksum_address
from server.contracts.address import parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities import BlockRange
    from server.chains.evm.log_entries import LogEntry
    from server.chains.evm.log_scan import LogScanner
    from server.chains.evm.log_windows import LogWindows
    from server.chains.view import ReadView

# How many blocks the first question covers, by whether more than the event narrows it: pages are short, and a busy
# token writes a hundred transfers into every block.
_FIRST_SPANS = {False: 500, True: 10_000}


class ContractLogReader:
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
        wanted = LogFilter(contract, texts, _FIRST_SPANS[len(texts) > 1])
        page = await self._scanner.read_page(
            window,
            [wanted],
            view,
            keep=lambda entry: keep(len(entry.topics), len(entry.data) // 2 - 1),
            limit=limit,
        )
        logs = tuple(map(_read, page.entries))
        return EventPage(logs, None if page.below is None else window.cursor(page.below))


def _read(entry: LogEntry) -> ContractLog:
    place = place_of(entry)
    return ContractLog(
        checksum_address(entry.address),
        place.block,
        entry.transaction_hash,
        place.log_index,
        tuple(bytes.fromhex(topic[2:]) for topic in entry.topics),
        bytes.fromhex(entry.data[2:]),
    )
