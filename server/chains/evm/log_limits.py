"""What a node's refusal of `eth_getLogs` says about the ranges that it would answer (log_limits.toml)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from server.errors import RangeAdvice

if TYPE_CHECKING:
    from server.errors import RangeHint

_TABLE = Path(__file__).with_name("log_limits.toml")
_THOUSAND = 1000
_MOST_BLOCKS = 1 << 40


@cache
def _patterns() -> tuple[tuple[RangeHint, re.Pattern[str]], ...]:
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["limits"]
    return tuple((row["hint"], re.compile(row["pattern"])) for row in rows)


def read_limit(message: str) -> RangeAdvice | None:
    """Return what a node's refusal says about the ranges that it would answer; None where no pattern fits."""
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
