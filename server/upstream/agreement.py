"""Whether the endpoints of a chain tell the same blocks.

Two nodes that tell different hashes of one block follow different forks, or one of them lies. Which one is right cannot
be known here, so nothing is decided by it: it is counted and logged by label, for people.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.upstream.observer import Observer

_log = structlog.get_logger("waypost.upstream")

_BLOCKS = 64
_QUIET_SECONDS = 60.0


class Agreement:
    """The hashes that one chain's endpoints told of its latest blocks.

    Hashes that were told further apart than `apart` seconds are not compared: the block may have been replaced in
    between, which is no disagreement.
    """

    def __init__(self, chain: str, observer: Observer, apart: float, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._observer = observer
        self._apart = apart
        self._clock = clock
        self._told: OrderedDict[int, dict[str, tuple[str, float]]] = OrderedDict()
        self._quiet_until: dict[str, float] = {}

    def observe(self, label: str, block: int, block_hash: str) -> None:
        """Take note of a block's hash as the endpoint tells it now."""
        self.compare(block, {label: block_hash})

    def compare(self, block: int, by_label: Mapping[str, str]) -> None:
        """Take note of a block's hash as several endpoints tell it now, and report those who differ from most."""
        now = self._clock()
        told = self._told.setdefault(block, {})
        told.update((label, (block_hash, now)) for label, block_hash in by_label.items())
        if len(self._told) > _BLOCKS:
            self._told.popitem(last=False)
        hashes = {other: told_hash for other, (told_hash, at) in told.items() if now - at <= self._apart}
        if len(set(hashes.values())) < 2:
            return
        counts = Counter(hashes.values())
        most = max(counts.values())
        common = [told_hash for told_hash, count in counts.items() if count == most]
        for other, told_hash in hashes.items():
            if len(common) > 1 or told_hash != common[0]:
                self._report(other, block, hashes, now)

    def _report(self, label: str, block: int, hashes: dict[str, str], now: float) -> None:
        self._observer.disagreed(self._chain, label, block)
        if now >= self._quiet_until.get(label, 0.0):
            self._quiet_until[label] = now + _QUIET_SECONDS
            _log.warning("endpoints disagree", chain=self._chain, endpoint=label, block=block, hashes=dict(hashes))
