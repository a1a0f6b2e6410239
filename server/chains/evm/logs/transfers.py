"""ERC-20 transfers of one account.

An account is sender or receiver, which are two topics of the Transfer event and so two requests; a transfer to itself
answers both and counts once. ERC-721 tokens share the event's signature but index the id, so their logs have four
topics and no data (EIP-20, EIP-721).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import log_pb2

from server.chains.capabilities.logs import LIMIT, ReadsTransfers
from server.chains.evm.logs.scan import LogFilter
from server.contracts.address import address_bytes, checksum_address, parse_address
from server.contracts.words import address_word, decimal_text, quantity

if TYPE_CHECKING:
    from server.chains.capabilities.logs import BlockRange
    from server.chains.evm.logs.cursor import LogWindows
    from server.chains.evm.logs.entries import LogEntry, Place
    from server.chains.evm.logs.scan import LogScanner
    from server.chains.evm.tokens import TokenUnit, TokenUnits
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Keccak-256 of `Transfer(address,address,uint256)`."""

DEPTH = 10_000
"""How far below the newest block the window begins when the caller gives no start (contract section 8)."""

# One account's transfers are thin, so the whole default window is asked for at once.
_FIRST_SPAN = DEPTH + 1
_DATA = 2 + 64
_TOPICS = 3


class TransferReader(ReadsTransfers):
    """Reads transfers on one chain."""

    def __init__(self, facts: ChainFacts, windows: LogWindows, scanner: LogScanner, units: TokenUnits) -> None:
        self._silent = frozenset(address.lower() for address in facts.silent_tokens)
        self._windows = windows
        self._scanner = scanner
        self._units = units

    async def read_transfers(
        self, blocks: BlockRange, address: str, view: ReadView, limit: int = LIMIT
    ) -> log_pb2.GetTransfersResponse:
        """Return one page of transfers, newest first, without the answer's `chain`."""
        account = parse_address(address, "address")
        topic = "0x" + address_word(address_bytes(account)).hex()
        filters = [
            LogFilter(None, (TRANSFER, topic), _FIRST_SPAN),
            LogFilter(None, (TRANSFER, None, topic), _FIRST_SPAN),
        ]
        window = await self._windows.find(blocks, view, DEPTH)
        page = await self._scanner.read_page(window, filters, view, keep=self._is_transfer, limit=limit)
        transfers = [transfer_message(place, entry) for place, entry in page.logs]
        if transfers:
            units = await self._units.read((transfer.token for transfer in transfers), view.deadline)
            for transfer in transfers:
                count_transfer(transfer, units.get(transfer.token))
        return log_pb2.GetTransfersResponse(
            address=account,
            count=len(transfers),
            page_size=limit,
            has_more=page.below is not None,
            next_page_token=None if page.below is None else window.cursor(page.below),
            transfers=transfers,
        )

    def _is_transfer(self, entry: LogEntry) -> bool:
        return is_transfer(entry) and entry.address.lower() not in self._silent


def is_transfer(entry: LogEntry) -> bool:
    """Return whether a log that begins with `TRANSFER` is an ERC-20 transfer."""
    return len(entry.topics) == _TOPICS and len(entry.data) == _DATA


def transfer_message(place: Place, entry: LogEntry) -> log_pb2.TokenTransfer:
    """Return a transfer's log as a message, without what its token counts in."""
    return log_pb2.TokenTransfer(
        token=checksum_address(entry.address),
        from_address=_address(entry.topics[1]),
        to=_address(entry.topics[2]),
        value=str(quantity(entry.data)),
        block_number=place.block,
        transaction_hash=entry.transaction_hash,
        log_index=place.log_index,
        removed=bool(entry.removed),
    )


def _address(topic: str) -> str:
    return checksum_address("0x" + topic[-40:])


def count_transfer(transfer: log_pb2.TokenTransfer, unit: TokenUnit | None) -> None:
    """Add what the token counts in, where that is known."""
    if unit is None:
        return
    if unit.symbol is not None:
        transfer.symbol = unit.symbol
    transfer.decimals = unit.decimals
    transfer.amount = decimal_text(int(transfer.value), unit.decimals)
