"""Proving a head that nobody expects by the header that stands behind it.

An endpoint that is far ahead of all that was believed may be the only one that is right, after a stall for example, or
tell what does not exist. Its block is asked for, and the block before it: they have to be there, to be linked, and to
be of times that fit the chain's pace since the newest block whose time is known, and this machine's clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from server.upstream.policy import CallPolicy, Reply
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from server.upstream.carrier import Carrier
    from server.upstream.endpoint import Endpoint
    from server.upstream.heads import HeadTracker
    from server.upstream.health import Health

Ask: TypeAlias = "Callable[[str, Sequence[object]], Awaitable[bytes]]"
"""Returns the result of a call (method, params) as one endpoint answers it; ValueError where it answers none."""

READ_SECONDS = 5.0
"""How long a header is waited for."""

RETRY_SECONDS = 2.0
"""A proof that failed is tried again after this, while the endpoint is asked."""


_HEAVY = CallPolicy(heavy=True)


@dataclass(frozen=True, slots=True)
class Header:
    """A block's header: number (slot on Solana), hash, time in unix seconds, and what it says of the block before it.

    `parent_hash` is empty for the first block of a chain. `is_whole` says whether its hash comes out of its contents;
    None where that cannot be told.
    """

    number: int
    hash: str
    made_at: float
    parent: int
    parent_hash: str
    is_whole: bool | None = None


class HeaderReader:
    """Reads headers from one endpoint at a time; `read` is the family's way (see `HeadQuery.header`)."""

    def __init__(
        self,
        read: Callable[[Ask, int], Awaitable[Header]],
        encode: Callable[[str, Sequence[object]], Any],
        carriers: Mapping[Endpoint, Carrier[Any]],
        health: Health,
    ) -> None:
        self._read = read
        self._encode = encode
        self._carriers = carriers
        self._health = health

    async def read(self, endpoint: Endpoint, block: int) -> Header:
        """Return the header of a block as one endpoint reports it; ValueError where it reports none."""

        async def ask(method: str, params: Sequence[object]) -> bytes:
            call = self._encode(method, params)
            answer = await self._carriers[endpoint].submit_alone(call, READ_SECONDS, "head")
            got = self._health.settle(endpoint, answer, _HEAVY, vouches=False)
            if isinstance(got, Reply):
                return got.result
            raise ValueError(got.words)

        return await self._read(ask, block)


class HeadProofs:
    """The proofs of one chain's endpoints. `read` reads a header from one endpoint; ValueError where it has none."""

    def __init__(
        self,
        heads: HeadTracker,
        read: Callable[[Endpoint, int], Awaitable[Header]],
        clock: Callable[[], float],
    ) -> None:
        self._heads = heads
        self._read = read
        self._clock = clock
        self._running: SingleFlight[bool] = SingleFlight()
        self._tried_at: dict[str, float] = {}
        self._is_layout_known = False
        self._odd: set[str] = set()

    async def prove(self, endpoint: Endpoint, seconds: float | None = None) -> bool:
        """Return whether the endpoint proves the head that it claims; the tracker knows it then.

        Callers share one proof, wait for it no longer than `seconds`, and one that failed is not tried again at once.
        """
        task = self.start(endpoint)
        if task is None:
            return False
        done, _ = await asyncio.wait((task,), timeout=seconds)
        return any(one.result() for one in done)

    def start(self, endpoint: Endpoint) -> asyncio.Task[bool] | None:
        """Return the proof under way, begun now if need be; None where it failed a moment ago."""
        label = endpoint.label
        if label not in self._running:
            tried_at = self._tried_at.get(label)
            if tried_at is not None and self._clock() - tried_at < RETRY_SECONDS:
                return None
        return self._running.start(label, lambda: self._prove(endpoint))

    async def read_past(self, endpoint: Endpoint, block: int) -> Header:
        """Return the header of a block as one endpoint reports it; ValueError also for one of a time to come."""
        header = await self._read(endpoint, block)
        if self._heads.is_future(header.made_at):
            raise ValueError("a block of a time to come")
        return header

    async def close(self) -> None:
        """Give up what is under way."""
        await self._running.close()

    async def _prove(self, endpoint: Endpoint) -> bool:
        label, block = endpoint.label, self._heads.of(endpoint.label)
        if block is None:
            return False
        try:
            header = await self._read(endpoint, block)
            is_sound = header.number == block and self._heads.fits(block, header.made_at)
            is_sound = is_sound and self._is_whole(label, header)
            if is_sound and header.parent_hash:
                parent = await self._read(endpoint, header.parent)
                is_linked = parent.hash == header.parent_hash and parent.number == header.parent
                is_sound = is_linked and parent.made_at <= header.made_at and self._is_whole(label, parent)
        except ValueError:
            is_sound = False
        if is_sound:
            self._tried_at.pop(label, None)
            self._heads.admit(label, block, header.made_at)
        else:
            self._tried_at[label] = self._clock()
        return is_sound

    def _is_whole(self, label: str, header: Header) -> bool:
        """Return whether nothing speaks against a header's contents.

        A hash that does not come out of them counts once another header's did: before, the layout may be a new one. Who
        was believed so far is then taken back.
        """
        if header.is_whole and not self._is_layout_known:
            self._is_layout_known = True
            for odd in self._odd - {label}:
                self._heads.forget(odd)
        if header.is_whole is False:
            self._odd.add(label)
            return not self._is_layout_known
        return True
