"""Capabilities to read accounts: their addresses, what they hold and stake, tokens, and their allowances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from waypost.v1 import cosmos_pb2, cosmos_validator_pb2, token_pb2

    from server.chains.view import ReadView


@dataclass(frozen=True, slots=True)
class Balance:
    """An amount in the smallest unit with the decimals to show it by; `block` is the block it was read at, where known.

    `address` (and `token`) are in canonical writing; `token` is None for the native coin. `decimals` is None where the
    chain does not state how to show the amount.
    """

    address: str
    block: int | None
    raw: int
    decimals: int | None
    token: str | None = None


class WritesAddresses(Protocol):
    """Has one canonical writing of addresses, which its answers use."""

    def canonical_address(self, text: str) -> str:
        """Return the address in that writing; InvalidArgument for what is no address of the chain."""
        ...


class ReadsBalances(Protocol):
    """Can read native balances."""

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the native balance; InvalidArgument (field `address`) for what is no address of the chain."""
        ...


class ReadsAccounts(Protocol):
    """Can read accounts with number, sequence and public key."""

    async def read_account(self, address: str, view: ReadView) -> cosmos_pb2.CosmosAccount:
        """Return the account in one shape whatever its kind; NotFound for an address that was never used."""
        ...


class KnownAsset(NamedTuple):
    """A token of the gateway's catalogue: its address in canonical writing, and its listed decimals.

    They are used only where the chain does not report decimals together with balances.
    """

    address: str
    decimals: int


class Holding(NamedTuple):
    """How much of an asset an account holds, in its smallest unit; `address` is None for the chain's own coin."""

    address: str | None
    raw: int
    decimals: int


class Holdings(NamedTuple):
    """What an account holds, nothing of zero; `account` is in canonical writing, `block` None where not stated.

    All of it is of that block; on Solana, whose nodes answer each part at a slot of its own, `block` is the oldest.
    `unread` are the addresses of assets that exist and do not report their balance: the account may hold them.
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


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """What a token states about itself: `name` and `symbol` None where it has none, `total_supply` raw."""

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
    """A transaction that has to be signed: it calls `to` with `data` and sends no coin."""

    to: str
    sender: str
    data: bytes


class ReadsTokenBalances(Protocol):
    """Can read balances of fungible tokens."""

    def check_token(self, token: str) -> str:
        """Return a token's name in canonical writing; InvalidArgument (field `token`) for what is none.

        Asks no node.
        """
        ...

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of the token the address holds; NotAToken where there is none."""
        ...


class ReadsTokenMetadata(Protocol):
    """Can read what a chain states about a token."""

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


class ReadsSupplies(Protocol):
    """Can read how much of a denom exists."""

    async def read_supply(self, denom: str, view: ReadView) -> token_pb2.DenomSupply:
        """Return the amount, 0 for an unknown denom; InvalidArgument (field `denom`) for what is none."""
        ...


class ReadsStaking(Protocol):
    """Can read delegated stake; every address is checked, prefix and checksum, before a node is asked."""

    async def read_delegations(self, delegator: str, view: ReadView) -> Sequence[cosmos_pb2.DelegationResponse]:
        """Return what a delegator has staked, one row per validator."""
        ...

    async def read_unbondings(self, delegator: str, view: ReadView) -> Sequence[cosmos_pb2.UnbondingResponse]:
        """Return what is on its way back to a delegator, one row per validator."""
        ...

    async def read_rewards(self, delegator: str, view: ReadView) -> cosmos_pb2.GetRewardsResponse:
        """Return the answer without its `chain` and `delegator`; NotSupported where stakes earn nothing."""
        ...

    async def read_pool(self, view: ReadView) -> cosmos_pb2.StakingPool:
        """Return how much is staked in all."""
        ...

    async def read_validators(self, status: str | None, view: ReadView) -> Sequence[cosmos_validator_pb2.Validator]:
        """Return the validators of a status (`BOND_STATUS_BONDED`; None: of every one), those with most stake first."""
        ...

    async def read_validator(self, operator: str, view: ReadView) -> cosmos_validator_pb2.Validator:
        """Return one validator; NotFound for an address that is none."""
        ...
