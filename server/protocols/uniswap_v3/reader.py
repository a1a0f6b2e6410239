"""What a swap in one concentrated-liquidity pool would yield: that of the fee, or the best of the usual three.

The quoter answers as if everything had been sold where a pool runs dry: the price after the swap is the price limit
then, and the quote does not count. Source: Uniswap v3-core, TickMath (the limits), v3-periphery, QuoterV2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import quote_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.reverts import Revert, reverted
from server.contracts.words import decimal_text
from server.errors import NotFound
from server.protocols.plan import Group, More, Plan
from server.protocols.swaps import (
    NATIVE_DECIMALS,
    Pair,
    SoldTokenTables,
    alternatives,
    ask_decimals,
    not_enough,
    parse_amount,
    read_decimals,
    refuse_block,
    settle,
)
from server.protocols.tokens import ZERO, is_native

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import SwapQuestion, TokenPrices

_SLUG = "uniswap-v3"
_GET_POOL = Interface.load("server.protocols.uniswap_v3", "factory")["getPool"]
_QUOTE = Interface.load("server.protocols.uniswap_v3", "quoter")["quoteExactInputSingle"]

_FEES = (500, 3000, 10000)
# Measured up to 1.4 million for a very large amount (facts/protocol_reads_2, 2.3).
_QUOTE_GAS = 2_000_000
# The pool takes the amount as an int256.
_MOST = 2**255 - 1
# What a pool reverts with before it is initialised, and the quoter of one without liquidity.
_LOCKED = "LOK"
_DRY = "Unexpected error"
_LOWEST_PRICE = 4295128740
_HIGHEST_PRICE = 1461446703485210103287273052203988822378723970341


class _Quote(NamedTuple):
    amount_out: int
    gas: int
    fee: int


class QuoteReader(SoldTokenTables):
    """Quotes; tables are the decimals of the token to sell."""

    def plan(self, question: SwapQuestion, tables: int) -> Plan:
        """Return which pools exist, and what calls tokens, apart from all others: quotes, the decimals of the other."""
        factory, quoter = _find(question.chain, "factory"), _find(question.chain, "quoterV2")
        amount = parse_amount(question.amount, tables, _MOST)
        pair, fees = Pair.of(question), _fees(question)
        own: list[ContractCall] = [
            _QUOTE.call(quoter, (*pair, amount, fee, 0), gas=_QUOTE_GAS, is_optional=True) for fee in fees
        ]
        if not is_native(question.token_out):
            own.append(ask_decimals(question.token_out))
        pools = (_GET_POOL.call(factory, *pair, fee) for fee in fees)
        return Plan({"pools": Group(tuple(pools)), "quotes": Group(tuple(own), is_known=False)})

    def build(
        self, question: SwapQuestion, outcomes: Outcomes, tables: int, prices: TokenPrices
    ) -> quote_pb2.GetDexAV3QuoteResponse | More:
        """Return the largest quote.

        Raises:
            NotAToken: tokenOut is none.
            NotFound: there is no pool of the fees looked for.
            InvalidArgument: no pool takes the whole amount (field `amount`).
            Reverted: no pool can swap, as a token does not let itself be moved.
            NotSupported: the quoter is younger than the block.
        """
        fees = _fees(question)
        returned = outcomes["quotes"]
        if question.block is not None and returned[0].has_no_code:
            raise refuse_block(returned[0], outcomes.block_of("quotes"))
        decimals = read_decimals(returned[-1], "tokenOut") if len(returned) > len(fees) else NATIVE_DECIMALS
        pools = [one.read_one(_GET_POOL) for one in outcomes["pools"]]
        existing = [
            (fee, quote)
            for fee, pool, quote in zip(fees, pools, returned, strict=False)
            if pool != ZERO and not _is_locked(quote)
        ]
        if not existing:
            raise NotFound(
                f"dex-a version 3 has no initialised pool of {question.token_in} and {question.token_out} on "
                f"{question.chain} with a fee of {alternatives(fees)}"
            )
        settled = settle([quote for _, quote in existing], outcomes)
        if isinstance(settled, More):
            return settled
        quotes = [_read(question, fee, quote) for (fee, _), quote in zip(existing, settled, strict=True)]
        counting = [quote for quote in quotes if quote is not None]
        if not counting:
            refusing = [quote for quote in settled if quote.has_failed and Revert.of(quote.outcome).reason != _DRY]
            if len(refusing) == len(settled):
                # It is the token that refuses to be moved.
                raise reverted(refusing[0].outcome.data)
            which = "the pool" if len(existing) == 1 else "each pool"
            raise not_enough(
                f"{which} with a fee of {alternatives([fee for fee, _ in existing])} has not enough liquidity for it"
            )
        best = max(counting, key=lambda quote: quote.amount_out)
        return quote_pb2.GetDexAV3QuoteResponse(
            amount_in_raw=str(parse_amount(question.amount, tables, _MOST)),
            amount_out=decimal_text(best.amount_out, decimals),
            amount_out_raw=str(best.amount_out),
            fee=best.fee,
            gas_estimate=str(best.gas),
        )


def _is_locked(quote: Answered) -> bool:
    """Return whether the pool was made and not initialised: nothing can be swapped in it."""
    return quote.has_failed and Revert.of(quote.outcome).reason == _LOCKED


def _read(question: SwapQuestion, fee: int, returned: Answered) -> _Quote | None:
    """Return a pool's quote, None where the pool cannot take the whole amount."""
    if returned.has_failed:
        return None
    amount_out, price_after, _, gas = returned.read(_QUOTE)
    pair = Pair.of(question)
    # Selling the lower address pushes the price down.
    limit = _LOWEST_PRICE if pair.token_in.lower() < pair.token_out.lower() else _HIGHEST_PRICE
    return None if price_after == limit else _Quote(amount_out, gas, fee)


def _fees(question: SwapQuestion) -> tuple[int, ...]:
    return _FEES if question.fee is None else (question.fee,)


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
