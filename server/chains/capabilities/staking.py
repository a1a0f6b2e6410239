"""Capabilities of chains with numbered accounts, denoms and delegated stake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waypost.v1 import cosmos_pb2, cosmos_validator_pb2, token_pb2

    from server.chains.view import ReadView


class ReadsSupplies(Protocol):
    """Can tell how much of a denom exists."""

    async def read_supply(self, denom: str, view: ReadView) -> token_pb2.DenomSupply:
        """Return the amount, 0 of a denom that nobody knows; InvalidArgument (field `denom`) for what is none."""
        ...


class ReadsAccounts(Protocol):
    """Can read accounts with number, sequence and public key."""

    async def read_account(self, address: str, view: ReadView) -> cosmos_pb2.CosmosAccount:
        """Return the account in one shape whatever its kind; NotFound for an address that was never used."""
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


class ReadsBlockResults(Protocol):
    """Can tell what executing a block did."""

    async def read_block_results(self, number: int, view: ReadView) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """Return the answer without its `chain`; NotFound where the chain has no block of that number."""
        ...
