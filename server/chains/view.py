"""The state that one request reads: a chain at one block."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from server.errors import MovedOn
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    Answer = TypeVar("Answer")


@dataclass(slots=True)
class ReadView:
    """One block of one chain, shared by every read of a request (design section 3).

    `block` is None until the first read, which goes to the node as `latest` and reports the block it was answered at;
    every later read is pinned to that block and prefers the endpoint that answered. A view made with a block is pinned
    from the start, and `is_chosen`: the caller named its block. `deadline` is in seconds of the monotonic clock.
    `cache` is the request's use of the cache: whether it may, and what came out of it.
    """

    block: int | None = None
    endpoint: str | None = None
    deadline: float | None = None
    cache: CacheContext | None = field(default=None, repr=False, compare=False)
    is_chosen: bool = field(init=False)
    _turn: asyncio.Lock | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.is_chosen = self.block is not None

    @property
    def is_settling(self) -> bool:
        """Whether a read under way is about to determine the block of this view."""
        return self.block is None and self._turn is not None and self._turn.locked()

    def settle(self, block: int, endpoint: str | None) -> None:
        """Pin the view to the block and endpoint of its first answer; later answers change nothing."""
        if self.block is None:
            self.block = block
        if self.endpoint is None:
            self.endpoint = endpoint

    def turn(self) -> asyncio.Lock:
        """Return the lock that reads of an unpinned view take, so that the second finds the block of the first."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        return self._turn


ATTEMPTS = 4
"""How often a read begins at most."""


async def read_in_steps(view: ReadView, read: Callable[[ReadView], Awaitable[Answer]]) -> Answer:
    """Return what `read` brings, all its steps at one block, and settle the view on it.

    Nodes that have the latest state alone cannot be asked for the block of the first step once the chain has moved on:
    the read begins again then, past the cache, which is of the older block.

    Raises:
        MovedOn: the chain moves on faster than the steps follow each other.
        GatewayError: what `read` raises.
    """
    if view.block is not None:
        return await read(view)
    cache = view.cache
    for attempt in range(1, ATTEMPTS + 1):
        trial = ReadView(deadline=view.deadline, cache=cache)
        try:
            found = await read(trial)
        except MovedOn:
            if attempt == ATTEMPTS:
                raise
            if view.cache is not None:
                view.cache.miss()
            cache = CacheContext(bypass=True)
            continue
        if trial.block is not None:
            view.settle(trial.block, trial.endpoint)
        return found
    raise AssertionError("the last attempt returns or raises")
