"""Where prices are published, as data: contracts on chains."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.catalog.protocols import load_address_book

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = Path(__file__).with_name("data") / "feeds.toml"

UNKNOWN_HEARTBEAT = 24 * 3600
"""What counts as the heartbeat of a feed that states none, in seconds."""

LATE_SECONDS = 3600
"""By how much a promised report may be late and the one before it still count.

Where the heartbeat is unknown, a report is live for 25 hours by that (decisions section 4.2).
"""

CATCHING_UP_SECONDS = 3600.0
"""When a stopped sequencer runs again, its chain's feeds are older than they look until publishers have caught up.

Source: Chainlink, L2 Sequencer Uptime Feeds (grace period).
"""


@dataclass(frozen=True, slots=True)
class Feed:
    """A contract that reports a price, or (kind `sequencer`) whether a chain's sequencer runs.

    `kind` states how it is read; `id` is Pyth's, `asset` the one read from a lending market's oracle. After `lifetime`
    seconds a report is not live. `publisher` is its source (the kind where nothing else is given). With `times` it
    reports an exchange rate to that symbol.
    """

    kind: str
    chain: str
    address: str
    id: str = ""
    asset: str = ""
    lifetime: int = UNKNOWN_HEARTBEAT + LATE_SECONDS
    publisher: str = ""
    times: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The feeds by symbol, each publisher's best first, and the sequencer feed of each chain that has one."""

    feeds: Mapping[str, tuple[Feed, ...]]
    sequencers: Mapping[str, Feed]


@cache
def load_price_table() -> PriceTable:
    """Return the table data/feeds.toml."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    markets = load_address_book().find_protocol("aave-v3").contracts
    # One contract by chain for all feeds of a kind.
    shared = {
        "pyth": table["pyth"],
        "lending_oracle": {chain: contracts["oracle"].address for chain, contracts in markets.items()},
    }
    return PriceTable(
        feeds={
            symbol: tuple(_feed(feed, shared, table["unpromised"]) for feed in row["feeds"])
            for symbol, row in table["symbols"].items()
        },
        sequencers={chain: Feed("sequencer", chain, address) for chain, address in table["sequencers"].items()},
    )


def _feed(row: dict[str, Any], shared: Mapping[str, Mapping[str, str]], unpromised: Mapping[str, int]) -> Feed:
    at = shared.get(row["kind"])
    whole = dict(row) if at is None else {"address": at[row["chain"]]} | row
    promised = whole.pop("heartbeat", UNKNOWN_HEARTBEAT) + LATE_SECONDS
    return Feed(**{"publisher": row["kind"], "lifetime": unpromised.get(row["kind"], promised)} | whole)
