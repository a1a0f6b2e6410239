"""What filters of logs and of token transfers select, block by block.

A block that can still be replaced is read by its hash, once for everyone who watches the chain. Final blocks, which a
stream needs many of that goes on at an old cursor, are read ahead for its own filter by ranges; what was read so counts
for a block only where it names that block's hash.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import evm_pb2, log_pb2

from server.chains.capabilities.logs import BlockItems, WatchesLogs
from server.chains.evm.logs.entries import PlacedEntry, read_range_entries
from server.chains.evm.logs.matching import BlockLogs, LogQuery
from server.chains.evm.logs.transfers import TRANSFER, count_transfer, is_transfer, transfer_message
from server.chains.shared.validated_reads import ask_validated
from server.contracts.address import address_bytes, parse_address
from server.contracts.words import address_word
from server.errors import GatewayError, InvalidArgument
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from server.chains.capabilities.following import Link
    from server.chains.evm.logs.block_logs import BlockLogReader
    from server.chains.evm.logs.limits import LogRanges
    from server.chains.evm.tokens import TokenUnit, TokenUnits
    from server.chains.facts import ChainFacts
    from server.chains.shared.finality import Finality
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

AHEAD_BLOCKS = 1_000
"""Most blocks that are read ahead."""

UNITS_SECONDS = 600.0
"""How long a token's symbol and decimals are taken to be the same."""

# Fewer are not worth a question of their own.
_LEAST_AHEAD = 16
_FIRST_SPAN = 100
_MANY_LOGS = 1_000
_MUTE_SECONDS = 30.0
_MOST_UNITS = 10_000
_PATIENCE_SECONDS = 2.0


class LogSelector(WatchesLogs):
    """Opens the selections of one chain."""

    def __init__(
        self,
        facts: ChainFacts,
        pool: Pool,
        blocks: BlockLogReader,
        ranges: LogRanges,
        finality: Finality,
        units: TokenUnits,
    ) -> None:
        self._silent = frozenset(address.lower() for address in facts.silent_tokens)
        self._blocks = blocks
        self._ahead = RangeReader(pool, ranges, finality)
        self._units = KeptUnits(units)

    def select_logs(self, addresses: Sequence[str], topics: Sequence[Sequence[str]]) -> BlockItems[evm_pb2.EvmLog]:
        """See `WatchesLogs`."""
        contracts = [parse_address(address, "address") for address in addresses]
        query = LogQuery.of(contracts, topics)
        return SelectedLogs(_key("logs", query.addresses, *query.topics), (query,), self._blocks, self._ahead)

    def select_transfers(self, addresses: Sequence[str], tokens: Sequence[str]) -> BlockItems[log_pb2.TokenTransfer]:
        """See `WatchesLogs`."""
        if not addresses and not tokens:
            raise InvalidArgument(
                "address: give at least one address (of a sender or receiver) or one token", field="address"
            )
        accounts = ["0x" + address_word(address_bytes(parse_address(one, "address"))).hex() for one in addresses]
        contracts = [parse_address(one, "token") for one in tokens]
        places: tuple[Sequence[Iterable[str]], ...] = (((TRANSFER,), accounts), ((TRANSFER,), (), accounts))
        queries = tuple(dict.fromkeys(LogQuery.of(contracts, topics) for topics in places))
        key = _key("transfers", accounts, (one.lower() for one in contracts))
        logs = SelectedLogs(key, queries, self._blocks, self._ahead)
        return SelectedTransfers(logs, self._units, lambda found: self._is_transfer(found))

    def _is_transfer(self, found: PlacedEntry) -> bool:
        return is_transfer(found.entry) and found.entry.address.lower() not in self._silent


