"""How many blocks each endpoint answers in one `eth_getLogs`, learnt from its refusals and forgotten after a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from server.errors import ArchiveRequired, RangeTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from server.errors import GatewayError

CEILING = 100_000
"""No question asks for more blocks than this, whatever the endpoint."""

RELEARN_SECONDS = 600.0
"""How long a limit is believed: plans change, and one machine behind a label may be stricter than another."""


class Plan(NamedTuple):
    """Whom to ask first (None: whoever the pool chooses) and for how many blocks at most."""

    endpoint: str | None
    blocks: int


class Noted(NamedTuple):
    """The widest advice among refusals (None: none gave a number), and the endpoints that refused without a number."""

    blocks: int | None
    vague: set[str]


class LogRanges:
    """The limits of one chain's endpoints. `clock` in seconds."""

    def __init__(self, labels: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels = tuple(labels)
        self._clock = clock
        self._limits: dict[str, tuple[int, float]] = {}

    def limit(self, label: str) -> int | None:
        """Return the most blocks that the endpoint is known to answer, None where it never refused, or long ago."""
        known = self._limits.get(label)
        if known is None or known[1] <= self._clock():
            return None
        return known[0]

    def learn(self, label: str, blocks: int) -> None:
        """Remember for ten minutes that the endpoint answers no more blocks."""
        self._limits[label] = (max(blocks, 1), self._clock() + RELEARN_SECONDS)

    def plan(self) -> Plan:
        """Return the endpoint with the widest limit: while limits differ, asking the others would be a wasted call."""
        limits = {label: self.limit(label) for label in self._labels}
        if all(limit is None for limit in limits.values()):
            return Plan(None, CEILING)
        widest = max(self._labels, key=lambda label: CEILING if limits[label] is None else limits[label] or 0)
        return Plan(widest, min(limits[widest] or CEILING, CEILING))

    def note(self, refusals: Mapping[str, GatewayError]) -> Noted:
        """Learn the lasting limits that endpoints stated, and return what is left to find out."""
        widest: int | None = None
        vague: set[str] = set()
        for label, error in refusals.items():
            advice = error.advice if isinstance(error, RangeTooLarge) else None
            # A limit of the node, whatever is in the blocks, or one of this answer's size.
            is_lasting = advice is None or advice.hint == "blocks"
            if advice is not None and advice.blocks is not None:
                widest = max(advice.blocks, widest or 0)
                if is_lasting:
                    self.learn(label, advice.blocks)
            elif is_lasting and not isinstance(error, ArchiveRequired):
                vague.add(label)
        return Noted(widest, vague)
