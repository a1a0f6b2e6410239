"""Answers about tokens that come from the catalogue: searches and addresses (contract section 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import token_discovery_pb2

from server.catalog.token_search import TokenSearch
from server.catalog.tokens import load_tokens
from server.rpc.pipeline.call import current

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
