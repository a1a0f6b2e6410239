"""Capability to follow a chain block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from server.chains.view import NO_ENDPOINTS

if TYPE_CHECKING:
    from waypost.v1 import stream_pb2

    from server.chains.view import ReadView
    from server.upstream.pushes import Pushes


@dataclass(frozen=True, slots=True)
class Link:
    """One block as a link of the chain: what it is, and which block it says lies below it.

    Heights are slots on Solana, where `parent_number` may be lower by more than one. `header` is what watchers are
    sent; `bloom` the filter of the block's logs (2048 bits), where it is proved to be that.
    """

    number: int
    hash: str
    parent_number: int
    parent_hash: str
    header: stream_pb2.BlockHeader
    bloom: int | None = None


class FollowsBlocks(Protocol):
    """Can read the headers by which a chain is followed; hashes are in one writing, whichever endpoint answers.

    `avoid` are labels of endpoints to ask last. A read prefers the endpoint of its view: links of one view are of one
    node's chain where that node can be had. That of the newest block sets the view's endpoint to the one that answered.
    """

    pushes: Pushes | None = None
    """What nodes announce of new blocks, None where they never do."""

    finalizes_at_once: bool
    """Whether every block is final once it is made."""

    async def read_newest_link(self, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the newest block that is believed."""
        ...

    async def read_link(self, number: int, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the block at a height; HeightMissing where the chain has none there, or not yet."""
        ...

    async def read_final(self, view: ReadView) -> int:
        """Return the number of the newest final block, asked of the nodes; -1 where they name none."""
        ...
