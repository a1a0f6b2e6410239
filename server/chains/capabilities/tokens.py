"""Capabilities to read tokens: what they are, who holds them, who may move them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waypost.v1 import token_pb2

    from server.chains.capabilities.accounts import Balance
    from server.chains.view import ReadView


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """What a token says about itself: `name` and `symbol` None where it has none, `total_supply` raw."""

    address: str
    block: int
    name: str | None
    symbol: str | None
    decimals: int
    total_supply: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of an owner's token a spender may move, raw; addresses are in canonical writing."""

    token: str
    owner: str
    spender: str
    block: int
    raw: int
    decimals: int
    symbol: str | None

    @property
    def is_unlimited(self) -> bool:
        """Whether it is 2^255 or more (decisions section 3.7)."""
        return self.raw >= 1 << 255


@dataclass(frozen=True, slots=True)
class Approval:
    """What one known spender may move of one known token, raw, with the decimals to show it by."""

    symbol: str
    token: str
    spender_name: str
    spender: str
    raw: int
    decimals: int

    @property
    def is_unlimited(self) -> bool:
        """Whether it is 2^255 or more (decisions section 3.7)."""
        return self.raw >= 1 << 255


@dataclass(frozen=True, slots=True)
class Approvals:
    """A wallet's allowances that are not zero, all of one block."""

    address: str
    block: int
    rows: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class UnsignedCall:
    """A transaction that somebody has to sign: it calls `to` with `data` and sends no coin."""

    to: str
    sender: str
    data: bytes


class ReadsTokenBalances(Protocol):
    """Can read balances of fungible tokens."""

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of the token the address holds; NotAToken where there is none."""
        ...


class ReadsTokenMetadata(Protocol):
    """Can tell what a chain says about a token."""

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """Return the answer without its `chain`; NotAToken where there is no such token."""
        ...


class ReadsMints(Protocol):
    """Can read mints of a token program."""

    def check_mint(self, mint: str, field: str) -> str:
        """Return an address in canonical writing; InvalidArgument (that field) for what is none. Asks no node."""
        ...

    async def read_decimals(self, mints: Mapping[str, str], view: ReadView) -> dict[str, int]:
        """Return the decimals of mints, each given and returned by the parameter that names it, in one request.

        Raises:
            NotAToken: an address holds no mint (the parameter as the field).
        """
        ...


class ReadsAllowances(Protocol):
    """Can read ERC-20 allowances."""

    async def read_allowance(self, token: str, owner: str, spender: str, view: ReadView) -> Allowance:
        """Return the allowance; NotAToken where the address answers none."""
        ...


class ReadsApprovals(Protocol):
    """Can look through a wallet's approvals."""

    async def read_approvals(self, address: str, view: ReadView) -> Approvals:
        """Return what the known spenders may move of the known tokens."""
        ...

    def revoke_approval(self, address: str, token: str, spender: str) -> UnsignedCall:
        """Return the transaction that takes an allowance back; asks no node."""
        ...
