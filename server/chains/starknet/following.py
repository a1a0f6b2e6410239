"""Blocks with the hashes of their transactions, by which a chain is followed: nodes return no header alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import Link
from server.chains.shared.links import FoundLink, LinkReads
from server.chains.shared.validated_reads import read_validated
from server.chains.starknet.answers import NEWEST, json_felt, json_items, json_members, json_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.view import ReadView
    from server.upstream.connector import CallPolicy


class LinkReader(LinkReads):
    """Reads accepted blocks; a pre-confirmed one is none yet."""

    async def read_newest(self, policy: CallPolicy, view: ReadView) -> FoundLink:
        """Return the newest accepted block as one endpoint reports it."""
        return await self._read(NEWEST[1], None, policy, view)

    async def read_at(self, number: int, policy: CallPolicy, view: ReadView) -> FoundLink:
        """Return the block of that number; NotFound where no node has it."""
        return await self._read([{"block_number": number}], number, policy, view)

    async def _read(
        self, params: Sequence[object], number: int | None, policy: CallPolicy, view: ReadView
    ) -> FoundLink:
        def read(result: bytes) -> Link:
            link = _link(result)
            if number not in (None, link.number):
                raise ValueError("another block than the one asked for")
            return link

        link, endpoint = await read_validated(self.pool, NEWEST[0], params, read, policy, deadline=view.deadline)
        return FoundLink(link, endpoint, float(link.header.timestamp.seconds))


def _link(result: bytes) -> Link:
    """Return the link that a block is; ValueError for what is no accepted block."""
    members = json_members(result)
    try:
        number = json_number(members["block_number"])
        block_hash, parent_hash = hex(json_felt(members["block_hash"])), hex(json_felt(members["parent_hash"]))
        made_at, count = json_number(members["timestamp"]), len(json_items(members["transactions"]))
    except KeyError:
        raise ValueError("not an accepted block") from None
    message = stream_pb2.BlockHeader(
        number=number,
        hash=block_hash,
        parent_number=max(number - 1, 0),
        parent_hash=parent_hash,
        timestamp=Timestamp(seconds=made_at),
        transaction_count=count,
    )
    return Link(number, block_hash, number - 1, parent_hash, message)
