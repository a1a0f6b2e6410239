"""Capability to follow a chain block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from waypost.v1 import stream_pb2

    from server.chains.view import ReadView


@dataclass(frozen=True, slots=True)
class Link:
    """One block as a link of the chain: what it is, and which block it says lies below it.

    Heights are slots on Solana, where `parent_number` may be lower by more than one. `header` is what watchers are
    sent.
    """

    number: int
    hash: str
    parent_number: int
    parent_hash: str
    header: stream_pb2.BlockHeader


class FollowsBlocks(Protocol):
    """Can read the headers by which a chain is followed."""

    async def read_newest_link(self, view: ReadView) -> Link:
        """Return the newest block that is believed."""
        ...

    async def read_link(self, number: int, view: ReadView) -> Link:
        """Return the block at a height; HeightMissing where the chain has none there, or not yet."""
        ...
