"""Capabilities to read balances of a chain's own coin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from server.chains.view import ReadView


@dataclass(frozen=True, slots=True)
class Balance:
    """An amount in the smallest unit with the decimals to show it by; `block` is the block it was read at, where known.

    `address` (and `token`) are in canonical writing; `token` is None for the native coin. `decimals` is None where the
    chain does not say how to show the amount.
    """

    address: str
    block: int | None
    raw: int
    decimals: int | None
    token: str | None = None


class ReadsBalances(Protocol):
    """Can read native balances."""

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the native balance; InvalidArgument (field `address`) for what is no address of the chain."""
        ...
