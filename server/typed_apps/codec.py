"""Typed requests -> requests of CallMethod, and its responses -> typed responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from waypost.v1 import marketplace_outcome_pb2, marketplace_pb2

from server.abi.arguments import FIELD, MAX_BYTES
from server.abi.events import Event
from server.abi.functions import Function
from server.errors import InvalidArgument
from server.typed_apps.design import hashed_inputs
from server.typed_apps.members import read_filters, read_members, write_member, write_members

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from server.catalog.apps import PublishedMethod

_JSON: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(list[Any])
_SUCCESS = marketplace_outcome_pb2.SIMULATION_STATUS_SUCCESS


class FunctionCodec:
    """Arguments and outputs of a function."""

    def __init__(self, method: PublishedMethod) -> None:
        function = Function.parse(method.abi_item)
        self._inputs = [one.type for one in function.inputs]
        self._outputs = [one.type for one in function.outputs]

    def arguments(self, args: Any) -> list[Any]:
        """Return the JSON of the arguments in their order."""
        return read_members(args, self._inputs)

    def write(self, typed: Any, outcome: Any) -> None:
        """Fill in a typed response from the outcome of a call."""
        typed.block_height = outcome.block_height
        write_members(typed.outputs, self._outputs, _JSON.decode(outcome.outputs.json))


class SimulationCodec(FunctionCodec):
    """Arguments of a function that changes state, and the outcome of simulating it."""

    def write(self, typed: Any, outcome: Any) -> None:
        """Fill in a typed response from the outcome of a simulation; a failed one has no outputs."""
        if outcome.status == _SUCCESS:
            super().write(typed, outcome)
        typed.block_height = outcome.block_height
        typed.status = "0x1" if outcome.status == _SUCCESS else "0x0"
        typed.gas_used = outcome.gas_used
        for log in outcome.logs:
            typed.logs.add(address=log.address, topics=log.topics, data=log.data)
        _copy_optional(outcome, typed, "logs_available", "reason", "gas_used_available")


class EventCodec:
    """Filters of an event, and pages of its logs."""

    def __init__(self, method: PublishedMethod) -> None:
        self._inputs = [one.type for one in Event.parse(method.abi_item).inputs]
        self._hashed = hashed_inputs(method)

    def arguments(self, args: Any) -> list[Any]:
        """Return the JSON of the filters in the order of the inputs, null for those that are not set."""
        return read_filters(args, self._inputs)

    def write(self, typed: Any, outcome: Any) -> None:
        """Fill in a typed response from a page of events."""
        typed.count, typed.limit, typed.has_more = outcome.count, outcome.limit, outcome.has_more
        _copy_optional(outcome, typed, "cursor")
        for log in outcome.logs:
            added = typed.logs.add(
                address=log.address,
                block_number=log.block_number,
                transaction_hash=log.transaction_hash,
                log_index=log.log_index,
            )
            self._write_arguments(added.args, _JSON.decode(log.args.json))

    def _write_arguments(self, args: Any, values: list[Any]) -> None:
        args.SetInParent()
        fields = args.DESCRIPTOR.fields_by_number
        for number, (kind, is_hashed, value) in enumerate(zip(self._inputs, self._hashed, values, strict=True), 1):
            name = fields[number].name
            if not is_hashed:
                write_member(args, name, kind, value)
            else:
                # A version of the event may hold the value itself.
                setattr(args, name, value if isinstance(value, str) else msgspec.json.encode(value).decode())


_CODECS: dict[str, type[FunctionCodec | EventCodec]] = {
    "call": FunctionCodec,
    "simulateCall": SimulationCodec,
    "getLogs": EventCodec,
}


class MethodCodec:
    """Reads requests and writes responses of one published method, given the classes of its typed messages."""

    def __init__(self, method: PublishedMethod, request: type[Message], response: type[Message]) -> None:
        self._name = method.name
        self._request = request
        self._response = response
        self._codec = _CODECS[method.operation](method)
        names = request.DESCRIPTOR.fields_by_name
        self._place = [(name, field.has_presence) for name, field in names.items() if name != FIELD]
        self._has_args = FIELD in names

    def read_request(self, raw: bytes) -> marketplace_pb2.CallMethodRequest:
        """Return the call that a serialised typed request asks for.

        Raises:
            DecodeError: the bytes are no such request.
            InvalidArgument: they are more than the arguments of a call may be.
        """
        if len(raw) > MAX_BYTES:
            raise InvalidArgument(f"the request has {len(raw)} bytes; write at most {MAX_BYTES}", field=FIELD)
        typed: Any = self._request.FromString(raw)
        call = marketplace_pb2.CallMethodRequest(method=self._name)
        for name, has_presence in self._place:
            if typed.HasField(name) if has_presence else getattr(typed, name):
                setattr(call, name, getattr(typed, name))
        if self._has_args:
            call.args.json = msgspec.json.encode(self._codec.arguments(typed.args))
        return call

    def write_response(self, answer: marketplace_pb2.CallMethodResponse) -> bytes:
        """Return what CallMethod answered as a serialised typed response."""
        typed: Any = self._response(chain=answer.chain, address=answer.address)
        self._codec.write(typed, getattr(answer, str(answer.WhichOneof("outcome"))))
        return bytes(typed.SerializeToString())


def _copy_optional(source: Any, target: Any, *names: str) -> None:
    for name in names:
        if source.HasField(name):
            setattr(target, name, getattr(source, name))
