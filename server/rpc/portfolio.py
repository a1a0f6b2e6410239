"""PortfolioService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import portfolio_pb2, portfolio_pb2_grpc

from server.catalog.tokens import load_tokens
from server.contracts.words import decimal_text
from server.portfolio import ChainFailure, Portfolio
from server.rpc.pipeline.call import current
from server.rpc.pipeline.permissions import split_allowed
from server.rpc.rows import row_error

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.portfolio import Asset, ChainAssets
    from server.prices import Prices


class PortfolioServicer(portfolio_pb2_grpc.PortfolioServiceServicer):
    """Wallets over many chains; an operation of our own, which contract section 4.4 names without its shape."""

    def __init__(self, chains: Chains, prices: Prices) -> None:
        self._portfolio = Portfolio(chains, load_tokens(), prices)

    async def GetPortfolio(
        self, request: portfolio_pb2.GetPortfolioRequest, context: Any
    ) -> portfolio_pb2.GetPortfolioResponse:
        """Return what a wallet holds on the chosen chains."""
        state = current()
        # Chains that a request names were checked already.
        chosen, not_allowed = split_allowed(request.chains or self._portfolio.fitting(request.address))
        wallet = await self._portfolio.read(request.address, chosen, state.deadline, state.cache)
        response = portfolio_pb2.GetPortfolioResponse(
            address=wallet.address,
            total_usd=float(wallet.total),
            chains=[_chain(row) for row in wallet.rows],
            unpriced=wallet.unpriced,
            not_allowed=not_allowed,
        )
        response.timestamp.FromDatetime(wallet.read_at)
        return response


def _chain(row: ChainAssets | ChainFailure) -> portfolio_pb2.PortfolioChain:
    if isinstance(row, ChainFailure):
        return portfolio_pb2.PortfolioChain(
            chain=row.chain, status=portfolio_pb2.PORTFOLIO_STATUS_ERROR, error=row_error(row.error)
        )
    return portfolio_pb2.PortfolioChain(
        chain=row.chain,
        status=portfolio_pb2.PORTFOLIO_STATUS_OK,
        value=portfolio_pb2.PortfolioHoldings(
            block_height=row.block,
            total_usd=float(row.total),
            assets=[_asset(asset) for asset in row.assets],
            unpriced=row.unpriced,
            unread=row.unread,
        ),
    )


def _asset(asset: Asset) -> portfolio_pb2.PortfolioAsset:
    value = asset.value
    return portfolio_pb2.PortfolioAsset(
        symbol=asset.symbol,
        name=asset.name,
        address=asset.address,
        balance=decimal_text(asset.raw, asset.decimals),
        balance_raw=str(asset.raw),
        decimals=asset.decimals,
        price_usd=None if asset.price is None else float(asset.price),
        value_usd=None if value is None else float(value),
    )
