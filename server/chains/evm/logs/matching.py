"""Which logs of a block a filter selects: the logs are indexed once, so that many filters cost a few look-ups each."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from server.chains.evm.contents import bloom_bits
from server.chains.evm.logs.entries import PlacedEntry, log_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from waypost.v1 import evm_pb2


_ADDRESS = -1


class LogQuery(NamedTuple):
    """A filter: emitting contracts, any of them, and for each position of a topic its values, any of them.

    All are in lower case; an empty set is any. The last set of topics is not empty, so that a log with fewer topics
    than there are sets is not selected.
    """

    addresses: frozenset[str]
    topics: tuple[frozenset[str], ...] = ()

    @classmethod
    def of(cls, addresses: Iterable[str], topics: Sequence[Iterable[str]] = ()) -> LogQuery:
        """Return the query of these values, in whichever case."""
        sets = [frozenset(value.lower() for value in values) for values in topics]
        while sets and not sets[-1]:
            sets.pop()
        return cls(frozenset(address.lower() for address in addresses), tuple(sets))

    @property
    def constraints(self) -> list[tuple[int, frozenset[str]]]:
        """The sets that are not empty, each with the position of the topic, or -1 for the contract."""
        sets = [(_ADDRESS, self.addresses), *enumerate(self.topics)]
        return [(position, values) for position, values in sets if values]

    def params(self) -> dict[str, Any]:
        """Return what `eth_getLogs` needs of it, beside the blocks."""
        params: dict[str, Any] = {}
        if self.addresses:
            params["address"] = sorted(self.addresses)
        if self.topics:
            params["topics"] = [sorted(values) or None for values in self.topics]
        return params


def is_excluded(queries: Iterable[LogQuery], bloom: int) -> bool:
    """Return whether a block with that bloom filter has no log that one of the queries selects."""
    return all(
        any(all(bloom_bits(value) & ~bloom for value in values) for _, values in query.constraints) for query in queries
    )


class BlockLogs:
    """The logs of one block in their order, and where to find them; `size` is that of the node's answer in bytes."""

    def __init__(self, placed: Sequence[PlacedEntry], size: int = 0) -> None:
        self.placed = placed
        self.size = size
        self._messages: dict[int, evm_pb2.EvmLog] = {}
        self._at: dict[tuple[int, str], list[int]] = defaultdict(list)
        for number, (_, entry) in enumerate(placed):
            self._at[_ADDRESS, entry.address.lower()].append(number)
            for position, topic in enumerate(entry.topics):
                self._at[position, topic.lower()].append(number)

    def find(self, queries: Iterable[LogQuery]) -> list[int]:
        """Return the numbers of the logs that one of the queries selects, counted from 0 in the block's order."""
        found: set[int] = set()
        for query in queries:
            found |= self._find(query)
        return sorted(found)

    def message(self, number: int) -> evm_pb2.EvmLog:
        """Return a log as a message, the same for all who ask."""
        message = self._messages.get(number)
        if message is None:
            place, entry = self.placed[number]
            # Whose checksum is wrong is of no interest here: the block's hash proves more than that.
            plain = msgspec.structs.replace(entry, address=entry.address.lower())
            [message] = log_messages([PlacedEntry(place, plain)])
            self._messages[number] = message
        return message

    def _find(self, query: LogQuery) -> set[int]:
        """Return what satisfies all constraints, begun with the one that is satisfied least often."""
        found: set[int] | None = None
        sets = []
        for position, values in query.constraints:
            lists = [self._at[position, value] for value in values if (position, value) in self._at]
            if not lists:
                return set()
            sets.append(lists)
        for lists in sorted(sets, key=lambda lists: sum(map(len, lists))):
            numbers = {number for numbers in lists for number in numbers}
            found = numbers if found is None else found & numbers
            if not found:
                return set()
        return set(range(len(self.placed))) if found is None else found


MOST_VALUES = 500
"""Most contracts, or values of one topic, that one question to a node names."""


def merge(queries: Iterable[LogQuery]) -> list[LogQuery]:
    """Return few queries that together select all that these select, and more; each names a bounded number of values.

    Queries are merged that constrain the same positions, so that none is asked without a constraint that it has.
    """
    shapes: dict[tuple[int, ...], list[LogQuery]] = defaultdict(list)
    for query in dict.fromkeys(queries):
        shapes[tuple(position for position, _ in query.constraints)].append(query)
    merged: list[LogQuery] = []
    for alike in shapes.values():
        whole = alike[0]
        for query in alike[1:]:
            union = LogQuery(
                whole.addresses | query.addresses,
                tuple(ours | theirs for ours, theirs in zip(whole.topics, query.topics, strict=True)),
            )
            if any(len(values) > MOST_VALUES for _, values in union.constraints):
                merged.append(whole)
                union = query
            whole = union
        merged.append(whole)
    return merged
