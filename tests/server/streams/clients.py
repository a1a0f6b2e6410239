"""A client of streams as anyone would write it: it holds what it was sent, and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from waypost.v1 import stream_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from server.streams.events import Event

WAIT_SECONDS = 60.0

ADDED = stream_pb2.EVENT_KIND_ADDED
REMOVED = stream_pb2.EVENT_KIND_REMOVED
ROLLED_BACK = stream_pb2.EVENT_KIND_ROLLED_BACK
PROGRESS = stream_pb2.EVENT_KIND_PROGRESS
STALLED = stream_pb2.EVENT_KIND_STALLED
FINAL = stream_pb2.FINALITY_FINAL
RESUMED = stream_pb2.EVENT_KIND_RESUMED


class BlockClient:
    """Reads a stream of blocks; `blocks` are the hashes by number that it holds, in order, `kinds` all that came.

    After every event what it holds is a chain.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, str] = {}
        self.parents: dict[int, tuple[int, str]] = {}
        self.events: list[stream_pb2.WatchBlocksResponse] = []
        self.payloads: list[bytes] = []
        self.cursor = ""
        self.head: tuple[int, str] | None = None
        self._stream: AsyncIterator[Event] | None = None

    @property
    def kinds(self) -> list[stream_pb2.EventKind]:
        return [event.kind for event in self.events]

    def attach(self, stream: AsyncIterator[Event]) -> None:
        self._stream = stream

    async def next(self) -> stream_pb2.WatchBlocksResponse:
        """Take one event, check it and apply it."""
        assert self._stream is not None
        event = await asyncio.wait_for(anext(self._stream), WAIT_SECONDS)
        message = stream_pb2.WatchBlocksResponse.FromString(event.payload)
        assert message.cursor == event.cursor
        self.cursor = event.cursor
        self.events.append(message)
        self.payloads.append(event.payload)
        self._apply(message)
        return message

    async def until(self, is_reached: Callable[[BlockClient], bool]) -> None:
        """Take events until what is held is as wanted."""
        while not is_reached(self):
            await self.next()

    async def close(self) -> None:
        stream, self._stream = self._stream, None
        await stream.aclose()  # type: ignore[union-attr]  # an asynchronous generator

    def _apply(self, message: stream_pb2.WatchBlocksResponse) -> None:
        number, block_hash = message.block_number, message.block_hash
        if message.kind == ADDED:
            block = message.block
            assert (block.number, block.hash) == (number, block_hash)
            if self.blocks.get(number) != block_hash:
                assert not self.blocks or number > max(self.blocks), "a block comes above all others"
                if self.blocks:
                    top = max(self.blocks)
                    assert (block.parent_number, block.parent_hash) == (top, self.blocks[top])
                self.blocks[number] = block_hash
        elif message.kind == REMOVED:
            assert max(self.blocks) == number, "the newest is removed first"
            assert self.blocks.pop(number) == block_hash
            assert message.block.hash == block_hash
        elif message.kind == ROLLED_BACK:
            self.blocks = {held: its_hash for held, its_hash in self.blocks.items() if held <= number}
            if self.blocks and max(self.blocks) == number:
                assert self.blocks[number] == block_hash
