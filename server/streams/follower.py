"""Chains followed block by block, each once for everyone who watches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from server.chains.capabilities.following import FollowsBlocks, Link
    from server.streams.events import Event
    from server.streams.source import Source


class Followers:
    """The followers of one process, one for each chain that is watched; see `docs/streams.md` for what they promise.

    `chain` returns what a chain is followed by (GatewayError for one that cannot be), and its block time in seconds.
    """

    def __init__(self, chain: Callable[[str], tuple[FollowsBlocks, float]]) -> None:
        self._chain = chain

    def heads(self, slug: str) -> AsyncIterator[Link]:
        """Yield the newest believed block at once, then the newest whenever it changed, replacements included.

        What changes while the consumer is busy is left out but for the newest. It ends by cancellation alone.
        """
        raise NotImplementedError

    def watch(
        self,
        slug: str,
        source: Source[Any],
        cursor: str = "",
        charge: Callable[[int], Awaitable[None]] | None = None,
    ) -> AsyncIterator[Event]:
        """Yield the events of a source from a cursor on, or from now on.

        `charge` is awaited with one unit for each 1,000 blocks replayed.
        """
        raise NotImplementedError

    def wake(self, slug: str) -> None:
        """Have the chain's newest block read now: something says that there is one."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop following."""
