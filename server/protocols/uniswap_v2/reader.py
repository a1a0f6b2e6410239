"""What a swap through constant-product pools would yield: the direct pool and the way over the wrapped coin.

Whether pools exist is read from the factory; the router computes from their reserves and calls no token.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import quote_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.reverts import Revert
from server.contracts.words import decimal_text
from server.errors import InvalidArgument, NotFound
from server.protocols.plan import ContractUnreadable, Group, More, Plan
from server.protocols.swaps import (
    NATIVE_DECIMALS,
    Pair,
    SoldTokenTables,
    ask_decimals,
    parse_amount,
    read_decimals,
    settle,
    too_much,
)
from server.protocols.tokens import ZERO, is_native, wrapped_native

if TYPE_CHECKING:
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import SwapQuestion, TokenPrices

_SLUG = "uniswap-v2"
_GET_PAIR = Interface.load("server.protocols.uniswap_v2", "factory")["getPair"]
_AMOUNTS_OUT = Interface.load("server.protocols.uniswap_v2", "router")["getAmountsOut"]

_QUOTE_GAS = 100_000
# Reserves have 112 bits: the router computes with more, and no pool takes it.
_MOST = 2**112 - 1
# The library's words where a product does not fit a word, a pool has no reserves, and the first pool yields nothing.
_OVERFLOW = "ds-math"
_EMPTY = "INSUFFICIENT_LIQUIDITY"
_NOTHING = "INSUFFICIENT_INPUT_AMOUNT"


class _Way(NamedTuple):
    """A way from token to token: the path, whether each of its pools exists, and the router's answer."""

    path: tuple[str, ...]
    exists: bool
    quote: Answered


class QuoteReader(SoldTokenTables):
    """Quotes; tables are the decimals of the token to sell."""

    def plan(self, question: SwapQuestion, tables: int) -> Plan:
        """Return the pools and quotes of each way, and the decimals of the token to buy, apart from all others."""
        factory, router = _find(question.chain, "factory"), _find(question.chain, "router02")
        amount = parse_amount(question.amount, tables, _MOST)
        paths = _paths(question)
        hops = [hop for path in paths for hop in pairwise(path)]
        quotes = (_AMOUNTS_OUT.call(router, amount, path, gas=_QUOTE_GAS, is_optional=True) for path in paths)
        groups = {
            "pools": Group(tuple(_GET_PAIR.call(factory, *hop) for hop in hops)),
            "quotes": Group(tuple(quotes)),
        }
        if not is_native(question.token_out):
            groups["token"] = Group((ask_decimals(question.token_out),), is_known=False)
        return Plan(groups)

    def build(
        self, question: SwapQuestion, outcomes: Outcomes, tables: int, prices: TokenPrices
    ) -> quote_pb2.GetDexAV2QuoteResponse | More:
        """Return the larger quote.

        Raises:
            NotAToken: tokenOut is none.
            NotFound: no pools lead there.
            InvalidArgument: no pool takes the amount (field `amount`).
        """
        decimals = read_decimals(outcomes["token"][0], "tokenOut") if "token" in outcomes else NATIVE_DECIMALS
        ways = _read_ways(question, outcomes)
        existing = [way for way in ways if way.exists]
        if not existing:
            looked = " and ".join(" -> ".join(way.path) for way in ways)
            raise NotFound(f"no pools of dex-a version 2 lead from tokenIn to tokenOut; looked for {looked}")
        settled = settle([way.quote for way in existing], outcomes)
        if isinstance(settled, More):
            return settled
        existing = [way._replace(quote=quote) for way, quote in zip(existing, settled, strict=True)]
        amount = parse_amount(question.amount, tables, _MOST)
        yields = [(_amount_out(way), way.path) for way in existing if not way.quote.has_failed]
        if not yields:
            raise _refusal(existing, tables)
        best, path = max(yields, key=lambda found: found[0])
        return quote_pb2.GetDexAV2QuoteResponse(
            amount_in_raw=str(amount),
            amount_out=decimal_text(best, decimals),
            amount_out_raw=str(best),
            path=path,
        )


def _paths(question: SwapQuestion) -> list[tuple[str, ...]]:
    """Return the direct way, and the one over the wrapped coin where neither token is it."""
    pair, middle = Pair.of(question), wrapped_native(question.chain)
    return [pair] if middle in pair else [pair, (pair.token_in, middle, pair.token_out)]


def _read_ways(question: SwapQuestion, outcomes: Outcomes) -> list[_Way]:
    pools = iter(outcomes["pools"])
    ways = []
    for path, quote in zip(_paths(question), outcomes["quotes"], strict=True):
        found = [next(pools).read_one(_GET_PAIR) for _ in pairwise(path)]
        ways.append(_Way(tuple(path), ZERO not in found, quote))
    return ways


def _amount_out(way: _Way) -> int:
    amounts = way.quote.read_one(_AMOUNTS_OUT)
    if len(amounts) != len(way.path):
        raise ContractUnreadable(f"the router {way.quote.call.to} on {way.quote.chain} answered another path")
    return int(amounts[-1])


def _refusal(ways: list[_Way], decimals: int) -> Exception:
    """Return why pools that exist yield nothing."""
    reasons = [Revert.of(way.quote.outcome).reason or "" for way in ways]
    if any(_OVERFLOW in reason for reason in reasons):
        return too_much(decimals, _MOST)
    if any(_NOTHING in reason for reason in reasons):
        return InvalidArgument("amount: so little yields nothing in the pools on the way; write more", field="amount")
    if any(_EMPTY in reason for reason in reasons):
        return InvalidArgument("amount: the pools of these tokens are empty and take none", field="amount")
    return ContractUnreadable(
        f"the router {ways[0].quote.call.to} on {ways[0].quote.chain} gives no quote: {', '.join(reasons)}",
        retry_after_ms=1000,
    )


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
