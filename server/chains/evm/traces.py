"""The calls inside a transaction, through whichever tracing interface the chain's nodes have."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import transaction_pb2

from server.chains.evm.trace_frames import parse_call_tracer, parse_trace_list, read_refusal
from server.errors import GatewayError, InvalidArgument, NotFound, NotSupported, Pending, UpstreamUnavailable
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.chains.evm.transactions import TransactionReader
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

    Frames = list[transaction_pb2.TraceFrame]

LEARNED_SECONDS = 600.0
"""How long an endpoint that lacks an interface is not asked for it."""

# Larger answers are taken apart beside the event loop.
_LARGE = 256 * 1024


class Tracer(NamedTuple):
    """One interface: the name that callers read, method, parameters after the hash, and how its answer is read."""

    name: str
    method: str
    options: tuple[object, ...]
    parse: Callable[[bytes], Frames]


# In the order of preference. The options object is always there: some nodes refuse the call without it (Monad), or
# answer single steps by default.
TRACERS = (
    Tracer("callTracer", "debug_traceTransaction", ({"tracer": "callTracer", "timeout": "30s"},), parse_call_tracer),
    Tracer("trace_transaction", "trace_transaction", (), parse_trace_list),
)


class TraceReader:
    """Traces transactions of one chain. `clock` in seconds."""

    def __init__(
        self, slug: str, pool: Pool, transactions: TransactionReader, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slug = slug
        self._pool = pool
        self._transactions = transactions
        self._clock = clock
        self._lacking: dict[tuple[str, str], float] = {}

    async def read_trace(self, text: str, view: ReadView) -> transaction_pb2.TraceTransactionResponse:
        """Return the answer without its `chain` and `hash`.

        Raises:
            NotSupported: no configured node of the chain has a tracing interface.
            Pending, NotFound: the transaction is in no block, or unknown.
        """
        wanted = self._transactions.transaction_hash(text)
        failure: GatewayError | None = None
        for tracer in TRACERS:
            try:
                frames = await self._trace(tracer, wanted, view)
            except (Pending, NotFound):
                raise
            except GatewayError as error:
                failure = failure or error
                continue
            if frames is not None:
                return transaction_pb2.TraceTransactionResponse(tracer=tracer.name, trace=frames)
        raise failure or NotSupported(
            f"no configured node of {self._slug} traces transactions: configure one with the debug or trace interface"
        )

    async def _trace(self, tracer: Tracer, wanted: str, view: ReadView) -> Frames | None:
        """Return the frames, None where no endpoint has the interface; endpoints that answer in another shape count so.

        Raises:
            GatewayError: an endpoint has it and failed.
        """
        strange: set[str] = set()
        given_up: GatewayError | None = None
        while True:
            able = [label for label in self._pool.labels if label not in strange and not self._lacks(tracer, label)]
            if not able:
                if given_up is not None:
                    raise given_up
                return None
            # Whoever the pool likes best, unless some are known to be unable.
            prefer = None if len(able) == len(self._pool.labels) else able[0]
            policy = CallPolicy(heavy=True, caller_made=True, prefer=prefer, null_elsewhere=True)
            try:
                reply = await self._pool.call(tracer.method, [wanted, *tracer.options], policy, deadline=view.deadline)
            except NotFound:
                await self._prove_mined(wanted, view)
                raise self._missing() from None
            except (NotSupported, InvalidArgument) as error:
                await self._prove_mined(wanted, view)
                self._forbear(tracer, error.refusals)
                return None
            if read_refusal(reply.result) is not None:
                # Others may have more time for it.
                given_up = UpstreamUnavailable(f"endpoint {reply.endpoint} of {self._slug} gave the trace up")
                strange |= {reply.endpoint, prefer or reply.endpoint}
                continue
            try:
                frames = await self._parse(tracer, reply)
            except ValueError:
                # Some nodes answer an unknown hash in another shape too: that teaches nothing about them.
                await self._prove_mined(wanted, view)
                if reply.result == b"null":
                    raise self._missing() from None
                self._note(tracer, reply.endpoint)
                # The pool may have passed over the preferred endpoint because it is down: it is not asked for ever.
                strange |= {reply.endpoint, prefer or reply.endpoint}
                continue
            self._forbear(tracer, reply.refusals)
            return frames

    async def _parse(self, tracer: Tracer, reply: Reply) -> Frames:
        if len(reply.result) > _LARGE:
            return await asyncio.to_thread(tracer.parse, reply.result)
        return tracer.parse(reply.result)

    async def _prove_mined(self, wanted: str, view: ReadView) -> None:
        """Raise Pending or NotFound unless the transaction is in a block."""
        absence = await self._transactions.explain_absence(wanted, view)
        if absence is not None:
            raise absence

    def _missing(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(f"the nodes of {self._slug} have no trace of the transaction yet; try again")

    def _lacks(self, tracer: Tracer, label: str) -> bool:
        return self._lacking.get((tracer.name, label), 0.0) > self._clock()

    def _note(self, tracer: Tracer, label: str) -> None:
        self._lacking[tracer.name, label] = self._clock() + LEARNED_SECONDS

    def _forbear(self, tracer: Tracer, refusals: Mapping[str, GatewayError]) -> None:
        for label, error in refusals.items():
            if isinstance(error, NotSupported | InvalidArgument):
                self._note(tracer, label)
