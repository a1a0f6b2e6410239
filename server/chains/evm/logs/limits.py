"""How many blocks to ask for in one `eth_getLogs`: what refusals state, what endpoints answer, and how a page goes on.

A node's refusal names the range that it would answer in its own text (limits.toml); `LogRanges` keeps the limits of
a chain's endpoints for a while, `Pace` is the span of one page's next request.
"""

from __future__ import annotations

import re
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from server.errors import ArchiveRequired, RangeAdvice, RangeTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from server.errors import GatewayError, RangeHint

CEILING = 100_000
"""No request asks for more blocks than this, whatever the endpoint."""

RELEARN_SECONDS = 600.0
"""How long a limit is kept: plans change, and one machine behind a label may be stricter than another."""

_TABLE = Path(__file__).with_name("limits.toml")
_THOUSAND = 1000
_MOST_BLOCKS = 1 << 40

_GROWTH = 8
_SLACK = 1.2
_WIDEST = 4


@cache
def _patterns() -> tuple[tuple[RangeHint, re.Pattern[str]], ...]:
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["limits"]
    return tuple((row["hint"], re.compile(row["pattern"])) for row in rows)


def read_limit(message: str) -> RangeAdvice | None:
    """Return what a node's refusal states about the ranges that it would answer; None where no pattern matches."""
    text = message.lower()
    for hint, pattern in _patterns():
        match = pattern.search(text)
        if match is not None:
            return RangeAdvice(hint, _blocks(hint, match))
    return None


def _blocks(hint: RangeHint, match: re.Match[str]) -> int | None:
    if hint == "window":
        base = 16 if match["from"].startswith("0x") else 10
        blocks = int(match["to"], base) - int(match["from"], base) + 1
    elif hint == "blocks":
        digits = match["blocks"].replace(",", "")
        blocks = int(digits[:-1]) * _THOUSAND if digits.endswith("k") else int(digits)
    else:
        return None
    return blocks if 0 < blocks <= _MOST_BLOCKS else None


class Plan(NamedTuple):
    """The endpoint to ask first (None: the pool's choice) and for how many blocks at most."""

    endpoint: str | None
    blocks: int


class Noted(NamedTuple):
    """The widest advice among refusals (None: none gave a number), and the endpoints that refused without a number."""

    blocks: int | None
    vague: set[str]


class LogRanges:
    """The limits of one chain's endpoints, which `labels` returns as they are now. `clock` in seconds."""

    def __init__(self, labels: Callable[[], Sequence[str]], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels = labels
        self._clock = clock
        self._limits: dict[str, tuple[int, float]] = {}

    def limit(self, label: str) -> int | None:
        """Return the most blocks that the endpoint is known to answer, None where it never refused, or long ago."""
        known = self._limits.get(label)
        if known is None or known[1] <= self._clock():
            return None
        return known[0]

    def learn(self, label: str, blocks: int) -> None:
        """Keep for ten minutes that the endpoint answers no more blocks."""
        self._limits[label] = (max(blocks, 1), self._clock() + RELEARN_SECONDS)

    def plan(self) -> Plan:
        """Return the endpoint with the widest limit: while limits differ, asking the others would waste a call."""
        labels = self._labels()
        limits = {label: self.limit(label) for label in labels}
        if all(limit is None for limit in limits.values()):
            return Plan(None, CEILING)
        widest = max(labels, key=lambda label: CEILING if limits[label] is None else limits[label] or 0)
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


class Pace:
    """The span of the next request in blocks, and how many requests may go out at once.

    It begins with `span`, grows by what the blocks held so far, and never exceeds `most`. Several requests go out at
    once only when the span can grow no further and the blocks are thin.
    """

    def __init__(self, span: int, most: int, limit: int) -> None:
        self.most = max(most, 1)
        self.span = min(max(span, 1), self.most)
        self.width = 1
        self._limit = limit

    def found(self, blocks: int, logs: int, missing: int) -> None:
        """Note that `blocks` blocks held `logs` logs; `missing` more fill the page."""
        wanted = blocks * _GROWTH if logs == 0 else int(blocks * missing * _SLACK / logs) + 1
        self.span = max(1, min(wanted, max(self.span, blocks) * _GROWTH, self.most))
        is_thin = logs * self.width * 2 <= missing
        if not is_thin:
            self.width = 1
        elif self.span == self.most:
            self.width = min(self.width * 2, _WIDEST)

    def refused(self, blocks: int, advised: int | None) -> bool:
        """Note that a request for `blocks` blocks was refused; return False if there is nothing smaller to ask.

        `advised` is what the refusal names; without it, or where it would not be less, half is tried. The
        page asks for no more than that afterwards.
        """
        if blocks <= 1:
            return False
        smaller = advised if advised is not None and advised < blocks else blocks // 2
        self.span = max(1, min(smaller, blocks - 1))
        self.most = self.span
        self.width = 1
        return True
