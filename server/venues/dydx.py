"""Funding at dYdX (venue-b): `GET /v4/perpetualMarkets` of its indexer, all markets in one answer.

Source: dydxprotocol/v4-chain (release/indexer/v9.x) indexer/services/comlink/public/swagger.json: markets by ticker,
`nextFundingRate` is the rate of one hour as a fraction. When it is paid stands nowhere: at each full hour.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from server.apis.documents import DocumentRequest, fetch_if_changed
from server.apis.endpoints import AGENT, WholeApiErrors, changed_shape, read_shape
from server.venues.rates import (
    ANSWER_SECONDS,
    LIFETIME,
    STALE_FOR,
    FundingRate,
    annualize,
    in_order,
    read_name,
    read_rate,
)

if TYPE_CHECKING:
    from server.apis.documents import Fetched
    from server.apis.sources import Sources
    from server.upstream import RestPool

NAME = "dydx"

RATES = DocumentRequest(NAME)
"""The rates of all active markets: a tuple of `FundingRate`, largest absolute annualised rate first."""

_PATH = "/v4/perpetualMarkets"
_ACTIVE = "ACTIVE"
_MARKETS = "$.markets"


class _Market(msgspec.Struct, rename="camel"):
    ticker: str
    status: str
    next_funding_rate: str | None


class _Markets(msgspec.Struct):
    markets: dict[str, _Market]


class Dydx:
    """See `DocumentSource`."""

    lifetime = LIFETIME
    stale_for = STALE_FOR
    is_refreshed = True

    def __init__(self, pool: RestPool) -> None:
        self._pool = pool

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return the rates of all active markets; see `DocumentSource`."""
        deadline = time.monotonic() + ANSWER_SECONDS
        return await fetch_if_changed(
            lambda known: self._pool.get(_PATH, (), AGENT, name=_PATH, validators=known, deadline=deadline),
            read_rates,
            previous,
        )


def open_dydx(sources: Sources) -> Dydx:
    """Return the venue as the settings configure it."""
    return Dydx(sources.open(NAME, WholeApiErrors(NAME)))


def read_rates(body: bytes) -> tuple[FundingRate, ...]:
    """Return the rates of the active markets; a market of any other status is none.

    Raises:
        UpstreamUnavailable: the answer has another shape; the text names the member.
    """
    rates = []
    for place, (key, market) in enumerate(read_shape(body, _Markets, NAME).markets.items()):
        # Keys are the venue's text: they are named by their places.
        row = f"{_MARKETS}[{place}]"
        if market.ticker != key:
            raise changed_shape(NAME, f"`{row}.ticker` is not that of its market")
        if market.status != _ACTIVE:
            continue
        name = read_name(market.ticker, NAME, f"{row}.ticker")
        rate, number = read_rate(market.next_funding_rate, NAME, f"{row}.nextFundingRate")
        rates.append(FundingRate(name, rate, annualize(number)))
    return in_order(rates, NAME, _MARKETS)
