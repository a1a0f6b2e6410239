"""PositionService."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from google.protobuf.message_factory import GetMessageClass
from waypost.v1 import position_pb2, position_pb2_grpc, position_pool_pb2, position_summary_pb2

from server.errors import GatewayError
from server.protocols.reader import ChainQuestion, WalletQuestion
from server.rpc.pipeline.call import open_view
from server.rpc.rows import row_error

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.protocols.reader import ProtocolReaders, SummaryRow

_SERVICE = position_pb2.DESCRIPTOR.services_by_name["PositionService"]
_ANSWERS: dict[type[Any], type[Any]] = {
    GetMessageClass(rpc.input_type): GetMessageClass(rpc.output_type) for rpc in _SERVICE.methods
}


class PositionServicer(position_pb2_grpc.PositionServiceServicer):
    """Positions of wallets in protocols (contract section 4.13)."""

    def __init__(self, chains: Chains, protocols: ProtocolReaders) -> None:
        self._chains = chains
        self._protocols = protocols

    async def _answer_wallet(self, request: Any, context: Any) -> Any:
        """Return what the rpc's reader knows of a wallet on a chain."""
        address = self._chains.canonical_address(request.chain, request.address)
        question = WalletQuestion(request.chain, address=address)
        found = await self._protocols.answer(_rpc(request), question, open_view())
        answer = _ANSWERS[type(request)]
        return answer(chain=request.chain, address=address, block_height=found.block, positions=found.answer)

    async def _answer_chain(self, request: Any, context: Any) -> Any:
        """Return what the rpc's reader lists on a chain."""
        found = await self._protocols.answer(_rpc(request), ChainQuestion(request.chain), open_view())
        return _ANSWERS[type(request)](chain=request.chain, block_height=found.block, **found.answer)

    GetLendAV3UserPositions = _answer_wallet
    GetLendAV2UserPositions = _answer_wallet
    GetLendBV3UserPositions = _answer_wallet
    GetLendBV2UserPositions = _answer_wallet
    GetLendCUserPositions = _answer_wallet
    GetStakeAUserPositions = _answer_wallet
    GetPoolALend = _answer_wallet
    GetPoolAPools = _answer_chain
    GetPoolALendMarkets = _answer_chain

    async def GetYieldAV2Info(
        self, request: position_pool_pb2.GetYieldAV2InfoRequest, context: Any
    ) -> position_pool_pb2.GetYieldAV2InfoResponse:
        """Return the contract addresses of yield-a."""
        found = await self._protocols.answer("GetYieldAV2Info", ChainQuestion(request.chain), open_view())
        answer: position_pool_pb2.GetYieldAV2InfoResponse = found.answer
        answer.chain = request.chain
        return answer

    async def GetDefiSummary(
        self, request: position_summary_pb2.GetDefiSummaryRequest, context: Any
    ) -> position_summary_pb2.GetDefiSummaryResponse:
        """Return a row for each of seven protocols, all of one block."""
        view = open_view()
        address = self._chains.canonical_address(request.chain, request.address)
        rows = await self._protocols.summarize(request.chain, address, view)
        response = position_summary_pb2.GetDefiSummaryResponse(
            address=address, chain=request.chain, block_height=view.block, protocols=[_row(row) for row in rows]
        )
        response.timestamp.FromDatetime(datetime.now(UTC))
        return response


def _rpc(request: Any) -> str:
    """Return the name of the rpc that a request is of: each has a request message of its own (house rule of proto/)."""
    return str(type(request).DESCRIPTOR.name).removesuffix("Request")


def _row(row: SummaryRow) -> position_summary_pb2.ProtocolPositions:
    if row.outcome is None:
        return position_summary_pb2.ProtocolPositions(
            protocol=row.protocol, status=position_summary_pb2.SUMMARY_STATUS_UNSUPPORTED
        )
    if isinstance(row.outcome, GatewayError):
        return position_summary_pb2.ProtocolPositions(
            protocol=row.protocol, status=position_summary_pb2.SUMMARY_STATUS_ERROR, error=row_error(row.outcome)
        )
    return position_summary_pb2.ProtocolPositions(
        protocol=row.protocol,
        status=position_summary_pb2.SUMMARY_STATUS_OK,
        value=position_summary_pb2.SummaryData(**{row.member: row.outcome}),
    )
