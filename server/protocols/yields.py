"""What readers of yields share: questions about a pool, folders, units, times, shares of vaults."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from waypost.v1 import yield_share_pb2

from runtime.config_errors import nearest_few
from server.contracts.address import parse_address
from server.contracts.interface import Interface
from server.errors import InvalidArgument, NotFound
from server.protocols.plan import Token
from server.protocols.reader import ChainQuestion
from server.protocols.tokens import multicall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from waypost.v1 import yield_pb2

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered
    from server.protocols.reader import Reader, TokenPrices


# All rates are percent per year (contract section 4.12); docs/decisions/0037 defines a rate.

YEAR_SECONDS = 31_536_000

_NOW = Interface.load("server.protocols", "multicall")["getCurrentBlockTimestamp"]
_MOST_NEAREST = 3


class PoolForm(Enum):
    """What identifies a pool of a protocol."""

    SYMBOL = "the symbol of an asset, for example USDC"
    ADDRESS = "an address, 0x and 40 hex digits"
    VAULT_ID = "the id of a vault, for example bifi-vault"
    TOKEN_NAME = "the name of a token, for example mTBILL"  # no password


# Longer than any in use; printable ASCII without spaces. Symbols of tokens may hold any printable letter.
_WORD = re.compile(r"[!-~]{1,100}")
_SYMBOL_LENGTH = 40


@dataclass(frozen=True, slots=True)
class PoolQuestion(ChainQuestion):
    """One pool, in the form of its protocol; addresses are checksummed. `address` is a wallet, "" without one."""

    pool: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class VaultsQuestion(ChainQuestion):
    """Several vaults by checksummed address, each once, in the order asked."""

    vaults: tuple[str, ...] = ()


class BestRow(NamedTuple):
    """A pool in the comparison: `row` without chain, protocol and type, and the symbols of its assets, as written."""

    row: yield_pb2.BestYield
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class YieldEntry:
    """What a protocol's folder provides for yields.

    `protocol` is a value of YieldProtocol, `chains` those that the contract's table gives it, `pool` the form of its
    pools. `readers` are by rpc of YieldService (GetYieldsLending, GetYieldsVaults, GetYieldsBalance, GetYieldsPrice);
    each builds the row of its response without chain, protocol, pool and wallet. `best` builds all pools of a chain,
    whose kind is `type`, a value of YieldType.
    """

    protocol: int
    chains: tuple[str, ...]
    pool: PoolForm
    type: int
    readers: Mapping[str, Reader[PoolQuestion, Any]]
    best: Reader[ChainQuestion, Sequence[BestRow]] | None = None


def canonical_pool(form: PoolForm, text: str) -> str:
    """Return a pool's identifier, addresses checksummed; InvalidArgument (field `pool`) for another form."""
    if form is PoolForm.ADDRESS:
        return parse_address(text, "pool")
    is_right = (
        0 < len(text) <= _SYMBOL_LENGTH and text.isprintable() and text.strip() == text
        if form is PoolForm.SYMBOL
        else _WORD.fullmatch(text) is not None
    )
    if not is_right:
        raise _wrong_form(form)
    return text


def unknown_pool(pool: str, known: Iterable[str], *, of: str) -> NotFound:
    """Return the failure of a pool that does not exist, naming the nearest ones; `of` is the protocol and the chain."""
    listed = list(known)
    near = nearest_few(pool, listed, most=_MOST_NEAREST, likeness=0.4) or nearest_few(
        pool, listed, most=_MOST_NEAREST, likeness=0
    )
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    return NotFound(f"no such pool of {of}{hint}", field="pool")


def apy_of_apr(apr: float) -> float:
    """Return the percent per year that a fraction per year comes to, compounded every second.

    Source: (1 + apr / 31536000)^31536000 - 1, as lend-a's and lend-b's own sites compute it, without a naive power.
    """
    return math.expm1(YEAR_SECONDS * math.log1p(apr / YEAR_SECONDS)) * 100


def block_clock(chain: str) -> ContractCall:
    """Return the call that returns the time of the block that its group is read at."""
    return _NOW.call(multicall(chain))


def read_block_time(answered: Answered) -> datetime:
    """Return what `block_clock` returned (UTC); ContractUnreadable where nothing did."""
    return datetime.fromtimestamp(answered.read_one(_NOW), UTC)


def oldest(*times: datetime | None) -> datetime:
    """Return the oldest of the times of all that an answer was made of; None are parts that were not used."""
    return min(time for time in times if time is not None)


def _wrong_form(form: PoolForm) -> InvalidArgument:
    return InvalidArgument(f"pool: for this protocol give {form.value}", field="pool")


WEEK_SECONDS = 7 * 86_400.0
"""What the growth of a share's price is measured over."""

MANY_SHARES = 10**36
"""Shares whose worth is asked for in place of those of a wallet, which the same read brings.

The worth of a wallet's is computed of it, too low by at most one of the asset's smallest unit; no contract's arithmetic
overflows with as many.
"""

# A member of its own in answers.
_DOLLARS = "usd"


class Held(NamedTuple):
    """An asset in a vault: its symbol, its checksummed address ("" for the chain's coin), an amount in whole units."""

    symbol: str
    address: str
    amount: float


class Worth(NamedTuple):
    """A value in US dollars and when the oldest price that it was computed of was known; None for what is not known."""

    usd: float | None
    updated_at: datetime | None


def balance_of(held: Sequence[Held], usd: float | None) -> yield_share_pb2.BalanceAmounts:
    """Return what a wallet has: amounts by symbol, by address for an asset that is called USD, nothing or as another.

    `usd` is what all is worth, None where that is not known; nothing is worth nothing.
    """
    symbols = [one.symbol.strip().casefold() for one in held]
    amounts = dict[str, float]()
    for one in held:
        symbol = one.symbol.strip().casefold()
        is_plain = symbol not in ("", _DOLLARS) and symbols.count(symbol) == 1
        amounts[one.symbol if is_plain or not one.address else one.address] = one.amount
    return yield_share_pb2.BalanceAmounts(amounts=amounts, usd=usd if any(amounts.values()) else 0.0)


def value(held: Sequence[Held], chain: str, prices: TokenPrices) -> Worth:
    """Return what all is worth by the gateway's own prices; what is not there is worth nothing, whatever its price."""
    usd, updated_at = 0.0, None
    for one in held:
        if not one.amount:
            continue
        price = prices.get(Token(chain, one.address))
        if price is None:
            return Worth(None, None)
        usd += one.amount * float(price.value)
        updated_at = price.updated_at if updated_at is None else min(updated_at, price.updated_at)
    return Worth(usd, updated_at)


def growth_apy(before: int, after: int, seconds: float) -> float | None:
    """Return the percent per year that a share's price grew by within so many seconds; None where there is no rate."""
    if before <= 0 or after <= 0 or seconds <= 0:
        return None
    try:
        return math.expm1(math.log(after / before) * YEAR_SECONDS / seconds) * 100
    except OverflowError:
        return None
