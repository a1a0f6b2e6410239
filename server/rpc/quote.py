"""QuoteService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import quote_pb2, quote_pb2_grpc

from server.aggregators.jupiter import LARGEST_AMOUNT, Swap
from server.aggregators.unit_prices import UnitPrices
from server.chains.capabilities.accounts import ReadsMints
from server.errors import InvalidArgument
from server.protocols.reader import SwapQuestion
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.aggregators.jupiter import Jupiter, Step
    from server.chains.registry import Chains
    from server.protocols.reader import ProtocolReaders

_AGGREGATED = "solana"


class QuoteServicer(quote_pb2_grpc.QuoteServiceServicer):
    """Swap quotes (contract section 4.14)."""

    def __init__(self, chains: Chains, protocols: ProtocolReaders, aggregator: Jupiter) -> None:
        self._chains = chains
        self._protocols = protocols
        self._aggregator = aggregator
        self._mints = chains.capability(_AGGREGATED, ReadsMints)
        self._unit_prices = UnitPrices(aggregator, self._mints)

    async def GetDexAV2Quote(
        self, request: quote_pb2.GetDexAV2QuoteRequest, context: Any
    ) -> quote_pb2.GetDexAV2QuoteResponse:
        """Return what a swap through constant-product pools would yield."""
        answer: quote_pb2.GetDexAV2QuoteResponse = await self._quote("GetDexAV2Quote", self._question(request))
        return answer

    async def GetDexAV3Quote(
        self, request: quote_pb2.GetDexAV3QuoteRequest, context: Any
    ) -> quote_pb2.GetDexAV3QuoteResponse:
        """Return what a swap in one concentrated-liquidity pool would yield."""
        question = self._question(
            request,
            block=request.block_height if request.HasField("block_height") else None,
            fee=request.fee if request.HasField("fee") else None,
        )
        answer: quote_pb2.GetDexAV3QuoteResponse = await self._quote("GetDexAV3Quote", question)
        return answer

    async def GetDexAV4Quote(
        self, request: quote_pb2.GetDexAV4QuoteRequest, context: Any
    ) -> quote_pb2.GetDexAV4QuoteResponse:
        """Return what a swap in one pool without hooks would yield."""
        question = self._question(
            request,
            block=request.block_height if request.HasField("block_height") else None,
            fee=request.fee if request.HasField("fee") else None,
            tick_spacing=request.tick_spacing if request.HasField("tick_spacing") else None,
        )
        answer: quote_pb2.GetDexAV4QuoteResponse = await self._quote("GetDexAV4Quote", question)
        return answer

    async def GetSolAggregatorQuote(
        self, request: quote_pb2.GetSolAggregatorQuoteRequest, context: Any
    ) -> quote_pb2.GetSolAggregatorQuoteResponse:
        """Return what a routed swap on Solana would yield."""
        swap = Swap(
            self._mints.check_mint(request.input_mint, "inputMint"),
            self._mints.check_mint(request.output_mint, "outputMint"),
            _raw_amount(request.amount),
            request.slippage_bps,
        )
        view = open_view()
        quote = await self._aggregator.quote(swap, deadline=view.deadline, use=view.cache)
        return quote_pb2.GetSolAggregatorQuoteResponse(
            input_mint=swap.input_mint,
            output_mint=swap.output_mint,
            amount_in=str(swap.amount),
            amount_out=str(quote.amount_out),
            price_impact_pct=quote.impact,
            route_plan=[_route_step(step) for step in quote.steps],
            other_amount_threshold=str(quote.least),
        )

    async def GetSolAggregatorPrice(
        self, request: quote_pb2.GetSolAggregatorPriceRequest, context: Any
    ) -> quote_pb2.GetSolAggregatorPriceResponse:
        """Return what one whole unit of a mint yields in whole units of another."""
        price = await self._unit_prices.read_price(request.input_mint, request.output_mint, open_view())
        return quote_pb2.GetSolAggregatorPriceResponse(price=price)

    def _question(self, request: Any, **members: int | None) -> SwapQuestion:
        return SwapQuestion(
            request.chain,
            token_in=self._chains.canonical_address(request.chain, request.token_in),
            token_out=self._chains.canonical_address(request.chain, request.token_out),
            amount=request.amount,
            **members,
        )

    async def _quote(self, rpc: str, question: SwapQuestion) -> Any:
        """Return the reader's answer with what was asked and the block."""
        found = await self._protocols.answer(rpc, question, open_view(question.block))
        answer = found.answer
        answer.chain, answer.block_height = question.chain, found.block
        answer.token_in, answer.token_out, answer.amount_in = question.token_in, question.token_out, question.amount
        return answer


def _raw_amount(text: str) -> int:
    """Return a raw amount of a mint; InvalidArgument (field `amount`) for zero and what 64 bits do not hold."""
    amount = int(text)
    if not 1 <= amount <= LARGEST_AMOUNT:
        raise InvalidArgument(f"amount: write it in the mint's smallest unit, 1 to {LARGEST_AMOUNT}", field="amount")
    return amount


def _route_step(step: Step) -> quote_pb2.SolRouteStep:
    info = quote_pb2.SolSwapInfo(
        amm_key=step.pool, label=step.label, input_mint=step.input_mint, output_mint=step.output_mint
    )
    return quote_pb2.SolRouteStep(swap_info=info, percent=step.percent, bps=step.bps)
