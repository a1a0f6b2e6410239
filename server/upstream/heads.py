"""How far each endpoint of a chain is, and how far the chain is: the head a strict majority has reached."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LASTING_BLOCKS = 10
"""Block times that a lower (or implausibly high) majority must last before it is believed."""

_LASTING_SECONDS = 3.0
_FRESH_SECONDS = 10.0
_TOLERATED_SECONDS = 5.0
_PACE_FACTOR = 2
"""Chains may be this much faster than their nominal block time."""

_JUMP_BLOCKS = 256
_JUMP_FACTOR = 8


@dataclass(slots=True)
class _Sighting:
    block: int
    seen_at: float
    advanced_at: float


class HeadTracker:
    """Heads of one chain's endpoints; blocks are heights, or slots on Solana.

    The head is the highest block that a strict majority of the endpoints heard of lately has reached. It moves forward
    only, by no more than the time that passed makes plausible; anything else must last ten block times, so neither a
    liar nor a real rollback can freeze it. Zero is ignored: an endpoint that tells it, of a chain that was further, has
    only begun to follow the chain and counts as lagging. Before a majority of the healthy endpoints was heard the head
    is provisional and follows what is known.
    """

    def __init__(
        self,
        labels: Sequence[str],
        block_time: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        is_healthy: Callable[[str], bool] = lambda _label: True,
    ) -> None:
        self._labels = tuple(labels)
        self._block_time = block_time
        self._clock = clock
        self._is_healthy = is_healthy
        self._fresh = max(LASTING_BLOCKS * block_time, _FRESH_SECONDS)
        self._lasting = max(LASTING_BLOCKS * block_time, _LASTING_SECONDS)
        self._tolerance = max(1, math.ceil(_TOLERATED_SECONDS / block_time))
        self._sightings: dict[str, _Sighting] = {}
        self._empty: dict[str, float] = {}
        self._head: int | None = None
        self._head_at = 0.0
        self._is_firm = False
        self._disputed_since: float | None = None

    def observe(self, label: str, block: int) -> None:
        """Take note that the endpoint answered with this block as its newest; blocks below 1 move no head."""
        now = self._clock()
        if block <= 0:
            self._empty[label] = now
            return
        self._empty.pop(label, None)
        before = self._sightings.get(label)
        advanced_at = before.advanced_at if before is not None and block <= before.block else now
        self._sightings[label] = _Sighting(block, now, advanced_at)
        self._settle(now)

    def forget(self, label: str) -> None:
        """Take back what the endpoint told, which was of another chain; the head is what the others tell."""
        self._empty.pop(label, None)
        if self._sightings.pop(label, None) is None:
            return
        self._head, self._is_firm, self._disputed_since = None, False, None
        self._settle(self._clock())

    def head(self) -> int | None:
        """Return the chain's head, None before anything was heard."""
        if self._disputed_since is not None:
            self._settle(self._clock())
        return self._head

    def of(self, label: str) -> int | None:
        """Return the newest block heard from the endpoint, None if nothing was."""
        sighting = self._sightings.get(label)
        return None if sighting is None else sighting.block

    def age(self, label: str) -> float | None:
        """Return the seconds since the endpoint was last heard, None if never."""
        sighting = self._sightings.get(label)
        return None if sighting is None else self._clock() - sighting.seen_at

    def is_lagging(self, label: str) -> bool:
        """Return whether the endpoint is behind the head by more than a few seconds, as far as was heard lately."""
        if self._is_empty(label):
            return True
        sighting = self._sightings.get(label)
        if sighting is None or self._head is None:
            return False
        reach = self._reach(sighting)
        return reach is not None and self._head - reach > self._tolerance

    def is_ahead(self, label: str) -> bool:
        """Return whether the endpoint tells a block that most of the others, heard lately, cannot have reached.

        It takes three endpoints to tell who is wrong.
        """
        sighting = self._sightings.get(label)
        # What is near the head that the majority reached is nobody's lie; this is the usual case, and cheap.
        if sighting is None or self._head is None or sighting.block - self._head <= self._tolerance:
            return False
        if self._reach(sighting) is None:
            return False
        others = [
            reach
            for other, seen in self._sightings.items()
            if other != label and self._is_healthy(other) and (reach := self._reach(seen)) is not None
        ]
        outrun = sum(sighting.block - reach > self._tolerance for reach in others)
        return outrun * 2 > len(others) + 1

    def is_out_of_step(self, label: str) -> bool:
        """Return whether the endpoint lags behind the others or tells a block that they cannot have reached."""
        return self.is_lagging(label) or self.is_ahead(label)

    @property
    def is_agreed(self) -> bool:
        """Whether a strict majority of the healthy endpoints, heard lately, is about as far as the head."""
        if self._head is None:
            return False
        healthy = [label for label in self._labels if self._is_healthy(label)]
        return sum(self._is_in_step(label, self._head) for label in healthy) * 2 > len(healthy)

    def is_unheard(self, label: str) -> bool:
        """Return whether nothing was heard of the endpoint lately, while most others agree how far the chain is."""
        sighting = self._sightings.get(label)
        return (sighting is None or self._reach(sighting) is None) and self.is_agreed

    def is_near(self, block: int, blocks: int) -> bool:
        """Return whether `block` exists as one endpoint told lately, and is at most `blocks` below what it told."""
        now = self._clock()
        return any(
            0 <= sighting.block - block <= blocks and now - sighting.seen_at <= self._fresh
            for sighting in self._sightings.values()
        )

    def is_behind(self, label: str, block: int) -> bool:
        """Return whether the endpoint is known not to have `block` yet.

        An endpoint that keeps pace is credited with the blocks of the time since it was heard.
        """
        if self._is_empty(label):
            return block > 0
        sighting = self._sightings.get(label)
        if sighting is None or sighting.block >= block:
            return False
        reach = self._reach(sighting)
        if reach is None:
            return False
        return (sighting.block if self.is_lagging(label) else reach) < block

    def _is_empty(self, label: str) -> bool:
        """Return whether the endpoint told block 0 lately, of a chain that was further."""
        told_at = self._empty.get(label)
        return told_at is not None and self._head is not None and self._clock() - told_at <= self._fresh

    def _is_in_step(self, label: str, head: int) -> bool:
        sighting = self._sightings.get(label)
        reach = None if sighting is None else self._reach(sighting)
        if sighting is None or reach is None:
            return False
        return head - reach <= self._tolerance and sighting.block - head <= self._tolerance

    def _reach(self, sighting: _Sighting) -> int | None:
        """Return the block that the endpoint may have by now; None if it was heard too long ago to tell."""
        elapsed = self._clock() - sighting.seen_at
        if elapsed > self._fresh:
            return None
        return sighting.block + int(_PACE_FACTOR * elapsed / self._block_time)

    def _settle(self, now: float) -> None:
        voters = self._voters(now)
        if not voters:
            return
        blocks = sorted((self._sightings[label].block for label in voters), reverse=True)
        candidate = blocks[len(blocks) // 2]
        healthy = sum(1 for label in self._labels if self._is_healthy(label))
        is_majority = len(voters) * 2 > healthy
        if self._head is None or (not self._is_firm and (is_majority or candidate > self._head)):
            self._believe(candidate, now)
            # One that lags and one that does not are a majority of three, and yet tell nothing: the third one will.
            self._is_firm = is_majority and (len(voters) >= healthy or self.is_agreed)
            return
        if candidate == self._head:
            self._disputed_since = None
        elif candidate > self._head and candidate - self._head <= self._plausible_growth(now):
            self._believe(candidate, now)
        elif self._disputed_since is None:
            self._disputed_since = now
        elif now - self._disputed_since >= self._lasting:
            self._believe(candidate, now)

    def _believe(self, block: int, now: float) -> None:
        self._head = block
        self._head_at = now
        self._disputed_since = None

    def _plausible_growth(self, now: float) -> float:
        return _JUMP_BLOCKS + _JUMP_FACTOR * (now - self._head_at) / self._block_time

    def _voters(self, now: float) -> list[str]:
        fresh = [
            label
            for label, sighting in self._sightings.items()
            if now - sighting.seen_at <= self._fresh and self._is_healthy(label)
        ]
        if len(fresh) < 2:
            return fresh
        # An endpoint that stands still while another one moves is stuck: its vote would hold the head back.
        newest = max(self._sightings[label].advanced_at for label in fresh)
        return [label for label in fresh if newest - self._sightings[label].advanced_at <= self._fresh]
