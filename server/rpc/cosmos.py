"""CosmosService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import cosmos_pb2, cosmos_pb2_grpc, cosmos_validator_pb2

from server.chains.capabilities.accounts import ReadsAccounts, ReadsStaking
from server.chains.capabilities.blocks import ReadsBlockResults
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class CosmosServicer(cosmos_pb2_grpc.CosmosServiceServicer):
    """Accounts, staking and block results (contract section 4.15)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def GetAccount(self, request: cosmos_pb2.GetAccountRequest, context: Any) -> cosmos_pb2.GetAccountResponse:
        """Return an account in one flat shape."""
        reader = self._chains.capability(request.chain, ReadsAccounts)
        account = await reader.read_account(request.address, open_view())
        return cosmos_pb2.GetAccountResponse(chain=request.chain, address=request.address, account=account)

    async def GetDelegations(
        self, request: cosmos_pb2.GetDelegationsRequest, context: Any
    ) -> cosmos_pb2.GetDelegationsResponse:
        """Return what a delegator has staked."""
        rows = await self._staking(request.chain).read_delegations(request.delegator, open_view())
        return cosmos_pb2.GetDelegationsResponse(
            chain=request.chain, delegator=request.delegator, delegation_responses=rows
        )

    async def GetUnbondingDelegations(
        self, request: cosmos_pb2.GetUnbondingDelegationsRequest, context: Any
    ) -> cosmos_pb2.GetUnbondingDelegationsResponse:
        """Return what is on its way back to a delegator."""
        rows = await self._staking(request.chain).read_unbondings(request.delegator, open_view())
        return cosmos_pb2.GetUnbondingDelegationsResponse(
            chain=request.chain, delegator=request.delegator, unbonding_responses=rows
        )

    async def GetRewards(self, request: cosmos_pb2.GetRewardsRequest, context: Any) -> cosmos_pb2.GetRewardsResponse:
        """Return what a delegator can withdraw."""
        response = await self._staking(request.chain).read_rewards(request.delegator, open_view())
        response.chain, response.delegator = request.chain, request.delegator
        return response

    async def GetValidators(
        self, request: cosmos_validator_pb2.GetValidatorsRequest, context: Any
    ) -> cosmos_validator_pb2.GetValidatorsResponse:
        """Return the validators of one status, or of all; the active ones by default."""
        status = request.status or cosmos_validator_pb2.BOND_STATUS_BONDED
        is_all = status == cosmos_validator_pb2.BOND_STATUS_ALL
        name = None if is_all else cosmos_validator_pb2.BondStatus.Name(status)
        rows = await self._staking(request.chain).read_validators(name, open_view())
        return cosmos_validator_pb2.GetValidatorsResponse(chain=request.chain, count=len(rows), validators=rows)

    async def GetValidator(
        self, request: cosmos_validator_pb2.GetValidatorRequest, context: Any
    ) -> cosmos_validator_pb2.GetValidatorResponse:
        """Return one validator."""
        validator = await self._staking(request.chain).read_validator(request.validator, open_view())
        return cosmos_validator_pb2.GetValidatorResponse(chain=request.chain, validator=validator)

    async def GetStakingPool(
        self, request: cosmos_pb2.GetStakingPoolRequest, context: Any
    ) -> cosmos_pb2.GetStakingPoolResponse:
        """Return how much is staked in all."""
        pool = await self._staking(request.chain).read_pool(open_view())
        return cosmos_pb2.GetStakingPoolResponse(chain=request.chain, pool=pool)

    async def GetBlockResults(
        self, request: cosmos_validator_pb2.GetBlockResultsRequest, context: Any
    ) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """Return what executing a block did."""
        reader = self._chains.capability(request.chain, ReadsBlockResults)
        response = await reader.read_block_results(request.block_number, open_view())
        response.chain = request.chain
        return response

    def _staking(self, slug: str) -> ReadsStaking:
        return self._chains.capability(slug, ReadsStaking)
