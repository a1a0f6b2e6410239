"""TokenService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import token_discovery_pb2, token_pb2, token_pb2_grpc

from server.chains.capabilities import ReadsAllowances, ReadsSupplies, ReadsTokenBalances, ReadsTokenMetadata
from server.chains.facts import decimal_text
from server.rpc.pipeline.call import open_view
from server.rpc.token_discovery import TokenDiscovery

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.prices import Prices


class TokenServicer(token_pb2_grpc.TokenServiceServicer):
    """Reads of fungible tokens (contract sections 4.3 and 4.4)."""

    def __init__(self, chains: Chains, prices: Prices) -> None:
        self._chains = chains
        self._discovery = TokenDiscovery(chains, prices)

    async def GetTokenBalance(
        self, request: token_pb2.GetTokenBalanceRequest, context: Any
    ) -> token_pb2.GetTokenBalanceResponse:
        """Return how much of a token an account holds."""
        reader = self._chains.capability(request.chain, ReadsTokenBalances)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        balance = await reader.read_token_balance(request.address, request.token, view)
        return token_pb2.GetTokenBalanceResponse(
            chain=request.chain,
            address=balance.address,
            token=balance.token or request.token,
            block_height=balance.block,
            balance=decimal_text(balance.raw, balance.decimals or 0),
            balance_raw=str(balance.raw),
            decimals=balance.decimals,
        )

    async def GetTokenMetadata(
        self, request: token_pb2.GetTokenMetadataRequest, context: Any
    ) -> token_pb2.GetTokenMetadataResponse:
        """Return what a token says about itself."""
        reader = self._chains.capability(request.chain, ReadsTokenMetadata)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        response = await reader.read_token_metadata(request.address, view)
        response.chain = request.chain
        return response

    async def GetDenomSupply(
        self, request: token_pb2.GetDenomSupplyRequest, context: Any
    ) -> token_pb2.GetDenomSupplyResponse:
        """Return how much of a denom exists."""
        reader = self._chains.capability(request.chain, ReadsSupplies)
        amount = await reader.read_supply(request.denom, open_view())
        return token_pb2.GetDenomSupplyResponse(chain=request.chain, denom=request.denom, amount=amount)

    async def GetTokenAllowance(
        self, request: token_pb2.GetTokenAllowanceRequest, context: Any
    ) -> token_pb2.GetTokenAllowanceResponse:
        """Return how much of an owner's tokens a spender may move."""
        reader = self._chains.capability(request.chain, ReadsAllowances)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        allowance = await reader.read_allowance(request.address, request.owner, request.spender, view)
        return token_pb2.GetTokenAllowanceResponse(
            chain=request.chain,
            token=allowance.token,
            symbol=allowance.symbol,
            owner=allowance.owner,
            spender=allowance.spender,
            block_height=allowance.block,
            allowance=decimal_text(allowance.raw, allowance.decimals),
            allowance_raw=str(allowance.raw),
            is_unlimited=allowance.is_unlimited,
        )

    async def SearchTokens(
        self, request: token_discovery_pb2.SearchTokensRequest, context: Any
    ) -> token_discovery_pb2.SearchTokensResponse:
        """Return tokens whose name or symbol matches."""
        return await self._discovery.search(request.q, request.limit)

    async def GetTokenAddresses(
        self, request: token_discovery_pb2.GetTokenAddressesRequest, context: Any
    ) -> token_discovery_pb2.GetTokenAddressesResponse:
        """Return where a token lives."""
        return await self._discovery.addresses(request.symbol)
