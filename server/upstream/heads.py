"""How far each endpoint of a chain is, and how far the chain is: the head a strict majority has reached."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

LASTING_BLOCKS = 10
"""Block times that a lower (or implausibly high) majority must last before it is believed."""

_LASTING_SECONDS = 3.0
_FRESH_SECONDS = 10.0
_TOLERATED_SECONDS = 5.0
_PACE_FACTOR = 2
"""Chains may be this much faster than their nominal block time."""

_JUMP_BLOCKS = 256
_JUMP_FACTOR = 8


@dataclass(frozen=True, slots=True)
class HeadGrowth:
    """How fast a chain's head may move without a proof.

    It may be `factor` times as fast as the block time, plus `slack` blocks; a block's time may be `future` seconds
    ahead of this machine's clock.
    """

    factor: float = 4.0
    slack: int = 64
    future: float = 60.0


@dataclass(slots=True)
class _Sighting:
    block: int
    seen_at: float
    advanced_at: float
    vote: int


@dataclass(slots=True)
class _Claim:
    block: int
    seen_at: float
    is_future: bool


class HeadTracker:
    """Heads of one chain's endpoints; blocks are heights, or slots on Solana.

    The head is the highest block that a strict majority of the endpoints with a recent report has reached. It moves
    forward only; a real rollback must last ten block times to be believed. Zero is ignored: an endpoint that reports
    it, of a chain that was further, has only begun to follow the chain and counts as lagging. Before a majority of the
    healthy endpoints has reported the head is provisional and follows what is known.

    With `growth`, a block beyond what the time since the last believed head makes plausible, or dated ahead, is
    a claim: its endpoint is ahead and has no vote until the claim is proved (`admit`), however many claim the same. At
    the start, without a head, any block is a claim, but not that of an only endpoint that reports its time. Without
    `growth` (local nodes, which make blocks at will) a jump is believed if it lasts. `wall` returns the time of day.

    With `has_times` requests for the head bring a block's time: of several endpoints, a number without a time shows
    how far its endpoint is, and moves no head.
    """

    def __init__(
        self,
        labels: Sequence[str],
        block_time: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        is_healthy: Callable[[str], bool] = lambda _label: True,
        growth: HeadGrowth | None = None,
        has_times: bool = False,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.growth = growth
        self._has_times = has_times and growth is not None
        self._dated_at: dict[str, float] = {}
        self._wall = wall
        self._claims: dict[str, _Claim] = {}
        # The newest believed block whose time is known.
        self._anchor: tuple[int, float] | None = None
        self._labels: tuple[str, ...] = ()
        self._needs_times = False
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
        self.follow(labels)

    def follow(self, labels: Sequence[str], replaced: Collection[str] = ()) -> None:
        """Count the reports of these endpoints from now on; those of others, and of `replaced` ones, are dropped.

        The head stays: it is the chain's, and new endpoints have to fit it.
        """
        self._labels = tuple(labels)
        self._needs_times = self._has_times and len(labels) > 1
        for kept in (self._sightings, self._empty, self._claims, self._dated_at):
            for label in [label for label in kept if label not in self._labels or label in replaced]:
                del kept[label]

    def observe(self, label: str, block: int, made_at: float | None = None) -> None:
        """Note that the endpoint answered with this block as its newest; blocks below 1 move no head.

        `made_at` is the block's own time in unix seconds, where the answer holds it.
        """
        now = self._clock()
        if made_at is not None:
            self._dated_at[label] = now
        if block <= 0:
            self._empty[label] = now
            return
        is_future = self.is_future(made_at) or (made_at is None and self._was_future(label, block))
        if is_future or not self._is_plausible(block, now, is_dated=made_at is not None):
            self._sightings.pop(label, None)
            self._claims[label] = _Claim(block, now, is_future)
            return
        self._see(label, block, now, is_dated=made_at is not None)
        self._note_time(block, made_at)

    def repeat(self, label: str, block: int, made_at: float | None) -> bool:
        """Note the head once more, reported by the only endpoint; return False where that is to be observed."""
        if block != self._head or self._claims or self._empty or self._disputed_since is not None:
            return False
        sighting = self._sightings.get(label)
        is_known = sighting is not None and sighting.block == block and self._is_firm and len(self._labels) == 1
        if sighting is None or not is_known:
            return False
        if made_at is not None and (self._anchor is None or self.is_future(made_at)):
            return False
        sighting.seen_at = self._clock()
        if made_at is not None:
            self._dated_at[label] = sighting.seen_at
        return True

    def admit(self, label: str, block: int, made_at: float) -> None:
        """Note that the endpoint proved this block, which it claimed: its header, made then, fits the chain."""
        self._see(label, block, self._clock(), is_dated=True)
        self._note_time(block, made_at)

    def fits(self, block: int, made_at: float) -> bool:
        """Return whether a block made at that time (unix seconds) can follow what was believed before."""
        growth = self.growth
        if growth is None:
            return True
        if self.is_future(made_at):
            return False
        if self._anchor is None:
            return self._head is None or self._is_plausible(block, self._clock(), is_dated=True)
        known, known_at = self._anchor
        return block - known <= growth.slack + growth.factor * max(made_at - known_at, 0.0) / self._block_time

    def is_claimed(self, label: str) -> bool:
        """Return whether the endpoint claimed, lately, a block that it has not proved."""
        claim = self._claims.get(label)
        return claim is not None and self._clock() - claim.seen_at <= self._fresh

    def is_beyond(self, block: int) -> bool:
        """Return whether no node can have the block yet, as far as the chain's head is known."""
        return self._head is not None and not self._is_plausible(block, self._clock(), is_dated=False)

    def is_future(self, made_at: float | None) -> bool:
        """Return whether that time lies ahead (unix seconds, None for a time that is not known)."""
        return made_at is not None and self.growth is not None and made_at > self._wall() + self.growth.future

    def _was_future(self, label: str, block: int) -> bool:
        """Return whether the endpoint reported a time ahead lately, of this block or another one above the head."""
        claim = self._claims.get(label)
        if claim is None or not claim.is_future or not self.is_claimed(label):
            return False
        return self._head is None or block > self._head

    def _is_plausible(self, block: int, now: float, *, is_dated: bool) -> bool:
        growth = self.growth
        if growth is None:
            return True
        if self._head is None:
            # Of several, those that report what does not exist may be the first to report, or the most.
            return is_dated and len(self._labels) == 1
        return block - self._head <= growth.slack + growth.factor * (now - self._head_at) / self._block_time

    def _note_time(self, block: int, made_at: float | None) -> None:
        if made_at is not None and self._head is not None and block <= self._head:
            known = self._anchor
            # A lower head than before: the chain, or what was believed of it, was rolled back.
            if known is None or block > known[0] or known[0] > self._head:
                self._anchor = block, made_at

    def _see(self, label: str, block: int, now: float, *, is_dated: bool) -> None:
        self._claims.pop(label, None)
        self._empty.pop(label, None)
        before = self._sightings.get(label)
        advanced_at = before.advanced_at if before is not None and block <= before.block else now
        vote = block
        if self._needs_times and not is_dated:
            vote = min(block, max(self._head or 0, 0 if before is None else before.vote))
        self._sightings[label] = _Sighting(block, now, advanced_at, vote)
        self._settle(now)

    def forget(self, label: str) -> None:
        """Withdraw the endpoint's reports, which were of another chain; the head is the others'."""
        for kept in (self._empty, self._claims, self._dated_at):
            kept.pop(label, None)
        if self._sightings.pop(label, None) is None:
            return
        self._head, self._is_firm, self._disputed_since, self._anchor = None, False, None, None
        self._settle(self._clock())

    def head(self) -> int | None:
        """Return the chain's head, None before any report."""
        if self._disputed_since is not None:
            self._settle(self._clock())
        return self._head

    def of(self, label: str) -> int | None:
        """Return the newest block that the endpoint reported, also if it only claimed it; None if it reported none."""
        sighting = self._claims.get(label) or self._sightings.get(label)
        return None if sighting is None else sighting.block

    def age(self, label: str) -> float | None:
        """Return the seconds since the endpoint's last report, None if it made none."""
        sighting = self._claims.get(label) or self._sightings.get(label)
        return None if sighting is None else self._clock() - sighting.seen_at

    def look_age(self, label: str) -> float | None:
        """Return the seconds since the endpoint reported a head that can move the chain's, None if never."""
        if not self._needs_times:
            return self.age(label)
        dated_at = self._dated_at.get(label)
        return None if dated_at is None else self._clock() - dated_at

    def is_lagging(self, label: str) -> bool:
        """Return whether the endpoint is behind the head by more than a few seconds, by recent reports."""
        if self._is_empty(label):
            return True
        sighting = self._sightings.get(label)
        if sighting is None or self._head is None:
            return False
        reach = self._reach(sighting)
        return reach is not None and self._head - reach > self._tolerance

    def is_ahead(self, label: str) -> bool:
        """Return whether the endpoint reports a block that most of the others, by recent reports, cannot have reached.

        It takes three endpoints to find the wrong one; one that claims what it has not proved is ahead of any.
        """
        if self._claims and self.is_claimed(label):
            return True
        sighting = self._sightings.get(label)
        # What is near the head that the majority reached is not invented; this is the usual case, and cheap.
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
        """Return whether the endpoint lags behind the others or reports a block that they cannot have reached."""
        sighting = self._sightings.get(label)
        if sighting is not None and sighting.block == self._head and not self._claims and not self._empty:
            return False
        return self.is_lagging(label) or self.is_ahead(label)

    @property
    def is_agreed(self) -> bool:
        """Whether a strict majority of the healthy endpoints, by recent reports, is about as far as the head."""
        if self._head is None:
            return False
        healthy = self._electorate()
        return sum(self._is_in_step(label, self._head) for label in healthy) * 2 > len(healthy)

    def is_unreported(self, label: str) -> bool:
        """Return whether the endpoint has no recent report, while most others agree on the head."""
        sighting = self._sightings.get(label)
        return (sighting is None or self._reach(sighting) is None) and self.is_agreed

    def is_near(self, block: int, blocks: int) -> bool:
        """Return whether `block` exists by one endpoint's recent report, and is at most `blocks` below that."""
        now = self._clock()
        return any(
            0 <= sighting.block - block <= blocks and now - sighting.seen_at <= self._fresh
            for sighting in self._sightings.values()
        )

    def is_behind(self, label: str, block: int) -> bool:
        """Return whether the endpoint is known not to have `block` yet.

        An endpoint that keeps pace is credited with the blocks of the time since its report.
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
        """Return whether the endpoint reported block 0 lately, of a chain that was further."""
        empty_at = self._empty.get(label)
        return empty_at is not None and self._head is not None and self._clock() - empty_at <= self._fresh

    def _is_in_step(self, label: str, head: int) -> bool:
        sighting = self._sightings.get(label)
        reach = None if sighting is None else self._reach(sighting)
        if sighting is None or reach is None:
            return False
        return head - reach <= self._tolerance and sighting.block - head <= self._tolerance

    def _reach(self, sighting: _Sighting) -> int | None:
        """Return the block that the endpoint may have by now; None if its report is too old."""
        elapsed = self._clock() - sighting.seen_at
        if elapsed > self._fresh:
            return None
        return sighting.block + int(_PACE_FACTOR * elapsed / self._block_time)

    def _settle(self, now: float) -> None:
        voters = self._voters(now)
        if not voters:
            return
        blocks = sorted((self._sightings[label].vote for label in voters), reverse=True)
        candidate = blocks[len(blocks) // 2]
        healthy = len(self._electorate())
        is_majority = len(voters) * 2 > healthy
        if self._head is None or (not self._is_firm and (is_majority or candidate > self._head)):
            self._believe(candidate, now)
            # One that lags and one that does not are a majority of three, and yet decide nothing: the third one will.
            self._is_firm = is_majority and (len(voters) >= healthy or self.is_agreed)
            return
        if candidate == self._head:
            self._disputed_since = None
        elif candidate > self._head and (self.growth is not None or self._is_small(candidate - self._head, now)):
            self._believe(candidate, now)
        elif self._disputed_since is None:
            self._disputed_since = now
        elif now - self._disputed_since >= self._lasting:
            self._believe(candidate, now)

    def _believe(self, block: int, now: float) -> None:
        self._head = block
        self._head_at = now
        self._disputed_since = None

    def _is_small(self, blocks: int, now: float) -> bool:
        return blocks <= _JUMP_BLOCKS + _JUMP_FACTOR * (now - self._head_at) / self._block_time

    def _electorate(self) -> list[str]:
        """Return the endpoints whose reports count."""
        return [label for label in self._labels if self._is_healthy(label) and not self.is_claimed(label)]

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
