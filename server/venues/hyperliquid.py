"""Funding at Hyperliquid (venue-a): `POST /info` with `metaAndAssetCtxs`, all coins in one answer.

Source: hyperliquid-dex/hyperliquid-python-sdk api/info/assetctxs.yaml; @nktkas/hyperliquid 0.33.3 (types): two lists
that pair by their places, figures as text, rates of one hour as fractions, open interest in coins.
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
    read_amount,
    read_name,
    read_rate,
)

if TYPE_CHECKING:
    from server.apis.documents import Fetched
    from server.apis.sources import Sources
    from server.upstream import RestPool

NAME = "hyperliquid"

RATES = DocumentRequest(NAME)
"""The rates of all coins that are traded: a tuple of `FundingRate`, largest absolute annualised rate first."""

_PATH = "/info"
_BODY = b'{"type":"metaAndAssetCtxs"}'
_COINS, _CONTEXTS = "$[0].universe", "$[1]"


class _Coin(msgspec.Struct, rename="camel"):
    name: str
    is_delisted: bool = False


class _Coins(msgspec.Struct):
    universe: list[_Coin]


class _Context(msgspec.Struct, rename="camel"):
    funding: str | None
    mark_px: str | None
    open_interest: str | None


class Hyperliquid:
    """See `DocumentSource`."""

    lifetime = LIFETIME
    stale_for = STALE_FOR
    is_refreshed = True

    def __init__(self, pool: RestPool) -> None:
        self._pool = pool

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return the rates of all coins; see `DocumentSource`."""
        deadline = time.monotonic() + ANSWER_SECONDS
        return await fetch_if_changed(
            lambda known: self._pool.post(_PATH, _BODY, AGENT, name=_PATH, validators=known, deadline=deadline),
            read_rates,
            previous,
        )


def open_hyperliquid(sources: Sources) -> Hyperliquid:
    """Return the venue as the settings configure it."""
    return Hyperliquid(sources.open(NAME, WholeApiErrors(NAME)))


def read_rates(body: bytes) -> tuple[FundingRate, ...]:
    """Return the rates of the coins that are traded.

    Raises:
        UpstreamUnavailable: the answer has another shape; the text names the member.
    """
    coins, contexts = read_shape(body, tuple[_Coins, list[_Context]], NAME)
    if len(coins.universe) != len(contexts):
        raise changed_shape(NAME, f"`{_COINS}` and `{_CONTEXTS}` are not equally long")
    rates = []
    for place, (coin, context) in enumerate(zip(coins.universe, contexts, strict=True)):
        if coin.is_delisted:
            continue
        row = f"{_CONTEXTS}[{place}]"
        rate, number = read_rate(context.funding, NAME, f"{row}.funding")
        rates.append(
            FundingRate(
                read_name(coin.name, NAME, f"{_COINS}[{place}].name"),
                rate,
                annualize(number),
                read_amount(context.mark_px, NAME, f"{row}.markPx"),
                read_amount(context.open_interest, NAME, f"{row}.openInterest"),
            )
        )
    return in_order(rates, NAME, _COINS)
