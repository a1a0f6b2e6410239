"""On-chain price feeds, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = Path(__file__).with_name("natives.toml")

UNKNOWN_HEARTBEAT = 25 * 3600
"""What counts as the heartbeat of a feed that states none, in seconds (decisions section 4.2)."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A contract that tells a price, or (kind `sequencer`) whether a chain's sequencer runs.

    `kind` says how it is asked; `id` is Pyth's, `asset` the one asked of a lending market's oracle.
    """

    kind: str
    chain: str
    address: str
    id: str = ""
    asset: str = ""
    heartbeat: int = UNKNOWN_HEARTBEAT


@dataclass(frozen=True, slots=True)
class NativeFeeds:
    """The feeds of native coins by symbol, best first, and the sequencer feed of each chain that has one."""

    by_symbol: Mapping[str, tuple[Feed, ...]]
    sequencers: Mapping[str, Feed]


@cache
def load_native_feeds() -> NativeFeeds:
    """Return the table natives.toml."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return NativeFeeds(
        by_symbol={symbol: tuple(Feed(**row) for row in rows) for symbol, rows in table["natives"].items()},
        sequencers={chain: Feed("sequencer", chain, address) for chain, address in table["sequencers"].items()},
    )
