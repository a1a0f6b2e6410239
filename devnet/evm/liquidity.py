"""Prices, ticks and amounts of concentrated liquidity, for setting up pools: integers out of exact decimals."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from math import isqrt
from typing import NamedTuple

from devnet.evm.world import Chain
from devnet.known_exchanges import NATIVE, PRICES, WRAPPED, Range

NATIVE_COIN = "0x" + "00" * 20
_EXACT = Context(prec=80)
_STEP = Decimal("1.0001")  # a price is this to the power of its tick
_LAST_TICK = 887_272
_Q96 = 1 << 96
_MARGIN = Decimal("1.000001")  # pools round prices at ticks and amounts upwards


class Currency(NamedTuple):
    """One side of a pool: its address (zeros for the native coin), decimals and price in dollars."""

    address: str
    decimals: int
    price: Decimal

    def amount(self, dollars: int) -> int:
        """Return the raw amount that is worth so many dollars, rounded down."""
        with localcontext(_EXACT):
            return int((dollars / self.price).scaleb(self.decimals).to_integral_value(ROUND_FLOOR))


class Deposit(NamedTuple):
    """What a position needs: its ticks, its liquidity, and the most of either side that this takes."""

    lower: int
    upper: int
    liquidity: int
    amounts: tuple[int, int]


def currency(chain: Chain, symbol: str) -> Currency:
    """Return a chain's currency by symbol. Raises KeyError for one without a token or without a price."""
    if symbol == NATIVE:
        return Currency(NATIVE_COIN, 18, Decimal(PRICES[chain.native]))
    token = chain.wrapped_native if symbol == WRAPPED else chain.token(symbol)
    price = PRICES[chain.native if token == chain.wrapped_native else symbol]
    return Currency(token.address, token.decimals, Decimal(price))


def in_order(chain: Chain, base: str, quote: str) -> tuple[Currency, Currency]:
    """Return two currencies in the order of their addresses, as pools keep them."""
    first, second = sorted((currency(chain, base), currency(chain, quote)), key=lambda one: int(one.address, 16))
    return first, second


def root_price(first: Currency, second: Currency) -> int:
    """Return the square root of the price of the first in the second, in raw units, times 2 to the power of 96."""
    with localcontext(_EXACT):
        ratio = (first.price / second.price).scaleb(second.decimals - first.decimals)
        return int((ratio.sqrt() * _Q96).to_integral_value(ROUND_FLOOR))


def deposit(first: Currency, second: Currency, spacing: int, wanted: Range) -> Deposit:
    """Return what a position of that depth around the price needs."""
    liquidity = isqrt(first.amount(wanted.dollars) * second.amount(wanted.dollars))
    with localcontext(_EXACT):
        root = Decimal(root_price(first, second)) / _Q96
        if wanted.spacings is None:
            upper = _LAST_TICK // spacing * spacing
            lower = -upper
        else:
            tick = int((2 * root.ln() / _STEP.ln()).to_integral_value(ROUND_FLOOR))
            lower = (tick // spacing - wanted.spacings) * spacing
            upper = (tick // spacing + wanted.spacings) * spacing
        low, high = ((_STEP.ln() * edge / 2).exp() for edge in (lower, upper))
        amounts = (liquidity / root - liquidity / high, liquidity * (root - low))
        of_first, of_second = (int((amount * _MARGIN).to_integral_value(ROUND_CEILING)) for amount in amounts)
    return Deposit(lower, upper, liquidity, (of_first, of_second))
