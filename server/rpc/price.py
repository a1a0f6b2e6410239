"""PriceService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import price_pb2, price_pb2_grpc

from server.catalog.tokens import load_tokens
from server.errors import GatewayError, PriceUnavailable
from server.prices import EURO, convert
from server.rpc.pipeline.call import current
from server.rpc.rows import gather_rows, row_error

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from server.prices import Price, PriceHistory, Prices

_CURRENCIES = {price_pb2.CURRENCY_USD: "USD", price_pb2.CURRENCY_EUR: EURO}


class PriceServicer(price_pb2_grpc.PriceServiceServicer):
    """Prices of the gateway's tokens (contract section 4.4)."""

    def __init__(self, prices: Prices, history: PriceHistory) -> None:
        self._prices = prices
        self._history = history
        self._tokens = load_tokens()

    async def GetPrice(self, request: price_pb2.GetPriceRequest, context: Any) -> price_pb2.GetPriceResponse:
        """Return the price of one token in US dollars and euros; 503 without a live one."""
        price = self._price(request.symbol, await self._read([request.symbol]))
        response = price_pb2.GetPriceResponse(
            symbol=request.symbol,
            name=price.name,
            price_usd=price.price_usd,
            price_eur=price.price_eur if price.HasField("price_eur") else None,
        )
        response.last_updated.CopyFrom(price.last_updated)
        return response

    async def GetPrices(self, request: price_pb2.GetPricesRequest, context: Any) -> price_pb2.GetPricesResponse:
        """Return the prices of several tokens, each in its row."""
        prices = await self._read([item.symbol for item in request.items])

        async def read(symbol: str) -> price_pb2.GetPricesResult:
            return price_pb2.GetPricesResult(symbol=symbol, value=self._price(symbol, prices))

        def failed(index: int, error: GatewayError) -> price_pb2.GetPricesResult:
            return price_pb2.GetPricesResult(symbol=request.items[index].symbol, error=row_error(error))

        rows = await gather_rows(
            [read(item.symbol) for item in request.items], failed, lambda index: request.items[index].symbol
        )
        return price_pb2.GetPricesResponse(count=len(rows), results=rows)

    async def GetTopPrices(
        self, request: price_pb2.GetTopPricesRequest, context: Any
    ) -> price_pb2.GetTopPricesResponse:
        """Return the priced tokens by number of chains, then price; wrappers of another token are left to it."""
        state = current()
        tokens = {token.symbol: token for token in self._tokens if token.price == token.symbol}
        prices = await self._prices.read(
            tokens, _CURRENCIES[request.currency], deadline=state.deadline, cache=state.cache
        )
        ranked = sorted(prices, key=lambda symbol: (-len(tokens[symbol].chains), -prices[symbol].value, symbol))
        rows = []
        for symbol in ranked[: request.limit]:
            row = price_pb2.TopPrice(
                symbol=symbol,
                name=tokens[symbol].name,
                price=float(prices[symbol].value),
                currency=request.currency,
                chains=len(tokens[symbol].chains),
            )
            row.last_updated.FromDatetime(prices[symbol].updated_at)
            rows.append(row)
        return price_pb2.GetTopPricesResponse(count=len(rows), results=rows)

    async def GetPriceHistory(
        self, request: price_pb2.GetPriceHistoryRequest, context: Any
    ) -> price_pb2.GetPriceHistoryResponse:
        """Return one price per day, the day's highest."""
        points = await self._history.read(
            request.symbol, request.days, _CURRENCIES[request.currency], current().deadline
        )
        return price_pb2.GetPriceHistoryResponse(
            symbol=request.symbol,
            name=self._name(request.symbol),
            currency=request.currency,
            prices=[
                price_pb2.PricePoint(date=point.day.isoformat(), price=float(point.value), complete=point.is_complete)
                for point in points
            ],
        )

    async def _read(self, symbols: Collection[str]) -> Mapping[str, Price]:
        """Return the prices of these symbols and of the euro in US dollars."""
        state = current()
        return await self._prices.read({*symbols, EURO}, deadline=state.deadline, cache=state.cache)

    def _price(self, symbol: str, prices: Mapping[str, Price]) -> price_pb2.TokenPrice:
        price, euro = prices.get(symbol), prices.get(EURO)
        if price is None:
            raise PriceUnavailable(f"no live price of {symbol} is known: its sources are silent, stale or disagree")
        in_euros = None if euro is None else convert(price, euro)
        answer = price_pb2.TokenPrice(
            name=self._name(symbol),
            price_usd=float(price.value),
            price_eur=None if in_euros is None else float(in_euros.value),
        )
        answer.last_updated.FromDatetime((in_euros or price).updated_at)
        return answer

    def _name(self, symbol: str) -> str:
        return self._tokens.by_symbol[symbol].name
