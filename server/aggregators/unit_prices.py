"""Prices of one whole unit of a mint in another, out of quotes (contract section 4.14)."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from server.aggregators.jupiter import LARGEST_AMOUNT, Swap, check_mints
from server.errors import InvalidArgument, NotFound

if TYPE_CHECKING:
    from server.aggregators.jupiter import Jupiter
    from server.chains.capabilities.accounts import ReadsMints
    from server.chains.view import ReadView

# A raw amount of six digits gives a price of six significant ones.
_DIGITS = 6
_MOST_QUOTES = 4
_LARGEST_POWER = len(str(LARGEST_AMOUNT)) - 1


class UnitPrices:
    """Prices of whole units; `mints` reads decimals."""

    def __init__(self, quotes: Jupiter, mints: ReadsMints) -> None:
        self._quotes = quotes
        self._mints = mints

    async def read_price(self, input_mint: str, output_mint: str, view: ReadView) -> float:
        """Return how many whole units of the output one whole unit of the input yields, above zero.

        Where that is less than six digits of the output's smallest unit, more units are quoted, and the best price
        is answered: that of more units can only be the worse one for the amount.

        Raises:
            InvalidArgument: a mint is no address, both are one, or no pool takes one.
            NotAToken: an address holds no mint.
            NotFound: there is no route, or it yields nothing for any amount.
            UpstreamUnavailable: chain or source fail.
        """
        given = {"inputMint": input_mint, "outputMint": output_mint}
        mints = {field: self._mints.check_mint(text, field) for field, text in given.items()}
        sold, bought = mints.values()
        check_mints(sold, bought)
        found = await self._mints.read_decimals(mints, view)
        decimals, scale = found["inputMint"], found["outputMint"]
        most = _LARGEST_POWER - decimals
        power, best = min(0, most), Decimal(0)
        for _ in range(_MOST_QUOTES):
            swap = Swap(sold, bought, 10 ** (decimals + power))
            try:
                quote = await self._quotes.quote(swap, deadline=view.deadline, use=view.cache)
            except (NotFound, InvalidArgument):
                if not best:
                    raise
                # So much is too much for the pools; what less of it yields is known.
                break
            best = max(best, Decimal(quote.amount_out).scaleb(-scale - power))
            digits = len(str(quote.amount_out)) if quote.amount_out else 0
            if digits >= _DIGITS or power == most:
                break
            # What yields nothing yields six digits at most for a million times as much: no step is too long.
            power = min(most, power + _DIGITS - digits)
        price = float(best)
        if not 0 < price < math.inf:
            raise NotFound("every amount of inputMint yields less than the smallest unit of outputMint")
        return price
