"""Pools without hooks of dex-a V4: which of them a question may mean, and their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eth_hash.auto import keccak

from server.contracts.types import encoder
from server.errors import InvalidArgument
from server.protocols.natives import ZERO, is_native, wrapped_native

if TYPE_CHECKING:
    from server.protocols.reader import SwapQuestion

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
