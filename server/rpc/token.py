"""TokenService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import token_discovery_pb2, token_pb2, token_pb2_grpc

from server.catalog.token_search import TokenSearch
from server.catalog.tokens import load_tokens
from server.chains.capabilities.accounts import ReadsAllowances, ReadsSupplies, ReadsTokenBalances, ReadsTokenMetadata
from server.contracts.words import decimal_text
from server.rpc.pipeline.call import current, open_view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.catalog.token_search import Match
    from server.chains.registry import Chains
    from server.prices import Prices


class TokenDiscovery:
    """Finds tokens and where they live; chains come in the order of the contract's table."""

    def __init__(self, chains: Chains, prices: Prices) -> None:
        self._prices = prices
        self._catalogue = load_tokens()
        self._search = TokenSearch(self._catalogue)
        self._names = {chain.slug: chain.name for chain in chains}
        self._places = {slug: place for place, slug in enumerate(self._names)}

    async def search(self, text: str, limit: int) -> token_discovery_pb2.SearchTokensResponse:
        """Return the best matches with their prices."""
        matches = self._search.find(text, limit)
        prices = await self._read_prices(match.price for match in matches)
        rows = [self._row(match, prices) for match in matches]
        return token_discovery_pb2.SearchTokensResponse(count=len(rows), results=rows)

    async def addresses(self, symbol: str) -> token_discovery_pb2.GetTokenAddressesResponse:
        """Return where one of the contract's symbols lives."""
        token = self._catalogue.by_symbol[symbol]
        prices = await self._read_prices([token.price])
        rows = sorted(token.deployments, key=lambda row: self._places[row.chain])
        return token_discovery_pb2.GetTokenAddressesResponse(
            symbol=token.symbol,
            name=token.name,
            price_usd=prices.get(token.price),
            addresses=[
                token_discovery_pb2.TokenAddress(
                    chain=row.chain,
                    chain_name=self._names[row.chain],
                    address=row.address,
                    decimals=row.decimals,
                    symbol=row.symbol,
                    bridged=row.is_bridged,
                    verified=not row.unverified,
                )
                for row in rows
            ],
        )

    def _row(self, match: Match, prices: dict[str, float]) -> token_discovery_pb2.TokenMatch:
        rows = sorted(match.deployments, key=lambda row: self._places[row.chain])
        return token_discovery_pb2.TokenMatch(
            token_id=match.id,
            symbol=match.symbol,
            name=match.name,
            price_usd=prices.get(match.price or ""),
            chains=[
                token_discovery_pb2.TokenDeployment(
                    chain=row.chain,
                    address=row.address,
                    exponent=row.decimals,
                    symbol=row.symbol,
                    bridged=row.is_bridged,
                    verified=not row.unverified,
                )
                for row in rows
            ],
        )

    async def _read_prices(self, symbols: Iterable[str | None]) -> dict[str, float]:
        """Return US dollars by symbol, of those that have a live price."""
        wanted = {symbol for symbol in symbols if symbol is not None}
        if not wanted:
            return {}
        state = current()
        prices = await self._prices.read(wanted, deadline=state.deadline, cache=state.cache)
        return {symbol: float(price.value) for symbol, price in prices.items()}


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
        """Return a token's description of itself."""
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
