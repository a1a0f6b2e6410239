"""Where prices are told, as data: contracts on chains."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = Path(__file__).with_name("symbols.toml")

UNKNOWN_HEARTBEAT = 25 * 3600
"""What counts as the heartbeat of a feed that states none, in seconds (decisions section 4.2)."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A contract that tells a price, or (kind `sequencer`) whether a chain's sequencer runs.

    `kind` says how it is asked; `id` is Pyth's, `asset` the one asked of a lending market's oracle. `publisher` is who
    tells it (the kind where nothing else is said). With `times` it tells an exchange rate to that symbol.
    """

    kind: str
    chain: str
    address: str
    id: str = ""
    asset: str = ""
    heartbeat: int = UNKNOWN_HEARTBEAT
    publisher: str = ""
    times: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The feeds by symbol, each publisher's best first, and the sequencer feed of each chain that has one."""

    feeds: Mapping[str, tuple[Feed, ...]]
    sequencers: Mapping[str, Feed]


@cache
def load_price_table() -> PriceTable:
    """Return the table symbols.toml."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return PriceTable(
        feeds={
            symbol: tuple(_feed(feed, table["pyth"]) for feed in row["feeds"])
            for symbol, row in table["symbols"].items()
        },
        sequencers={chain: Feed("sequencer", chain, address) for chain, address in table["sequencers"].items()},
    )


def _feed(row: dict[str, Any], pyth: Mapping[str, str]) -> Feed:
    whole = {"address": pyth[row["chain"]]} | row if row["kind"] == "pyth" else row
    return Feed(**{"publisher": row["kind"]} | whole)
