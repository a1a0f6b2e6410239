"""YieldService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from waypost.v1 import yield_pb2, yield_pb2_grpc, yield_protocol_pb2, yield_share_pb2, yield_vault_pb2

from runtime.metrics import count_yields_left_out
from server.errors import ChainUnsupported
from server.protocols.best_yields import BestYields, Source
from server.protocols.reader import ChainQuestion
from server.protocols.yields import PoolQuestion, VaultsQuestion, canonical_pool
from server.rpc.pipeline.call import current, open_view
from server.rpc.rows import row_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AsyncExitStack

    from server.chains.registry import Chains
    from server.protocols.best_yields import Comparison, Failure
    from server.protocols.reader import ProtocolReaders

Response = TypeVar("Response")


class YieldServicer(yield_pb2_grpc.YieldServiceServicer):
    """Yields of lending markets and vaults (contract section 4.12)."""

    def __init__(self, chains: Chains, protocols: ProtocolReaders, lifetime: AsyncExitStack) -> None:
        self._chains = chains
        self._protocols = protocols
        self._best = BestYields(tuple(_sources(protocols)), protocols, count=count_yields_left_out)
        lifetime.push_async_callback(self._best.close)
        self._answers = _Answers()

    async def GetYieldsLending(
        self, request: yield_pb2.GetYieldsLendingRequest, context: Any
    ) -> yield_pb2.GetYieldsLendingResponse:
        """Return supply and borrow rates of a lending market."""
        return await self._pool(request, yield_pb2.GetYieldsLendingResponse)

    async def GetYieldsVaults(
        self, request: yield_pb2.GetYieldsVaultsRequest, context: Any
    ) -> yield_pb2.GetYieldsVaultsResponse:
        """Return the rate of a vault or yield market."""
        return await self._pool(request, yield_pb2.GetYieldsVaultsResponse)

    async def GetYieldsBest(self, request: yield_pb2.GetYieldsBestRequest, context: Any) -> bytes:
        """Return the best rates over all protocols and chains, serialised: once for equal requests."""
        state = current()
        use = state.cache
        comparison = await self._best.read(use, state.deadline)
        comparison.check(request.type)
        answer, is_stale = self._answers.of(comparison, request)
        if is_stale:
            use.stale()
        return answer

    async def GetYieldsBalance(
        self, request: yield_share_pb2.GetYieldsBalanceRequest, context: Any
    ) -> yield_share_pb2.GetYieldsBalanceResponse:
        """Return what a wallet holds in a pool."""
        wallet = self._chains.canonical_address(request.chain, request.address)
        return await self._pool(request, yield_share_pb2.GetYieldsBalanceResponse, wallet)

    async def GetYieldsPrice(
        self, request: yield_share_pb2.GetYieldsPriceRequest, context: Any
    ) -> yield_share_pb2.GetYieldsPriceResponse:
        """Return the price of one share of a pool."""
        return await self._pool(request, yield_share_pb2.GetYieldsPriceResponse)

    async def GetYieldsYieldAImpliedApy(
        self, request: yield_share_pb2.GetYieldsYieldAImpliedApyRequest, context: Any
    ) -> yield_share_pb2.GetYieldsYieldAImpliedApyResponse:
        """Return what a wallet's principal tokens earn from its entry price to expiry."""
        question = PoolQuestion(
            request.chain,
            pool=self._chains.canonical_address(request.chain, request.pool),
            address=self._chains.canonical_address(request.chain, request.address),
        )
        row = (await self._protocols.answer(_rpc(request), question, open_view())).answer
        row.chain, row.pool, row.address = question.chain, question.pool, question.address
        return yield_share_pb2.GetYieldsYieldAImpliedApyResponse(results=[row])

    async def GetLendCVaults(
        self, request: yield_vault_pb2.GetLendCVaultsRequest, context: Any
    ) -> yield_vault_pb2.GetLendCVaultsResponse:
        """Return the listed vaults of lend-c on a chain."""
        return await self._vaults(ChainQuestion(request.chain), request, yield_vault_pb2.GetLendCVaultsResponse)

    async def GetLendCVaultData(
        self, request: yield_vault_pb2.GetLendCVaultDataRequest, context: Any
    ) -> yield_vault_pb2.GetLendCVaultDataResponse:
        """Return figures of vaults of lend-c, each once, in the order asked."""
        asked = dict.fromkeys(self._chains.canonical_address(request.chain, vault) for vault in request.vaults)
        question = VaultsQuestion(request.chain, vaults=tuple(asked))
        return await self._vaults(question, request, yield_vault_pb2.GetLendCVaultDataResponse)

    async def _pool(self, request: Any, response: Callable[..., Response], wallet: str = "") -> Response:
        """Return the row of the pool that a request names, checked before anything is read.

        Raises:
            ChainUnsupported: the protocol is not on this chain; names those that it is on.
            InvalidArgument: the pool has not the form of the protocol's pools.
        """
        entry = self._protocols.yields[request.protocol]
        if request.chain not in entry.chains:
            raise ChainUnsupported(
                f"{_name(request.protocol)} is not read on {request.chain}; its chains are {', '.join(entry.chains)}",
                field="chain",
            )
        question = PoolQuestion(request.chain, pool=canonical_pool(entry.pool, request.pool), address=wallet)
        row = (await self._protocols.answer_pool(_rpc(request), request.protocol, question, open_view())).answer
        row.chain, row.protocol, row.pool = request.chain, request.protocol, request.pool
        if wallet:
            row.address = wallet
        return response(results=[row])

    async def _vaults(self, question: ChainQuestion, request: Any, response: Callable[..., Response]) -> Response:
        """Return the answer of a reader of several vaults, whose rpc is that of the request."""
        vaults = (await self._protocols.answer(_rpc(request), question, open_view())).answer
        return response(chain=request.chain, count=len(vaults), vaults=vaults)


