"""What a node's refusal of `eth_getLogs` says about the ranges that it would answer (log_limits.toml)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = Path(__file__).with_name("log_limits.toml")
_HINT, _BLOCKS = "rangeHint", "maxBlocks"
_THOUSAND = 1000
_MOST_BLOCKS = 1 << 40


class Advice(NamedTuple):
    """How many blocks to ask for next, as the refusal says: `blocks` None where it names no number.

    `is_lasting` tells a limit of the node (so many blocks, whatever is in them) from one of this answer's size.
    """

    blocks: int | None
    is_lasting: bool


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["limits"]
    return tuple((row["hint"], re.compile(row["pattern"])) for row in rows)


def read_limit(message: str) -> dict[str, str]:
    """Return the hint of a node's message as error metadata; empty where no pattern knows it.

    `rangeHint` is the kind of hint, `maxBlocks` the number of blocks that it amounts to.
    """
    text = message.lower()
    for hint, pattern in _patterns():
        match = pattern.search(text)
        if match is None:
            continue
        blocks = _blocks(hint, match)
        metadata = {_HINT: hint}
        if blocks is not None:
            metadata[_BLOCKS] = str(blocks)
        return metadata
    return {}


def advice_of(metadata: Mapping[str, str]) -> Advice:
    """Return the advice in the metadata of a refusal."""
    blocks = metadata.get(_BLOCKS)
    is_lasting = metadata.get(_HINT, "blocks") == "blocks"
    return Advice(None if blocks is None else int(blocks), is_lasting)


def _blocks(hint: str, match: re.Match[str]) -> int | None:
    if hint == "window":
        base = 16 if match["from"].startswith("0x") else 10
        blocks = int(match["to"], base) - int(match["from"], base) + 1
    elif hint == "blocks":
        digits = match["blocks"].replace(",", "")
        blocks = int(digits[:-1]) * _THOUSAND if digits.endswith("k") else int(digits)
    else:
        return None
    return blocks if 0 < blocks <= _MOST_BLOCKS else None
