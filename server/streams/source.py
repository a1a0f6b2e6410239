"""What a stream is made of: a source turns each block into the items that its readers are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waypost.v1 import stream_pb2

    from server.chains.capabilities.following import Link
    from server.chains.view import ReadView

Item = TypeVar("Item")


class Stamp(NamedTuple):
    """What every event says, whatever its source: the members of the response messages beside the item.

    `number` and `hash` are those of the event's block.
    """

    chain: str
    kind: stream_pb2.EventKind
    number: int
    hash: str
    finality: stream_pb2.Finality
    cursor: str


class Source(Protocol[Item]):
    """Turns the blocks of one chain into items. It knows nothing of cursors, reorganisations and readers.

    `key` is what the source sends, in writing: sources of equal keys share one ring, and what they send must be equal.
    It is the same in every process, for cursors hold a digest of it.
    """

    @property
    def key(self) -> str:
        """What the source sends, the same text in every process."""
        ...

    async def read_items(self, link: Link, view: ReadView) -> Sequence[Item]:
        """Return the items of a block in the order in which they are sent, always the same for a block's hash.

        `view` has the deadline. An error that may pass (UpstreamUnavailable,
        UpstreamDisagrees, DeadlineExceeded, NotFound: the block may have been replaced meanwhile) is tried again while
        the readers wait; any other one ends their streams.
        """
        ...

    def encode(self, stamp: Stamp, item: Item | None) -> bytes:
        """Return the serialised response; without an item for kinds other than ADDED and REMOVED."""
        ...
