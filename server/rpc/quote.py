"""QuoteService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import quote_pb2, quote_pb2_grpc

from server.protocols.reader import SwapQuestion
from server.rpc.views import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.protocols.book import ProtocolReaders


class QuoteServicer(quote_pb2_grpc.QuoteServiceServicer):
    """Swap quotes (contract section 4.14)."""

    def __init__(self, chains: Chains, protocols: ProtocolReaders) -> None:
        self._chains = chains
        self._protocols = protocols

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
