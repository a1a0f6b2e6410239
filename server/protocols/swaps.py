"""What the versions of dex-a share: tokens that callers name, amounts, and why there is no quote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from server.errors import InvalidArgument, NotAToken, NotSupported
from server.protocols.plan import Group, More, Plan
from server.protocols.tokens import DECIMALS, is_native, wrapped_native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import SwapQuestion

NATIVE_DECIMALS = 18
_MOST_DECIMALS = 77
"""10^77 is the largest power of ten in a word."""
_TOKEN_GAS = 100_000
_DECIMAL = re.compile(r"[0-9]{1,78}(\.[0-9]{0,78})?")


class Pair(NamedTuple):
    """The two tokens that a pool trades, the native coin as the token that wraps it."""

    token_in: str
    token_out: str

    @classmethod
    def of(cls, question: SwapQuestion) -> Pair:
        """Return the pair of a question; InvalidArgument (field `tokenOut`) where both are one."""
        asked = (question.token_in, question.token_out)
        pair = cls(*(wrapped_native(question.chain) if is_native(one) else one for one in asked))
        if pair.token_in == pair.token_out:
            raise InvalidArgument("tokenOut: a swap needs two tokens; this is what tokenIn is", field="tokenOut")
        return pair


class SoldTokenTables:
    """What quote readers share: their tables are the decimals of the token to sell, by which the amount is read."""

    def check(self, question: SwapQuestion) -> None:
        """Refuse what can be refused before anything is read; InvalidArgument where both tokens are one."""
        Pair.of(question)

    def subject(self, question: SwapQuestion) -> tuple[str, str, str]:
        """Return the token to sell."""
        return "decimals", question.chain, question.token_in

    def load(self, question: SwapQuestion, outcomes: Outcomes) -> int | More:
        """Return the decimals of the token to sell, or what has to be read for them; NotAToken where it has none."""
        self.check(question)
        if is_native(question.token_in):
            return NATIVE_DECIMALS
        if "decimals" not in outcomes:
            return More(Plan({"decimals": Group((ask_decimals(question.token_in),), is_known=False)}))
        return read_decimals(outcomes["decimals"][0], "tokenIn")


def ask_decimals(token: str) -> ContractCall:
    """Return the call of a token that a caller named; it leaves in an execution that holds nothing of others."""
    return DECIMALS.call(token, gas=_TOKEN_GAS)


def read_decimals(returned: Answered, field: str) -> int:
    """Return a token's decimals; NotAToken, naming the parameter, where the address has none that can be."""
    found = returned.read_if_answered(DECIMALS)
    if found is None or found[0] > _MOST_DECIMALS:
        why = "no contract is there" if returned.has_no_code else "its contract has no readable decimals"
        raise NotAToken(f"{field}: {returned.call.to} is no token of {returned.chain}: {why}", field=field)
    decimals: int = found[0]
    return decimals


def parse_amount(text: str, decimals: int, most: int) -> int:
    """Return an amount in whole units as an integer of the token's smallest; `most` is what fits the protocol.

    Raises:
        InvalidArgument: no decimal text, more fraction digits than the token has, zero, or too much (field `amount`).
    """
    if not _DECIMAL.fullmatch(text):
        raise InvalidArgument('amount: write decimal digits, for example "1.5"', field="amount")
    whole, _, fraction = text.partition(".")
    significant = fraction.rstrip("0")
    if len(significant) > decimals:
        raise InvalidArgument(
            f"amount: the token has {decimals} decimals, so write at most {decimals} digits after the point",
            field="amount",
        )
    raw = int(whole + significant.ljust(decimals, "0"))
    if raw <= 0:
        raise InvalidArgument("amount: write more than zero", field="amount")
    if raw > most:
        raise too_much(decimals, most)
    return raw


def too_much(decimals: int, most: int) -> InvalidArgument:
    """Return the refusal of an amount that the protocol cannot compute with."""
    return InvalidArgument(
        f"amount: the exchange computes with at most {most // 10**decimals} whole units of this token; write less",
        field="amount",
    )


def not_enough(what: str) -> InvalidArgument:
    """Return the refusal of an amount that pools cannot take; `what` describes it."""
    return InvalidArgument(f"amount: {what}; write less", field="amount")


def alternatives(numbers: Sequence[int]) -> str:
    """Return numbers as text that offers one of them: "500, 3000 or 10000"."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last


def settle(quotes: Sequence[Answered], outcomes: Outcomes) -> list[Answered] | More:
    """Return the quotes of pools that exist, or what has to be read again alone first.

    A failure without data may be for want of the gas that its neighbours took.
    """
    silent = [quote for quote in quotes if quote.has_failed and not quote.outcome.data]
    if not silent:
        return list(quotes)
    if "again" not in outcomes:
        calls = (quote.call._replace(is_optional=False) for quote in silent)
        return More(Plan({"again": Group(tuple(calls), is_known=False)}))
    again = {returned.call.data: returned for returned in outcomes["again"]}
    return [again.get(quote.call.data, quote) for quote in quotes]


def refuse_block(quoter: Answered, block: int) -> NotSupported:
    """Return the refusal of a block at which the quoter did not exist yet."""
    return NotSupported(
        f"the quoter {quoter.call.to} is not on {quoter.chain} at block {block}: ask for a later one",
        field="blockHeight",
    )
