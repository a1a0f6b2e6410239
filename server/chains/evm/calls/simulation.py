"""What nodes answer when they run a call: `eth_simulateV1` and the `callTracer` of `debug_traceCall`.

Sources: execution-apis, eth_simulateV1; go-ethereum, eth/tracers/native/call.go (`withLog`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.chains.capabilities.contracts import SimulatedLog, SimulatesTransactions, Simulation
from server.chains.evm.calls.trace import split_frames
from server.chains.evm.node_errors import EvmErrors
from server.chains.shared.validated_reads import Doubtful
from server.contracts.address import checksum_address
from server.contracts.reverts import describe_revert, is_revert_payload
from server.contracts.words import json_count, json_data, quantity
from server.errors import GatewayError, InvalidArgument, NotSupported, OutOfGas, Reverted, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from server.chains.capabilities.contracts import CallRequest
    from server.chains.evm.calls.call import CallReader
    from server.chains.evm.newest import Heights
    from server.chains.view import ReadView


class Ran(NamedTuple):
    """What a call did: see `Simulation`. `reason` is None also for a failure without a reason from the node."""

    succeeded: bool
    data: bytes
    gas: int | None
    logs: tuple[SimulatedLog, ...] | None
    reason: str | None


class _Log(msgspec.Struct):
    address: str
    topics: list[str]
    data: str
    position: str | None = None


class _Failure(msgspec.Struct):
    message: str = ""
    data: str | None = None


class _Call(msgspec.Struct, rename="camel"):
    status: str
    gas_used: str
    return_data: str
    logs: list[_Log] = []
    error: _Failure | None = None


class _Block(msgspec.Struct):
    calls: list[_Call]


class _Frame(msgspec.Struct, rename="camel"):
    type: str
    gas_used: str
    output: str | None = None
    error: str | None = None
    logs: list[_Log] = []


_BLOCKS = msgspec.json.Decoder(list[_Block])
_FRAME = msgspec.json.Decoder(_Frame)
_ERRORS = EvmErrors()


def parse_simulated_blocks(result: bytes) -> Ran:
    """Return what the only call of an `eth_simulateV1` did; ValueError where the answer has another shape."""
    try:
        blocks = _BLOCKS.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a list of simulated blocks") from error
    calls = [call for block in blocks for call in block.calls]
    if len(calls) != 1:
        raise ValueError("not one call")
    call = calls[0]
    data = _bytes(call.return_data)
    succeeded = quantity(call.status) == 1
    if not succeeded and not data and call.error is not None and call.error.data:
        data = _bytes(call.error.data)
    reason = None if succeeded else describe_failure(data, call.error.message if call.error else "")
    logs = tuple(map(_log, call.logs)) if succeeded else ()
    return Ran(succeeded, data, quantity(call.gas_used), logs, reason)


def parse_traced_call(result: bytes) -> Ran:
    """Return what a call of `debug_traceCall` did, its logs in the order in which they were written.

    Raises:
        ValueError: the answer has another shape, as of nodes that know only the tracer of single steps.
    """
    try:
        frames = [(parent, _FRAME.decode(own)) for parent, own in split_frames(result)]
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a call of callTracer") from error
    if not frames:
        raise ValueError("no call at all")
    top = frames[0][1]
    data = _bytes(top.output or "0x")
    reason = None if top.error is None else describe_failure(data, top.error)
    return Ran(top.error is None, data, quantity(top.gas_used), _ordered(frames), reason)


def describe_failure(data: bytes, words: str) -> str | None:
    """Return why a call failed, by what it returned or by the node's text; None where neither gives a reason."""
    if data or "revert" in words.lower():
        return describe_revert(data)
    halt = _ERRORS.explain_halt(words)
    return None if halt is None else halt.message


def _ordered(frames: list[tuple[int | None, _Frame]]) -> tuple[SimulatedLog, ...]:
    """Return the logs of all calls that did not fail, in the order in which they were written.

    A frame lists its own logs; `position` states after how many of its calls each was written. What a failed call, or
    one inside it, wrote is undone.
    """
    calls: list[list[int]] = [[] for _ in frames]
    for index, (parent, _) in enumerate(frames):
        if parent is not None:
            calls[parent].append(index)
    found: list[SimulatedLog] = []
    # Calls go deeper than Python recurses, and a place of each by its whole path would take the square of the depth.
    waiting: list[int | _Log] = [0]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _Log):
            found.append(_log(one))
            continue
        frame = frames[one][1]
        if frame.error is None:
            waiting += reversed(_interleaved(frame.logs, calls[one]))
    return tuple(found)


def _interleaved(logs: list[_Log], calls: list[int]) -> list[int | _Log]:
    """Return a frame's logs and calls in their order: each log after as many calls as its position states."""
    if not logs:
        return [*calls]
    places = [quantity(log.position) if log.position else 0 for log in logs]
    own: list[tuple[int, int, int | _Log]] = [(place, 0, log) for place, log in zip(places, logs, strict=True)]
    own += [(place, 1, call) for place, call in enumerate(calls)]
    return [one for _, _, one in sorted(own, key=lambda row: row[:2])]


