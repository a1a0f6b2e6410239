"""The newest slot, and whether the nodes can be read at all."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.chains.judgement import Heard, Judgement
from server.chains.newest import Told
from server.chains.solana.answers import read_slot
from server.chains.solana.settling import read_settled
from server.chains.sound_answers import read_sound
from server.errors import NotSupported
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.capabilities import Health, State
    from server.chains.view import ReadView
    from server.upstream.connector import ProbeResult
    from server.upstream.pool import Pool

COMMITMENT = "confirmed"
"""What reads of the latest state ask for: a supermajority voted for it; blocks cannot be had below it."""

SLOT = ("getSlot", [{"commitment": COMMITMENT}])


class HeadReader:
    """Reads the head of the chain."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._judgement = Judgement(pool)

    async def read_height(self, view: ReadView) -> int:
        """Return the newest slot, as one node answers it now."""

        async def read(avoid: frozenset[str]) -> Told[None]:
            slot, endpoint = await read_sound(
                self._pool, *SLOT, read_slot, CallPolicy(avoid=avoid), deadline=view.deadline
            )
            return Told(None, endpoint, slot)

        told = await read_settled(self._pool, read, view)
        return told.block

    async def read_health(self) -> Health:
        """Ask every endpoint for its newest slot, and whether it keeps pace with the cluster (`getHealth`)."""
        asked_at = datetime.now(UTC)
        slots, healths = await asyncio.gather(self._pool.probe(*SLOT), self._pool.probe("getHealth", []))
        heard: list[Heard] = []
        for answer, health in zip(slots, healths, strict=True):
            slot = _slot_of(answer)
            if slot is None:
                continue
            # Some providers switch `getHealth` off: what they do not tell is not held against them.
            keeps_pace = health.result is not None or isinstance(health.error, NotSupported)
            heard.append(Heard(answer.endpoint, slot, answer.latency, keeps_pace))
        return self._judgement.judge_heads(heard, slots, asked_at)

    def last_state(self) -> State | None:
        """Return the last known state; see `Judgement`."""
        return self._judgement.last_state()


def _slot_of(answer: ProbeResult) -> int | None:
    try:
        return None if answer.result is None else read_slot(answer.result)
    except ValueError:
        return None
