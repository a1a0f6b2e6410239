"""Pools without hooks of dex-a V4, and what a swap in one of them would yield."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import quote_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.keccak import keccak
from server.contracts.types import encoder
from server.contracts.words import decimal_text
from server.errors import InvalidArgument, NotFound
from server.protocols.plan import ContractUnreadable, Group, More, Plan
from server.protocols.swaps import (
    NATIVE_DECIMALS,
    SoldTokenTables,
    ask_decimals,
    not_enough,
    parse_amount,
    read_decimals,
    refuse_block,
    settle,
)
from server.protocols.tokens import ZERO, is_native, wrapped_native

if TYPE_CHECKING:
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import SwapQuestion, TokenPrices


DEFAULT_FEE = 3000
DEFAULT_SPACING = 60

_KEY = encoder("address", "address", "uint24", "int24", "address")
_USUAL_SPACINGS = {100: 1, 500: 10, 3000: 60, 10000: 200}


class Pool(NamedTuple):
    """A pool and the direction of the swap; the zero address is the native coin."""

    currency_in: str
    currency_out: str
    fee: int
    spacing: int

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """The pool's key: currencies in the order of their numbers, no hooks."""
        low, high = sorted((self.currency_in, self.currency_out), key=str.lower)
        return low, high, self.fee, self.spacing, ZERO

    @property
    def id(self) -> bytes:
        """The Keccak-256 hash of the encoded key. Source: Uniswap v4-core, PoolIdLibrary."""
        return keccak(_KEY(self.key))

    @property
    def sells_lower(self) -> bool:
        """Whether the swap sells the currency of the lower number."""
        return self.key[0] == self.currency_in


def candidates(question: SwapQuestion) -> list[Pool]:
    """Return the pools that a question may mean: the literal one, and the native coin's beside that of its wrapper.

    Raises:
        InvalidArgument: both currencies are the native coin, or one token (field `tokenOut`).
    """
    fee = DEFAULT_FEE if question.fee is None else question.fee
    spacing = DEFAULT_SPACING if question.tick_spacing is None else question.tick_spacing
    sell, buy = (ZERO if is_native(one) else one for one in (question.token_in, question.token_out))
    if sell == buy:
        raise InvalidArgument("tokenOut: a swap needs two tokens; this is what tokenIn is", field="tokenOut")
    pools = [Pool(sell, buy, fee, spacing)]
    wrapped = wrapped_native(question.chain)
    if ZERO not in (sell, buy) and wrapped in (sell, buy):
        native = [ZERO if one == wrapped else one for one in (sell, buy)]
        pools.append(Pool(native[0], native[1], fee, spacing))
    return pools


def advise_spacing(fee: int, spacing: int) -> str:
    """Return what to try where a fee is usual and the spacing is not the one that goes with it; else ""."""
    usual = _USUAL_SPACINGS.get(fee)
    return "" if usual in (None, spacing) else f"; pools of that fee usually have tickSpacing {usual}"


# The quoter computes inside of the pool manager and moves no token. Source: Uniswap v4-periphery, V4Quoter.

_SLUG = "uniswap-v4"
_QUOTER = Interface.load("server.protocols.uniswap_v4", "quoter")
_QUOTE = _QUOTER["quoteExactInputSingle"]
_SLOT = Interface.load("server.protocols.uniswap_v4", "state_view")["getSlot0"]
_ERRORS = {error.name: error for error in _QUOTER.errors.values()}

# Measured 60,000, and 212,000 for a very large amount (facts/protocol_reads_2, 2.3).
_QUOTE_GAS = 1_000_000
# Amounts become int128 inside.
_MOST = 2**127 - 1


class _Quote(NamedTuple):
    pool: Pool
    amount_out: int
    gas: int


