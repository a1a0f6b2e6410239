"""`[sources.<name>]` and `[prices]`: what is read besides chains, and what is kept of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from runtime.config_errors import Refusal
from runtime.settings.endpoints import RemoteSettings  # noqa: TC001 - pydantic evaluates the annotations
from runtime.settings.secrets import Section
from runtime.settings.values import Duration, JsonOrTable

SOURCES = (
    "defillama",
    "coingecko",
    "frankfurter",
    "jupiter",
    "hyperliquid",
    "dydx",
    "morpho",
    "pendle",
    "beefy",
    "kong",
)
"""The off-chain sources that can be configured."""


class SourceSettings(Section):
    """What the configuration says about one off-chain source; its endpoints replace the built-in public ones."""

    endpoints: Annotated[tuple[RemoteSettings, ...], JsonOrTable] = Field(
        description="The endpoints to ask, in the order of preference, as for chains but without `kind`. They replace "
        "the built-in ones; an empty list switches the source off."
    )
    coins: Annotated[dict[str, str], JsonOrTable] = Field(
        default_factory=dict,
        description="Ids that coins have there, by token symbol, besides the built-in ones or instead of them, for "
        'example `{ SSS = "some-coin" }`. For sources of prices.',
    )

    @model_validator(mode="after")
    def _check_labels(self) -> SourceSettings:
        seen: set[str] = set()
        for position, endpoint in enumerate(self.endpoints):
            if endpoint.label in seen:
                fix = "two endpoints of the source have this label: give each its own"
                raise Refusal(fix, member=f"endpoints[{position}].label", value=f'"{endpoint.label}"')
            seen.add(endpoint.label)
        return self

    @model_validator(mode="after")
    def _check_coins(self) -> SourceSettings:
        for symbol, coin in self.coins.items():
            if not coin or not coin.isascii() or not coin.isprintable() or set(coin) & set(", /?#"):
                fix = "give the id that the coin has at the source, without spaces, commas and slashes"
                raise Refusal(fix, member=f"coins.{symbol}", value=f'"{coin}"')
        return self


class PricesSettings(Section):
    """Prices of tokens."""

    collect_every: Duration | None = Field(
        default=None,
        ge=0,
        le=24 * 3600,
        description="How often every price is noted in the database, from which getPriceHistory answers; 0 switches "
        "that off. Unset means every five minutes, and on the devnet never. Of several gateways on one database one "
        "collects.",
    )
    keep: Duration = Field(
        default=48 * 3600.0,
        ge=3600,
        le=30 * 24 * 3600,
        description="How long single observations stay in the database. Highest prices of whole days stay 400 days.",
    )
