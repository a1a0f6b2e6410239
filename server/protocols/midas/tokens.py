"""The tokens of tokenized-a by the names that callers use, and where each is priced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from server.errors import PriceUnavailable
from server.protocols.deployments import load_deployments
from server.protocols.yields import unknown_pool

if TYPE_CHECKING:
    from collections.abc import Mapping

DOLLAR = "USD"


@dataclass(frozen=True, slots=True)
class Fund:
    """A row of deployments.toml, whose comments say what its members are."""

    key: str
    symbol: str
    token: str
    data_feed: str = ""
    custom_feed: str = ""
    denomination: str = DOLLAR
    like: str = ""
    sides: Mapping[str, str] | None = None


@cache
def load_funds(chain: str) -> dict[str, Fund]:
    """Return the tokens of a chain by key."""
    return {key: Fund(key, **row) for key, row in load_deployments("server.protocols.midas")[chain].items()}


def find_fund(chain: str, name: str) -> Fund:
    """Return the token of that key or symbol, in any case; NotFound names the nearest ones."""
    by_name = _by_name(chain)
    found = by_name.get(name.lower())
    if found is None:
        raise unknown_pool(name, dict.fromkeys(fund.symbol for fund in by_name.values()), of=f"tokenized-a on {chain}")
    return found


def priced_like(chain: str, fund: Fund) -> Fund:
    """Return the token whose feed prices this one, as a rule itself; PriceUnavailable where no feed does."""
    priced = load_funds(chain)[fund.like] if fund.like else fund
    if priced.data_feed or priced.custom_feed:
        return priced
    if priced.sides:
        raise PriceUnavailable(
            f"{fund.symbol} has one price for deposits and another for redemptions, no single one; the data feeds are "
            + " and ".join(f"{feed} ({side})" for side, feed in priced.sides.items())
        )
    raise PriceUnavailable(f"{fund.symbol} has no feed on {chain}, so no price is known")


@cache
def _by_name(chain: str) -> dict[str, Fund]:
    funds = load_funds(chain)
    symbols = {fund.symbol.lower(): fund for fund in funds.values()}
    return symbols | {key.lower(): fund for key, fund in funds.items()}