def _log(log: _Log) -> SimulatedLog:
    for text in (*log.topics, log.data):
        _bytes(text)
    return SimulatedLog(checksum_address(log.address), tuple(log.topics), log.data)


def _bytes(text: str) -> bytes:
    if not text.startswith("0x"):
        raise ValueError("not hex bytes")
    return bytes.fromhex(text[2:])


# `eth_simulateV1` and the `callTracer` of `debug_traceCall` report everything that a call would do; `eth_call` with
# `eth_estimateGas` reports what it returns and the gas of a success, but no logs. What the nodes have is learned from
# their answers, never configured: an interface is passed over for a while once all of them lack it.

LEARNED_SECONDS = 600.0
"""How long an interface that no node of a chain has is not asked for."""


class _Interface(NamedTuple):
    """One way to run a call: the method, its first parameter, those after the block, and how its answer is read."""

    method: str
    first: Callable[[dict[str, Any]], dict[str, Any]]
    options: tuple[object, ...]
    parse: Callable[[bytes], Ran]

    def read(self, result: bytes) -> Ran:
        """Return what the call did; Doubtful for an answer in another shape: a node may have a method by name alone."""
        try:
            return self.parse(result)
        except ValueError:
            raise Doubtful(NotSupported(f"the nodes answer {self.method} in a shape of their own")) from None


# In the order of preference. Transfers of coin are no logs of a contract: `traceTransfers` stays off.
_INTERFACES = (
    _Interface(
        "eth_simulateV1",
        lambda call: {"blockStateCalls": [{"calls": [call]}], "validation": False, "traceTransfers": False},
        (),
        parse_simulated_blocks,
    ),
    _Interface(
        "debug_traceCall",
        lambda call: call,
        ({"tracer": "callTracer", "tracerConfig": {"withLog": True}, "timeout": "20s"},),
        parse_traced_call,
    ),
)
_LACKS = (NotSupported, InvalidArgument)


class Simulator(SimulatesTransactions):
    """Simulates on one chain. `clock` in seconds."""

    def __init__(self, calls: CallReader, heights: Heights, clock: Callable[[], float] = time.monotonic) -> None:
        self._calls = calls
        self._heights = heights
        self._clock = clock
        self._lacking: dict[str, float] = {}

    async def simulate_transaction(self, call: CallRequest, view: ReadView) -> Simulation:
        """See `SimulatesTransactions`."""
        return await self._heights.explain_block_error(self._simulate(call, view), view, "height")

    async def _simulate(self, call: CallRequest, view: ReadView) -> Simulation:
        params = self._calls.params(call)
        unable: list[str] = []
        for interface in _INTERFACES:
            if self._lacking.get(interface.method, 0.0) > self._clock():
                continue
            try:
                ran = await self._calls.run(
                    interface.method, interface.first(params), view, interface.read, *interface.options
                )
            except _LACKS:
                # Distinguished from a call that the nodes refuse by its running through another interface.
                unable.append(interface.method)
                continue
            except UpstreamUnavailable:
                continue
            if not ran.succeeded and ran.reason is None:
                ran = ran._replace(reason=await self._ask_why(params, view))
            return self._settle(ran, unable, view)
        return self._settle(await self._call_and_estimate(call, params, view), unable, view)

    def _settle(self, ran: Ran, unable: list[str], view: ReadView) -> Simulation:
        for method in unable:
            self._lacking[method] = self._clock() + LEARNED_SECONDS
        return Simulation(ran.succeeded, ran.data, ran.gas, ran.logs, ran.reason, view.block or 0)

    async def _ask_why(self, params: dict[str, Any], view: ReadView) -> str:
        """Return why a call failed of which this interface gave no reason: a plain call may give one."""
        try:
            await self._calls.run("eth_call", params, view, json_data)
        except Reverted as error:
            return error.message
        except GatewayError:
            pass
        return "the call fails without a reason"

    async def _call_and_estimate(self, call: CallRequest, params: dict[str, Any], view: ReadView) -> Ran:
        """Return what plain calls report: of a failed one neither gas nor logs, but a failed one writes no logs."""
        try:
            data = await self._calls.run("eth_call", params, view, json_data)
        except Reverted as error:
            if error.data is None and not isinstance(error, OutOfGas):
                # Refused before anything ran: the sender cannot pay, or no node runs such a call.
                raise
            if view.block is None:
                # The failure does not state its block: the call is run once more, at one that is known.
                await self._calls.settle(view)
                return await self._call_and_estimate(call, params, view)
            return Ran(False, error.data or b"", None, (), error.message)
        if is_revert_payload(data):
            return Ran(False, data, None, (), describe_revert(data))
        try:
            gas = await self._calls.run("eth_estimateGas", params, view, json_count)
        except (Reverted, *_LACKS):
            gas = None
        return Ran(True, data, gas, None, None)
