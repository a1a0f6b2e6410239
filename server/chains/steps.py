"""Reads of several steps, which only together are an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.view import ReadView
from server.errors import MovedOn
from server.upstream.cache import CacheUse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    Answer = TypeVar("Answer")

ATTEMPTS = 4
"""How often a read begins at most."""


async def read_in_steps(view: ReadView, read: Callable[[ReadView], Awaitable[Answer]]) -> Answer:
    """Return what `read` brings, all its steps at one block, and settle the view on it.

    Nodes that know the latest state alone cannot be asked for the block of the first step once the chain has moved on:
    the read begins again then, past what is kept, which is of the older block.

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
            cache = CacheUse(bypass=True)
            continue
        if trial.block is not None:
            view.settle(trial.block, trial.endpoint)
        return found
    raise AssertionError("the last attempt returns or raises")
