"""PositionService."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from waypost.v1 import position_pb2, position_pb2_grpc, position_pool_pb2, position_summary_pb2

from server.errors import GatewayError
from server.protocols.reader import ChainQuestion, WalletQuestion
from server.rpc.pipeline.call import open_view
from server.rpc.rows import row_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.registry import Chains
    from server.protocols.book import ProtocolReaders, SummaryRow

Response = TypeVar("Response")


class PositionServicer(position_pb2_grpc.PositionServiceServicer):
    """Positions of wallets in protocols (contract section 4.13)."""

    def __init__(self, chains: Chains, protocols: ProtocolReaders) -> None:
        self._chains = chains
        self._protocols = protocols

    async def GetLendAV3UserPositions(
        self, request: position_pb2.GetLendAV3UserPositionsRequest, context: Any
    ) -> position_pb2.GetLendAV3UserPositionsResponse:
        """Return a wallet's positions on version 3 of lend-a."""
        answer: position_pb2.GetLendAV3UserPositionsResponse = await self._positions(
            request, position_pb2.GetLendAV3UserPositionsResponse
        )
        return answer

    async def GetLendAV2UserPositions(
        self, request: position_pb2.GetLendAV2UserPositionsRequest, context: Any
    ) -> position_pb2.GetLendAV2UserPositionsResponse:
        """Return a wallet's positions on version 2 of lend-a."""
        answer: position_pb2.GetLendAV2UserPositionsResponse = await self._positions(
            request, position_pb2.GetLendAV2UserPositionsResponse
        )
        return answer

    async def GetLendBV3UserPositions(
        self, request: position_pb2.GetLendBV3UserPositionsRequest, context: Any
    ) -> position_pb2.GetLendBV3UserPositionsResponse:
        """Return a wallet's positions on version 3 of lend-b."""
        answer: position_pb2.GetLendBV3UserPositionsResponse = await self._positions(
            request, position_pb2.GetLendBV3UserPositionsResponse
        )
        return answer

    async def GetLendBV2UserPositions(
        self, request: position_pb2.GetLendBV2UserPositionsRequest, context: Any
    ) -> position_pb2.GetLendBV2UserPositionsResponse:
        """Return a wallet's positions on version 2 of lend-b."""
        answer: position_pb2.GetLendBV2UserPositionsResponse = await self._positions(
            request, position_pb2.GetLendBV2UserPositionsResponse
        )
        return answer

    async def GetLendCUserPositions(
        self, request: position_pb2.GetLendCUserPositionsRequest, context: Any
    ) -> position_pb2.GetLendCUserPositionsResponse:
        """Return a wallet's positions in the listed markets of lend-c."""
        answer: position_pb2.GetLendCUserPositionsResponse = await self._positions(
            request, position_pb2.GetLendCUserPositionsResponse
        )
        return answer

    async def GetStakeAUserPositions(
        self, request: position_pb2.GetStakeAUserPositionsRequest, context: Any
    ) -> position_pb2.GetStakeAUserPositionsResponse:
        """Return a wallet's staked ETH of stake-a."""
        answer: position_pb2.GetStakeAUserPositionsResponse = await self._positions(
            request, position_pb2.GetStakeAUserPositionsResponse
        )
        return answer

    async def GetPoolAPools(
        self, request: position_pool_pb2.GetPoolAPoolsRequest, context: Any
    ) -> position_pool_pb2.GetPoolAPoolsResponse:
        """Return the listed pools of pool-a."""
        answer: position_pool_pb2.GetPoolAPoolsResponse = await self._listing(
            request, position_pool_pb2.GetPoolAPoolsResponse
        )
        return answer

    async def GetPoolALendMarkets(
        self, request: position_pool_pb2.GetPoolALendMarketsRequest, context: Any
    ) -> position_pool_pb2.GetPoolALendMarketsResponse:
        """Return the lending vaults of pool-a."""
        answer: position_pool_pb2.GetPoolALendMarketsResponse = await self._listing(
            request, position_pool_pb2.GetPoolALendMarketsResponse
        )
        return answer

    async def GetPoolALend(
        self, request: position_pool_pb2.GetPoolALendRequest, context: Any
    ) -> position_pool_pb2.GetPoolALendResponse:
        """Return the lending vaults of pool-a and a wallet's shares in them."""
        answer: position_pool_pb2.GetPoolALendResponse = await self._positions(
            request, position_pool_pb2.GetPoolALendResponse
        )
        return answer

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

    async def _positions(self, request: Any, response: Callable[..., Response]) -> Response:
        """Return the answer of a reader of wallets, whose rpc is that of the request."""
        address = self._chains.canonical_address(request.chain, request.address)
        question = WalletQuestion(request.chain, address=address)
        found = await self._protocols.answer(_rpc(request), question, open_view())
        return response(chain=request.chain, address=address, block_height=found.block, positions=found.answer)

    async def _listing(self, request: Any, response: Callable[..., Response]) -> Response:
        """Return the answer of a reader of what a protocol has on a chain."""
        found = await self._protocols.answer(_rpc(request), ChainQuestion(request.chain), open_view())
        return response(chain=request.chain, block_height=found.block, **found.answer)


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
            protocol=row.protocol, status=position_summary_pb2.SUMMARY_STATUS_ERROR, error=_error(row.outcome)
        )
    return position_summary_pb2.ProtocolPositions(
        protocol=row.protocol,
        status=position_summary_pb2.SUMMARY_STATUS_OK,
        data=position_summary_pb2.SummaryData(**{row.member: row.outcome}),
    )


def _error(error: GatewayError) -> position_summary_pb2.ProtocolError:
    row = row_error(error)
    return position_summary_pb2.ProtocolError(code=row.code, message=row.message, reason=f"REASON_{row.reason}")