class SelectedLogs(BlockItems[evm_pb2.EvmLog]):
    """The logs that queries select."""

    def __init__(self, key: str, queries: tuple[LogQuery, ...], blocks: BlockLogReader, ahead: RangeReader) -> None:
        self.key = key
        self._queries = queries
        self._blocks = blocks
        self._ranges = ahead
        self._ahead: Ahead | None = None
        # All logs of a block are what everyone shares: those are not read ahead.
        self._span = _FIRST_SPAN if all(query.constraints for query in queries) else 1

    async def read(self, link: Link, view: ReadView) -> Sequence[evm_pb2.EvmLog]:
        """Return the block's logs as messages, the same for everyone who selects them."""
        logs, numbers = await self.find(link, view)
        return [logs.message(number) for number in numbers]

    async def find(self, link: Link, view: ReadView) -> tuple[BlockLogs, list[int]]:
        """Return logs of the block, and which of them are selected."""
        if self._ahead is None or not self._ahead.holds(link.number):
            self._ahead = await self._read_ahead(link, view) or self._ahead
        if self._ahead is not None:
            placed = self._ahead.take(link)
            if placed is not None:
                return BlockLogs(placed), list(range(len(placed)))
        return await self._blocks.read(self._queries, link, view)

    async def _read_ahead(self, link: Link, view: ReadView) -> Ahead | None:
        last = self._ranges.last(link.number, self._span)
        if last is None:
            return None
        try:
            ahead = await self._ranges.read(self._queries, link.number, last, view)
        except GatewayError:
            self._span = max(self._span // 4, 1)
            return None
        self._span = max(self._span // 2, 1) if ahead.count > _MANY_LOGS else min(self._span * 2, AHEAD_BLOCKS)
        return ahead


class Ahead:
    """Selected logs of a range of final blocks. Each block is taken once; `count` is how many logs there were."""

    def __init__(self, first: int, last: int, found: Iterable[tuple[PlacedEntry, str]]) -> None:
        self._next = first
        self._last = last
        self._blocks: dict[int, list[tuple[PlacedEntry, str]]] = {}
        self.count = 0
        for placed, block_hash in found:
            self._blocks.setdefault(placed.place.block, []).append((placed, block_hash))
            self.count += 1

    def holds(self, number: int) -> bool:
        """Return whether the block is of the range, and not below one that was taken."""
        return self._next <= number <= self._last

    def take(self, link: Link) -> list[PlacedEntry] | None:
        """Return the logs of a block in their order; None where they are of another one of its number."""
        if not self.holds(link.number):
            return None
        self._next = link.number + 1
        found = self._blocks.pop(link.number, [])
        if any(block_hash != link.hash for _, block_hash in found):
            return None
        return [placed for placed, _ in sorted(found, key=lambda one: one[0].place)]


class RangeReader:
    """Reads logs of ranges of final blocks, within what the endpoints of the chain answer."""

    def __init__(self, pool: Pool, ranges: LogRanges, finality: Finality) -> None:
        self._pool = pool
        self._ranges = ranges
        self._finality = finality

    def last(self, first: int, span: int) -> int | None:
        """Return the last block of a range of at most so many that can be read ahead; None where there is none."""
        # It is not known which blocks are final before they are asked for, which the next look profits from.
        self._finality.when_final(first, lambda: None)
        last = min(first + min(span, self._ranges.plan().blocks) - 1, self._finality.block)
        return last if last - first + 1 >= min(_LEAST_AHEAD, span) and span > 1 else None

    async def read(self, queries: Sequence[LogQuery], first: int, last: int, view: ReadView) -> Ahead:
        """Return what the queries select, both blocks counted; raises as `ask_validated`, which teaches the limits."""
        found: dict[tuple[int, int], tuple[PlacedEntry, str]] = {}
        for query in queries:
            for one in await self._read(query, first, last, view):
                found[one[0].place] = one
        return Ahead(first, last, found.values())

    async def _read(self, query: LogQuery, first: int, last: int, view: ReadView) -> list[tuple[PlacedEntry, str]]:
        params = [{"fromBlock": hex(first), "toBlock": hex(last)} | query.params()]

        def read(reply: Reply) -> list[tuple[PlacedEntry, str]]:
            found = read_range_entries(reply.result)
            placed = [one for one, _ in found]
            if any(not first <= one.place.block <= last for one in placed):
                raise ValueError("logs of other blocks")
            if len(BlockLogs(placed).find((query,))) < len(placed) or len({one.place for one in placed}) < len(placed):
                raise ValueError("logs that were not asked for")
            return found

        policy = CallPolicy(heavy=True, prefer=self._ranges.plan().endpoint or view.endpoint, min_block=last)
        try:
            found, reply = await ask_validated(
                self._pool,
                "eth_getLogs",
                lambda steered: self._pool.call("eth_getLogs", params, steered, deadline=view.deadline),
                read,
                policy,
            )
        except GatewayError as error:
            self._ranges.note(error.refusals)
            raise
        self._ranges.note(reply.refusals)
        return found


class SelectedTransfers(BlockItems[log_pb2.TokenTransfer]):
    """The token transfers among selected logs, with what their tokens count in, where that is known in time."""

    def __init__(self, logs: SelectedLogs, units: KeptUnits, keep: Callable[[PlacedEntry], bool]) -> None:
        self.key = logs.key
        self._logs = logs
        self._units = units
        self._keep = keep

    async def read(self, link: Link, view: ReadView) -> Sequence[log_pb2.TokenTransfer]:
        """Return the block's transfers."""
        logs, numbers = await self._logs.find(link, view)
        found = [logs.placed[number] for number in numbers]
        transfers = [transfer_message(*one) for one in found if self._keep(one)]
        units = await self._units.read({transfer.token for transfer in transfers})
        for transfer in transfers:
            count_transfer(transfer, units.get(transfer.token))
        return transfers


class _Known(NamedTuple):
    unit: TokenUnit | None
    until: float


class KeptUnits:
    """What tokens count in, kept for a while; those that do not answer in time are left alone for a shorter one."""

    def __init__(self, units: TokenUnits, clock: Callable[[], float] = time.monotonic) -> None:
        self._units = units
        self._clock = clock
        self._known: dict[str, _Known] = {}

    async def read(self, tokens: Iterable[str]) -> dict[str, TokenUnit]:
        """Return the units of the tokens that are known, or answer within a second."""
        now = self._clock()
        known = {token: self._known.get(token) for token in tokens}
        missing = [token for token, one in known.items() if one is None or one.until <= now]
        if missing:
            units = await self._units.read(missing, now + _PATIENCE_SECONDS)
            for token in missing:
                unit = units.get(token)
                until = now + (UNITS_SECONDS if unit is not None else _MUTE_SECONDS)
                known[token] = self._known[token] = _Known(unit, until)
            while len(self._known) > _MOST_UNITS:
                del self._known[next(iter(self._known))]
        return {token: one.unit for token, one in known.items() if one is not None and one.unit is not None}


def _key(kind: str, *sets: Iterable[str]) -> str:
    """Return a filter in writing: the order of values, their repetition and their case make no difference."""
    return json.dumps([kind, *(sorted(set(values)) for values in sets)], separators=(",", ":"))
