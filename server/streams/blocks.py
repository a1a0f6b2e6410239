"""Headers of blocks as a source of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import stream_pb2

if TYPE_CHECKING:
    from server.chains.capabilities.following import Link
    from server.chains.view import ReadView
    from server.streams.source import Source, Stamp


class BlockSource:
    """The headers of all blocks, which the chain's follower has read anyway."""

    key = "blocks"

    async def read_items(self, link: Link, view: ReadView) -> tuple[stream_pb2.BlockHeader]:
        """Return the block's header."""
        return (link.header,)

    def encode(self, stamp: Stamp, item: stream_pb2.BlockHeader | None) -> bytes:
        """Return the serialised `WatchBlocksResponse`."""
        return stream_pb2.WatchBlocksResponse(
            cursor=stamp.cursor,
            chain=stamp.chain,
            kind=stamp.kind,
            block_number=stamp.number,
            block_hash=stamp.hash,
            finality=stamp.finality,
            block=item,
        ).SerializeToString()


BLOCKS: Source[stream_pb2.BlockHeader] = BlockSource()
"""The one source of headers."""
