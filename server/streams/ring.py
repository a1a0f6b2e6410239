"""The events of one source, shared by its readers, who are positions in it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from server.errors import SlowConsumer
from server.streams.signal import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.errors import GatewayError
    from server.streams.events import Event

MOST_EVENTS = 1_000
"""Events that a ring holds."""

MOST_BYTES = 4 << 20
"""Bytes of payloads that a ring holds."""

PATIENCE_SECONDS = 1.0
"""How long new events wait for readers that they would push out."""


class Entry(NamedTuple):
    """An event in a ring, and to which readers it is sent.

    A reader has a floor, the block that its stream began at. It is sent a REMOVED (`removes`, the block's number) only
    of blocks above it: others it never got from this stream. A ROLLED_BACK (`rolls_back`, the block that stays) is
    sent to readers whose floor is above that block, and with `is_for_all` to everyone; it lowers the floor.
    """

    event: Event
    removes: int | None = None
    rolls_back: int | None = None
    is_for_all: bool = False


class Ring:
    """The newest events of a source, `MOST_EVENTS` and `MOST_BYTES` at most; an error ends it for all its readers."""

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._entries: deque[Entry] = deque()
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._bytes = 0
        self._readers: set[Reader] = set()
        self._arrived = Signal()
        self._read = Signal()
        self._error: Callable[[], GatewayError] | None = None
        # No reader is before it; raised to where the last one is only when that matters.
        self._least = 0
        self.end = 0
        """The number of the entry that comes next, counted from the first ever."""

    @property
    def first(self) -> int:
        """The number of the oldest entry that is still held."""
        return self.end - len(self._entries)

    @property
    def readers(self) -> int:
        """How many read it."""
        return len(self._readers)

    def join(self, at: int, floor: int) -> Reader:
        """Return a reader whose next entry has that number, of a stream that began at block `floor`."""
        reader = Reader(self, at, floor)
        self._readers.add(reader)
        self._least = min(self._least, at)
        return reader

    def leave(self, reader: Reader) -> None:
        """Forget a reader."""
        self._readers.discard(reader)
        self._read.fire()

    def begins_above(self, block: int) -> bool:
        """Return whether the stream of some reader began above that block."""
        return any(reader.floor > block for reader in self._readers)

    def check(self) -> None:
        """Raise the error that the ring was closed with."""
        if self._error is not None:
            raise self._error()

    async def publish(self, entry: Entry) -> None:
        """Add an entry; where it pushes one out that is still to be read, readers get `PATIENCE_SECONDS` before."""
        size = len(entry.event.payload)
        if self._is_full(size) and self._is_unread():
            loop = asyncio.get_running_loop()
            until = loop.time() + PATIENCE_SECONDS
            while self._is_full(size) and self._is_unread() and (left := until - loop.time()) > 0:
                await self._read.wait(left)
        while self._is_full(size) and self._entries:
            self._bytes -= len(self._entries.popleft().event.payload)
        self._entries.append(entry)
        self._bytes += size
        self.end += 1
        self._arrived.fire()

    def close(self, error: Callable[[], GatewayError]) -> None:
        """End every reader, once it has read what is there, with an error of its own."""
        self._error = error
        self._arrived.fire()

    def entry(self, number: int) -> Entry | None:
        """Return the entry of that number, None where it is yet to come; SlowConsumer where it is gone."""
        if number < self.first:
            raise SlowConsumer("events came faster than this stream read them: go on at its cursor, or filter more")
        if number < self.end:
            return self._entries[number - self.first]
        self.check()
        return None

    async def arrival(self) -> None:
        """Return when there is a new entry, or the ring is closed."""
        await self._arrived.wait()

    def note_read(self) -> None:
        """Note that a reader went on."""
        self._read.fire()

    def _is_full(self, size: int) -> bool:
        return len(self._entries) >= self._most_events or self._bytes + size > self._most_bytes

    def _is_unread(self) -> bool:
        """Return whether a reader that keeps within the ring has yet to read its oldest entry."""
        first = self.first
        if self._least <= first:
            self._least = min((reader.at for reader in self._readers if reader.at >= first), default=self.end)
        return self._least == first


class Reader:
    """One reader's position in a ring: `at` is the number of the entry that it reads next, `floor` as in `Entry`."""

    def __init__(self, ring: Ring, at: int, floor: int) -> None:
        self.at = at
        self.floor = floor
        self._ring = ring

    async def next(self) -> Event:
        """Return the next event that is for this reader, waiting for it.

        Raises:
            SlowConsumer: it is gone: the reader was slower than the events.
            GatewayError: the source has ended.
        """
        while True:
            entry = self._ring.entry(self.at)
            if entry is None:
                await self._ring.arrival()
                continue
            self.at += 1
            self._ring.note_read()
            if self._takes(entry):
                return entry.event

    def close(self) -> None:
        """Leave the ring."""
        self._ring.leave(self)

    def _takes(self, entry: Entry) -> bool:
        if entry.removes is not None:
            return entry.removes > self.floor
        if entry.rolls_back is not None:
            is_below = entry.rolls_back < self.floor
            self.floor = min(self.floor, entry.rolls_back)
            return is_below or entry.is_for_all
        return True