class QuoteReader(SoldTokenTables):
    """Quotes; tables are the decimals of the token to sell."""

    def check(self, question: SwapQuestion) -> None:
        """Refuse a swap of one currency; InvalidArgument."""
        candidates(question)

    def plan(self, question: SwapQuestion, tables: int) -> Plan:
        """Return state and quote of each pool that is meant, and the other token's decimals, apart from all others."""
        view, quoter = _find(question.chain, "stateView"), _find(question.chain, "quoter")
        amount = parse_amount(question.amount, tables, _MOST)
        pools = candidates(question)
        # Apart from all others: what they touch would change the estimate of gas.
        own = [
            _QUOTE.call(quoter, (pool.key, pool.sells_lower, amount, b""), gas=_QUOTE_GAS, is_optional=True)
            for pool in pools
        ]
        if pools[0].currency_out != ZERO:
            own.append(ask_decimals(question.token_out))
        return Plan(
            {
                "pools": Group(tuple(_SLOT.call(view, pool.id) for pool in pools)),
                "quotes": Group(tuple(own), is_known=False),
            }
        )

    def build(
        self, question: SwapQuestion, outcomes: Outcomes, tables: int, prices: TokenPrices
    ) -> quote_pb2.GetDexAV4QuoteResponse | More:
        """Return the larger quote, naming its pool.

        Raises:
            NotAToken: tokenOut is none.
            NotFound: there is no such pool; names the usual tick spacing of the fee.
            InvalidArgument: no pool takes the whole amount (field `amount`).
            NotSupported: the quoter is younger than the block.
        """
        returned = outcomes["quotes"]
        if question.block is not None and returned[0].has_no_code:
            raise refuse_block(returned[0], outcomes.block_of("quotes"))
        pools = candidates(question)
        decimals = read_decimals(returned[-1], "tokenOut") if len(returned) > len(pools) else NATIVE_DECIMALS
        existing = [
            (pool, quote)
            for pool, state, quote in zip(pools, outcomes["pools"], returned, strict=False)
            if state.read(_SLOT)[0]
        ]
        if not existing:
            looked = " or ".join(f"{pool.currency_in} to {pool.currency_out}" for pool in pools)
            raise NotFound(
                f"dex-a version 4 has no pool without hooks on {question.chain} for {looked} with fee {pools[0].fee} "
                f"and tickSpacing {pools[0].spacing}{advise_spacing(pools[0].fee, pools[0].spacing)}"
            )
        settled = settle([quote for _, quote in existing], outcomes)
        if isinstance(settled, More):
            return settled
        quotes = [_read(pool, quote) for (pool, _), quote in zip(existing, settled, strict=True)]
        counting = [quote for quote in quotes if quote is not None]
        if not counting:
            raise not_enough("the pool has not enough liquidity for it")
        best = max(counting, key=lambda quote: quote.amount_out)
        return quote_pb2.GetDexAV4QuoteResponse(
            amount_in_raw=str(parse_amount(question.amount, tables, _MOST)),
            amount_out=decimal_text(best.amount_out, decimals),
            amount_out_raw=str(best.amount_out),
            fee=best.pool.fee,
            tick_spacing=best.pool.spacing,
            gas_estimate=str(best.gas),
            pool_id="0x" + best.pool.id.hex(),
            currency_in=best.pool.currency_in,
            currency_out=best.pool.currency_out,
        )


def _read(pool: Pool, returned: Answered) -> _Quote | None:
    """Return a pool's quote, None where it has not enough liquidity; ContractUnreadable for any other refusal."""
    if not returned.has_failed:
        quote = _Quote(pool, *returned.read(_QUOTE))
        if quote.amount_out > _MOST:
            raise ContractUnreadable(
                f"the quoter {returned.call.to} on {returned.chain} returned an amount that cannot be",
                retry_after_ms=1000,
            )
        return quote
    wrapped, dry = _ERRORS["UnexpectedRevertBytes"], _ERRORS["NotEnoughLiquidity"]
    data = returned.outcome.data
    try:
        inner = wrapped.read(data)[0]
        if inner[:4] == dry.selector:
            return None
    except ValueError:
        pass
    raise ContractUnreadable(
        f"the quoter {returned.call.to} on {returned.chain} gives no quote for the pool 0x{pool.id.hex()}: it reverted "
        f"with 0x{data[:68].hex()}",
        retry_after_ms=1000,
    )


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
