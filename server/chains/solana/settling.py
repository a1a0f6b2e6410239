"""Reads of the newest state, which settle the view at the slot of their answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from server.chains.newest import Told, read_newest
from server.chains.sound_answers import read_sound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.chains.solana.answers import Context
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

Answer = TypeVar("Answer")
Value = TypeVar("Value", covariant=True)


class Slotted(Protocol[Value]):
    """A result with the slot that it is of."""

    @property
    def context(self) -> Context:
        """Where the slot stands."""

    @property
    def value(self) -> Value:
        """What was asked for."""


async def read_settled(
    pool: Pool, read: Callable[[frozenset[str]], Awaitable[Told[Answer]]], view: ReadView
) -> Told[Answer]:
    """Return what `read` brings of the newest state, as `read_newest` does, with the view settled at its slot."""
    told = await read_newest(pool, read)
    view.settle(told.block, told.endpoint)
    return told


async def read_value(
    pool: Pool, method: str, params: Sequence[object], read: Callable[[bytes], Slotted[Answer]], view: ReadView
) -> Told[Answer]:
    """Return the value of one call's result, with the view settled at its slot."""

    async def ask(avoid: frozenset[str]) -> Told[Answer]:
        policy = CallPolicy(avoid=avoid)
        found, endpoint = await read_sound(pool, method, params, read, policy, deadline=view.deadline)
        return Told(found.value, endpoint, found.context.slot)

    return await read_settled(pool, ask, view)