class _Answers:
    """Answers of one comparison, serialised, by request; others go when there are too many."""

    _ROOM = 4 << 20

    def __init__(self) -> None:
        self._comparison: Comparison | None = None
        self._kept: dict[bytes, tuple[bytes, bool]] = {}
        self._size = 0

    def of(self, comparison: Comparison, request: yield_pb2.GetYieldsBestRequest) -> tuple[bytes, bool]:
        """Return the answer to the request, and whether a source of it was past its lifetime."""
        key = request.SerializeToString(deterministic=True)
        if comparison is not self._comparison or self._size > self._ROOM:
            self._comparison, self._size = comparison, 0
            self._kept.clear()
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = _answer(comparison, request)
            self._size += len(key) + len(found[0])
        return found


def _answer(comparison: Comparison, request: yield_pb2.GetYieldsBestRequest) -> tuple[bytes, bool]:
    pools = comparison.select(
        token=request.token,
        min_tvl=request.min_tvl if request.HasField("min_tvl") else None,
        limit=request.limit,
        kind=request.type,
    )
    response = yield_pb2.GetYieldsBestResponse(
        results=[pool.row for pool in pools],
        unavailable=[_unavailable(failure) for failure in comparison.failures_of(request.type)],
    )
    return response.SerializeToString(), comparison.is_stale(pools)


def _unavailable(failure: Failure) -> yield_pb2.UnavailableYields:
    source, error = failure
    row = row_error(error)
    return yield_pb2.UnavailableYields(
        protocol=source.protocol,
        chain=source.chain,
        code=row.code,
        reason=row.reason,
        message=row.message,
        status=row.status,
    )


def _sources(protocols: ProtocolReaders) -> Iterator[Source]:
    """Yield every protocol that lists its pools, with each of its chains."""
    for number, entry in protocols.yields.items():
        if entry.best is not None:
            for chain in entry.chains:
                yield Source(cast("Any", number), _name(number), cast("Any", entry.type), chain)


def _name(protocol: int) -> str:
    """Return a protocol's name in requests."""
    name: str = yield_protocol_pb2.YieldProtocol.Name(protocol)
    return name.removeprefix("YIELD_PROTOCOL_").lower().replace("_", "-")


def _rpc(request: Any) -> str:
    """Return the name of the rpc that a request is of: each has a request message of its own (house rule of proto/)."""
    return str(type(request).DESCRIPTOR.name).removesuffix("Request")
