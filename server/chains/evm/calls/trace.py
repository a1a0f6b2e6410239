"""Call traces of nodes as a flat list of frames, each after its caller.

Two interfaces exist. `callTracer` answers one object that nests its calls (go-ethereum, eth/tracers); it is taken apart
without recursion, because the EVM nests deeper than parsers do. `trace_transaction` answers a flat list in which
`traceAddress` states where each call belongs (OpenEthereum, trace module).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from waypost.v1 import transaction_pb2

from server.chains.capabilities.blocks import TracesTransactions
from server.contracts.address import checksum_address
from server.contracts.calls import read_text
from server.contracts.reverts import ERROR_STRING
from server.contracts.words import quantity
from server.errors import GatewayError, InvalidArgument, NotFound, NotSupported, Pending, UpstreamUnavailable
from server.upstream.connector import CallPolicy
from server.upstream.jsonrpc import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.chains.evm.transactions import TransactionReader
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

    Frames = list[transaction_pb2.TraceFrame]


# Kinds of call that move no coin of their own; some nodes repeat the caller's value there.
_WITHOUT_VALUE = frozenset(("STATICCALL", "DELEGATECALL"))
_NO_CALLS = b"null"

# Which of its caller's calls a call is. Bounded, because calls are looked up by such numbers: any number of larger ones
# has one and the same hash (all that are equal modulo 2^61-1), and each look-up would go through all of them.
_Index = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]


class _Frame(msgspec.Struct, rename={"sender": "from", "gas_used": "gasUsed", "revert_reason": "revertReason"}):
    type: str
    sender: str
    to: str | None = None
    value: str | None = None
    gas: str | None = None
    gas_used: str | None = None
    input: str | None = None
    output: str | None = None
    error: str | None = None
    revert_reason: str | None = None


class _Action(
    msgspec.Struct,
    rename={
        "sender": "from",
        "call_type": "callType",
        "creation_method": "creationMethod",
        "refund_address": "refundAddress",
    },
):
    sender: str | None = None
    to: str | None = None
    value: str | None = None
    gas: str | None = None
    input: str | None = None
    init: str | None = None
    call_type: str | None = None
    creation_method: str | None = None
    address: str | None = None
    refund_address: str | None = None
    balance: str | None = None


class _Result(msgspec.Struct, rename="camel"):
    gas_used: str | None = None
    output: str | None = None
    address: str | None = None
    code: str | None = None


class _Step(msgspec.Struct, rename="camel"):
    action: _Action
    trace_address: list[_Index]
    type: str
    result: _Result | None = None
    error: str | None = None


class _Refusal(msgspec.Struct):
    error: str
    type: str | None = None


_FRAME = msgspec.json.Decoder(_Frame)
_STEPS = msgspec.json.Decoder(list[_Step])
_REFUSAL = msgspec.json.Decoder(_Refusal)


def read_refusal(result: bytes) -> str | None:
    """Return why the node gave the trace up, where it states it inside a result (`{"error": "execution timeout"}`)."""
    try:
        refusal = _REFUSAL.decode(result)
        return refusal.error if refusal.type is None else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def parse_call_tracer(result: bytes) -> list[transaction_pb2.TraceFrame]:
    """Return the frames of a `callTracer` answer.

    Raises:
        ValueError: the answer has another shape, as of nodes that know only the tracer of single steps.
    """
    frames = []
    for parent, own in split_frames(result):
        try:
            frames.append(_message(_FRAME.decode(own), parent))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError("not a call of callTracer") from error
    if not frames:
        raise ValueError("no call at all")
    return frames


def parse_trace_list(result: bytes) -> list[transaction_pb2.TraceFrame]:
    """Return the frames of a `trace_transaction` answer, in the order of `callTracer`; rewards are no calls.

    Raises:
        ValueError: the answer has another shape, or a call whose caller is missing.
    """
    try:
        steps = [step for step in _STEPS.decode(result) if step.type != "reward"]
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a list of traces") from error
    steps.sort(key=lambda step: step.trace_address)
    places: dict[tuple[int, ...], int] = {}
    frames = []
    for index, step in enumerate(steps):
        address = tuple(step.trace_address)
        parent = places.get(address[:-1]) if address else None
        if (parent is None) != (index == 0) or (index == 0 and address):
            raise ValueError("a call without its caller")
        places[address] = index
        frames.append(_message(_frame_of(step), parent))
    if not frames:
        raise ValueError("no call at all")
    return frames


def split_frames(text: bytes) -> list[tuple[int | None, bytes]]:
    """Return each call's own object, its `calls` replaced by null, with the index of its caller, callers first.

    Raises:
        ValueError: the text is no such object.
    """
    found: list[tuple[int | None, bytes]] = []
    stack: list[_Open] = []
    last = b""
    for token in tokens(text):
        mark, top = token[0], stack[-1] if stack else None
        if mark == b"{" and (top is None or (top.in_calls and top.depth == 0)):
            if top is None and found:
                raise ValueError("more than one object")
            stack.append(_Open(len(found), token.start()))
            found.append((None if top is None else top.index, b""))
        elif top is None:
            raise ValueError("not an object")
        elif mark == b"[" and last == b'"calls"' and top.depth == 0 and not top.in_calls:
            top.pieces.append(text[top.start : token.start()])
            top.in_calls = True
        elif mark == b"]" and top.in_calls and top.depth == 0:
            top.pieces.append(_NO_CALLS)
            top.in_calls, top.start = False, token.end()
        elif mark in (b"{", b"["):
            top.depth += 1
        elif mark == b"]" or (mark == b"}" and top.depth > 0):
            top.depth -= 1
        elif mark == b"}":
            top.pieces.append(text[top.start : token.end()])
            found[top.index] = (found[top.index][0], b"".join(top.pieces))
            stack.pop()
        last = mark
    if stack:
        raise ValueError("an object that does not end")
    return found


class _Open:
    """A call whose end is not reached yet; `depth` counts brackets inside it that are not its calls."""

    __slots__ = ("depth", "in_calls", "index", "pieces", "start")

    def __init__(self, index: int, start: int) -> None:
        self.index = index
        self.start = start
        self.depth = 0
        self.in_calls = False
        self.pieces: list[bytes] = []


def _frame_of(step: _Step) -> _Frame:
    action, result = step.action, step.result or _Result()
    if step.type in ("suicide", "selfdestruct"):
        return _Frame("SELFDESTRUCT", action.address or "", to=action.refund_address, value=action.balance)
    if step.type == "create":
        kind, to, given, out = action.creation_method or "create", result.address, action.init, result.code
    else:
        kind, to, given, out = action.call_type or "call", action.to, action.input, result.output
    return _Frame(
        type=kind,
        sender=action.sender or "",
        to=to,
        value=action.value,
        gas=action.gas,
        gas_used=result.gas_used,
        input=given,
        output=out,
        error=step.error,
    )


def _message(frame: _Frame, parent: int | None) -> transaction_pb2.TraceFrame:
    kind = frame.type.upper()
    output = frame.output or "0x"
    return transaction_pb2.TraceFrame(
        parent=parent,
        type=kind,
        from_address=checksum_address(frame.sender),
        to=checksum_address(frame.to) if frame.to else None,
        value="0" if kind in _WITHOUT_VALUE else _decimal(frame.value),
        gas=_decimal(frame.gas),
        gas_used=_decimal(frame.gas_used),
        input=frame.input or "0x",
        output=output,
        error=frame.error or None,
        revert_reason=frame.revert_reason or (_reason(output) if frame.error else None),
    )


def _decimal(text: str | None) -> str:
    return "0" if text is None else str(quantity(text))


def _reason(output: str) -> str | None:
    """Return the text of `Error(string)` in the return data of a failed call."""
    try:
        data = bytes.fromhex(output[2:])
    except ValueError:
        return None
    return read_text(data[4:]) if data[:4] == ERROR_STRING else None


LEARNED_SECONDS = 600.0
"""How long an endpoint that lacks an interface is not asked for it."""

# Larger answers are taken apart beside the event loop.
_LARGE = 256 * 1024


class Tracer(NamedTuple):
    """One interface: what callers read, method, parameters after the hash, and how its answer is read."""

    name: transaction_pb2.Tracer
    method: str
    options: tuple[object, ...]
    parse: Callable[[bytes], Frames]


# In the order of preference. The options object is always there: some nodes refuse the call without it (Monad), or
# answer single steps by default.
TRACERS = (
    Tracer(
        transaction_pb2.TRACER_CALL_TRACER,
        "debug_traceTransaction",
        ({"tracer": "callTracer", "timeout": "30s"},),
        parse_call_tracer,
    ),
    Tracer(transaction_pb2.TRACER_TRACE_TRANSACTION, "trace_transaction", (), parse_trace_list),
)


class TraceReader(TracesTransactions):
    """Traces transactions of one chain. `clock` in seconds."""

    def __init__(
        self, slug: str, pool: Pool, transactions: TransactionReader, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slug = slug
        self._pool = pool
        self._transactions = transactions
        self._clock = clock
        self._lacking: dict[tuple[transaction_pb2.Tracer, str], float] = {}

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
            # The endpoint that the pool prefers, unless some are known to lack it.
            prefer = None if len(able) == len(self._pool.labels) else able[0]
            policy = CallPolicy(heavy=True, caller_made=True, prefer=prefer, null_elsewhere=True)
            try:
                reply = await self._pool.call(tracer.method, [wanted, *tracer.options], policy, deadline=view.deadline)
            except NotFound:
                await self._prove_mined(wanted, view)
                raise self._missing() from None
            except (NotSupported, InvalidArgument) as error:
                await self._prove_mined(wanted, view)
                self._note_refusals(tracer, error.refusals)
                return None
            if read_refusal(reply.result) is not None:
                # Others may have more time for it.
                given_up = UpstreamUnavailable(f"endpoint {reply.endpoint} of {self._slug} gave the trace up")
                strange |= {reply.endpoint, prefer or reply.endpoint}
                continue
            try:
                frames = await self._parse(tracer, reply)
            except ValueError:
                # Some nodes answer an unknown hash in another shape too: nothing is learned about them from that.
                await self._prove_mined(wanted, view)
                if reply.result == b"null":
                    raise self._missing() from None
                self._note(tracer, reply.endpoint)
                # The pool may have passed over the preferred endpoint because it is down: it is not always asked.
                strange |= {reply.endpoint, prefer or reply.endpoint}
                continue
            self._note_refusals(tracer, reply.refusals)
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

    def _note_refusals(self, tracer: Tracer, refusals: Mapping[str, GatewayError]) -> None:
        for label, error in refusals.items():
            if isinstance(error, NotSupported | InvalidArgument):
                self._note(tracer, label)
