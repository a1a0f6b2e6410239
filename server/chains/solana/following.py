"""Blocks without their transactions, by which the chain is followed; heights are slots, of which some have no block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import Link
from server.chains.shared.links import FoundLink, LinkReads, no_newest
from server.chains.shared.validated_reads import read_validated
from server.chains.solana.answers import COMMITMENT, SLOT, Count, read_slot
from server.errors import NotFound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.view import ReadView

# A node may name a slot a moment before it returns its block.
_LOWER_SLOTS = 3
_OPTIONS = {"transactionDetails": "none", "rewards": False, "commitment": COMMITMENT}


class _Block(msgspec.Struct, rename="camel"):
    blockhash: str
    previous_blockhash: str
    parent_slot: Count
    block_time: int | None = None


_decode = msgspec.json.Decoder(_Block | None).decode


class LinkReader(LinkReads):
    """Reads the blocks of slots; the newest takes two requests, for no call returns the newest block itself."""

    async def read_newest(self, policy: CallPolicy, view: ReadView) -> FoundLink:
        """Return the block of the newest slot that has one, as one endpoint reports it."""
        slot, endpoint = await read_validated(self.pool, *SLOT, read_slot, policy, deadline=view.deadline)
        for lower in range(min(_LOWER_SLOTS, slot + 1)):
            own = CallPolicy(null_elsewhere=True, prefer=endpoint, avoid=policy.avoid)
            try:
                found = await self.read_at(slot - lower, own, view)
            except NotFound:
                continue
            if found is not None:
                return found
        raise no_newest(self.pool)

    async def read_at(self, number: int, policy: CallPolicy, view: ReadView) -> FoundLink | None:
        """Return the block of that slot; None, or NotFound, where it has none."""
        link, endpoint = await read_validated(
            self.pool,
            "getBlock",
            [number, _OPTIONS],
            lambda result: _link(result, number),
            policy,
            deadline=view.deadline,
        )
        return None if link is None else FoundLink(link, endpoint)


def _link(result: bytes, slot: int) -> Link | None:
    """Return the link that a slot's block is, None for `null`; ValueError or msgspec's error for anything else."""
    block = _decode(result)
    if block is None:
        return None
    if block.parent_slot > max(slot - 1, 0):
        raise ValueError("a block of a later slot")
    message = stream_pb2.BlockHeader(
        number=slot,
        hash=block.blockhash,
        parent_number=block.parent_slot,
        parent_hash=block.previous_blockhash,
        timestamp=None if block.block_time is None else Timestamp(seconds=block.block_time),
    )
    return Link(slot, block.blockhash, block.parent_slot, block.previous_blockhash, message)
