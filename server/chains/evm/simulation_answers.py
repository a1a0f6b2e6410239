"""What nodes answer when they run a call: `eth_simulateV1` and the `callTracer` of `debug_traceCall`.

Sources: execution-apis, eth_simulateV1; go-ethereum, eth/tracers/native/call.go (`withLog`).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from server.chains.capabilities import SimulatedLog
from server.chains.evm.node_errors import EvmErrors
from server.chains.evm.trace_frames import split_frames
from server.checksum import checksum_address
from server.contracts.quantity import quantity
from server.contracts.reverts import describe_revert


class Ran(NamedTuple):
    """What a call did: see `Simulation`. `reason` is None also for a failure that the node does not explain."""

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
    """Return why a call failed, by what it returned or by the node's words; None where neither tells."""
    if data or "revert" in words.lower():
        return describe_revert(data)
    halt = _ERRORS.explain_halt(words)
    return None if halt is None else halt.message


def _ordered(frames: list[tuple[int | None, _Frame]]) -> tuple[SimulatedLog, ...]:
    """Return the logs of all calls that did not fail, in the order in which they were written.

    A frame lists its own logs; `position` says after how many of its calls each was written. What a failed call, or
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
    """Return a frame's logs and calls in their order: each log after as many calls as its position says."""
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
