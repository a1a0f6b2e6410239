"""The capability to tell what an account holds of a chain's own coin and of given tokens (see `capabilities`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.view import ReadView


class KnownAsset(NamedTuple):
    """A token that the gateway knows: its address in canonical writing, and the decimals it is known by.

    They are used only where the chain does not tell decimals together with balances.
    """

    address: str
    decimals: int


class Holding(NamedTuple):
    """How much of an asset an account holds, in its smallest unit; `address` is None for the chain's own coin."""

    address: str | None
    raw: int
    decimals: int


class Holdings(NamedTuple):
    """What an account holds, nothing of zero; `account` is in canonical writing, `block` None where nodes do not say.

    All of it is of that block; on Solana, whose nodes answer each part at a slot of its own, `block` is the oldest.
    `unread` are the addresses of assets that are there and do not tell their balance: the account may hold them.
    """

    account: str
    block: int | None
    rows: tuple[Holding, ...]
    unread: tuple[str, ...] = ()


class ReadsHoldings(Protocol):
    """Can read many balances of one account at once."""

    def check_holder(self, address: str) -> str:
        """Return an account's address in canonical writing; InvalidArgument (field `address`) for what is none."""
        ...

    def is_holder(self, address: str) -> bool:
        """Return whether a text looks like an account of this family and of no other."""
        ...

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the own coin and those of the assets that the account holds.

        What is not there is left out. GatewayError means that no node answered.
        """
        ...


def is_accepted(check: Callable[[str], str], address: str) -> bool:
    """Return whether the check takes the address instead of raising InvalidArgument."""
    try:
        check(address)
    except InvalidArgument:
        return False
    return True
