"""Headers of blocks, by which the chain is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import stream_pb2

from server.chains.bitcoin.answers import MAX_HEIGHT, NEWEST, Height, read_hash
from server.chains.capabilities.following import Link
from server.chains.shared.links import FoundLink, LinkReads, no_newest
from server.chains.shared.validated_reads import read_validated
from server.errors import NotFound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_NO_HASH = "0" * 64

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_HEIGHT)]


class _Info(msgspec.Struct):
    bestblockhash: str


class _Header(msgspec.Struct):
    hash: str
    height: Height
    confirmations: int
    time: int
    previousblockhash: str = _NO_HASH
    nTx: Count | None = None  # noqa: N815 - the node's own name


class LinkReader(LinkReads):
    """Reads headers, which nodes return by hash alone: the hash is asked for first, and the newest one read once."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._newest: Link | None = None

    async def read_newest(self, policy: CallPolicy, view: ReadView) -> FoundLink:
        """Return the tip of one node's best chain."""
        best, endpoint = await read_validated(self.pool, *NEWEST, _best, policy, deadline=view.deadline)
        known = self._newest
        if known is None or known.hash != best:
            found = await self._read(best, CallPolicy(null_elsewhere=True, prefer=endpoint, avoid=policy.avoid), view)
            if found is None:
                raise no_newest(self.pool)
            known, endpoint = found.link, found.endpoint
            self._newest = known
        return FoundLink(known, endpoint, float(known.header.timestamp.seconds))

    async def read_at(self, number: int, policy: CallPolicy, view: ReadView) -> FoundLink | None:
        """Return the block of that height in the best chain; None, or NotFound, where there is none."""
        block_hash, endpoint = await read_validated(
            self.pool, "getblockhash", [number], read_hash, policy, deadline=view.deadline
        )
        found = await self._read(block_hash, CallPolicy(null_elsewhere=True, prefer=endpoint, avoid=policy.avoid), view)
        return found if found is not None and found.link.number == number else None

    async def _read(self, block_hash: str, policy: CallPolicy, view: ReadView) -> FoundLink | None:
        """Return a block of the best chain; None where it left that meanwhile."""

        def read(result: bytes) -> tuple[Link, bool]:
            header = msgspec.json.decode(result, type=_Header)
            if header.hash.lower() != block_hash:
                raise ValueError("another block than the one asked for")
            return _link(header), header.confirmations > 0

        try:
            (link, is_best), endpoint = await read_validated(
                self.pool, "getblockheader", [block_hash], read, policy, deadline=view.deadline
            )
        except NotFound:
            return None
        return FoundLink(link, endpoint) if is_best else None


def _best(result: bytes) -> str:
    return read_hash(msgspec.json.encode(msgspec.json.decode(result, type=_Info).bestblockhash))


def _link(header: _Header) -> Link:
    number, block_hash, parent_hash = header.height, header.hash.lower(), header.previousblockhash.lower()
    message = stream_pb2.BlockHeader(
        number=number,
        hash=block_hash,
        parent_number=max(number - 1, 0),
        parent_hash=parent_hash,
        timestamp=Timestamp(seconds=header.time),
        transaction_count=header.nTx,
    )
    return Link(number, block_hash, number - 1, parent_hash, message)
