"""Prices of tokens in US dollars and euros, out of independent sources (contract section 4.4)."""

from server.prices.factory import open_prices
from server.prices.history import PriceHistory, PricePoint
from server.prices.prices import Price, Prices, convert
from server.prices.source import EURO, Observation, PriceSource, Token

__all__ = [
    "EURO",
    "Observation",
    "Price",
    "PriceHistory",
    "PricePoint",
    "PriceSource",
    "Prices",
    "Token",
    "convert",
    "open_prices",
]
