"""The typed services of all published apps, as the gateway serves them: one service per app, one rpc per method.

ABI values pass between the fields of typed messages and Python values; position among the values and field number (from
1) belong together. See `server.marketplace.design` for the fields.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from waypost.v1 import marketplace_pb2

from server.contracts.types import Array, Tuple
from server.errors import InvalidArgument
from server.marketplace.design import ITEMS, design_app, hashed_inputs, scalar_of
from server.marketplace.methods import Method
from server.marketplace.proto_files import file_descriptor
from server.marketplace.values import FIELD, MAX_BYTES, bound_arguments, json_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from google.protobuf.message import Message

    from runtime.operations import Operation
    from server.contracts.types import Type
    from server.marketplace.catalogue import Catalogue, PublishedMethod
    from server.marketplace.methods import Target

    AnswerCall = Callable[[marketplace_pb2.CallMethodRequest, "TypedFace"], Awaitable[Any]]

CALL_METHOD = "/waypost.v1.MarketplaceService/CallMethod"

# The typed message of the call being served; what the stages see of it is a request of CallMethod. Never reset: every
# call runs in a task and context of its own.
_TYPED: ContextVar[Any] = ContextVar("waypost_typed_request")


class TypedServices:
    """One service per app. `files` are their serialised descriptors by name, `names` the services' full names."""

    def __init__(self, catalogue: Catalogue) -> None:
        layouts = [design_app(app, catalogue) for app in catalogue.apps.values()]
        self.names: Sequence[str] = [layout.service_name for layout in layouts]
        self.files: Mapping[str, bytes] = {
            layout.path: file_descriptor(layout).SerializeToString() for layout in layouts
        }
        pool = DescriptorPool()
        for file in self.files.values():
            pool.AddSerializedFile(file)  # type: ignore[no-untyped-call]
        self._rpcs = {
            f"/{layout.service_name}/{rpc.name}": _TypedRpc(rpc.method, pool, f"{layout.package}.{rpc.name}")
            for layout in layouts
            for rpc in layout.rpcs
        }

    def operations(self, call_method: Operation) -> dict[str, Operation]:
        """Return the operation of each path: all are the one that calls published methods."""
        return dict.fromkeys(self._rpcs, call_method)

    def handlers(self, answer_call: AnswerCall) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Return the handlers by path; `answer_call` calls the method of a request and fills in the face's answer."""
        return {
            path: grpc.unary_unary_rpc_method_handler(
                rpc.answered_by(answer_call),
                request_deserializer=rpc.read_request,
                response_serializer=_serialise,
            )
            for path, rpc in self._rpcs.items()
        }


class _TypedRpc:
    """One rpc; its message classes are made when it is first called."""

    def __init__(self, method: PublishedMethod, pool: DescriptorPool, prefix: str) -> None:
        self._method = method
        self._pool = pool
        self._prefix = prefix

    @cached_property
    def _codec(self) -> MethodCodec:
        request, response = (
            GetMessageClass(self._pool.FindMessageTypeByName(self._prefix + suffix))  # type: ignore[no-untyped-call]
            for suffix in ("Request", "Response")
        )
        return MethodCodec(self._method, request, response)

    def read_request(self, raw: bytes) -> marketplace_pb2.CallMethodRequest:
        call, typed = self._codec.read_request(raw)
        _TYPED.set(typed)
        return call

    def answered_by(self, answer_call: AnswerCall) -> Callable[[Any, Any], Awaitable[Any]]:
        """Return the servicer method."""

        def answer(request: marketplace_pb2.CallMethodRequest, context: Any) -> Awaitable[Any]:
            return answer_call(request, TypedFace(self._codec, _TYPED.get()))

        return answer


class MethodCodec:
    """Reads requests and writes responses of one published method, given the classes of its typed messages."""

    statuses = ("0x0", "0x1")

    def __init__(self, method: PublishedMethod, request: type[Message], response: type[Message]) -> None:
        parsed = Method.of(method, ())
        self.response = response
        self._name = method.name
        self._request = request
        names = request.DESCRIPTOR.fields_by_name
        self._place = [(name, field.has_presence) for name, field in names.items() if name != FIELD]
        self._has_args = FIELD in names
        self._is_event = parsed.function is None
        inputs = parsed.events[0].inputs if parsed.function is None else parsed.function.inputs
        self._inputs = [one.type for one in inputs]
        self._outputs = [] if parsed.function is None else [one.type for one in parsed.function.outputs]
        self._hashed = hashed_inputs(method) if self._is_event else []

    def read_request(self, raw: bytes) -> tuple[marketplace_pb2.CallMethodRequest, Any]:
        """Return the call that a serialised typed request asks for, without its arguments, and the typed request.

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
        return call, typed

    def read_arguments(self, typed: Any) -> list[Any]:
        """Return the arguments of a typed request in their order, of an event null for those that are not set.

        A message field that is unset is null, too. Raises InvalidArgument where there are too many.
        """
        if not self._has_args:
            return []
        read = _read_filters if self._is_event else _read_members
        return bound_arguments(read(typed.args, self._inputs))

    def write_outputs(self, answer: Any, values: Sequence[Any] | None) -> None:
        """Set the outputs; a failed simulation has none."""
        if values is not None:
            _write_members(answer.outputs, self._outputs, values)

    def write_arguments(self, log: Any, values: Sequence[Any]) -> None:
        """Set the arguments of an event; hashed ones as text, for a version of the event may hold the value itself."""
        args = log.args
        args.SetInParent()
        fields = args.DESCRIPTOR.fields_by_number
        for number, (kind, is_hashed, value) in enumerate(zip(self._inputs, self._hashed, values, strict=True), 1):
            if is_hashed:
                setattr(args, fields[number].name, json_text(value))
            else:
                _write_member(args, fields[number].name, kind, value)


class TypedFace:
    """One typed call: its arguments, and the response that is filled in."""

    def __init__(self, codec: MethodCodec, typed: Any) -> None:
        self.writer = codec
        self._typed = typed

    def read_arguments(self) -> list[Any]:
        """Return the arguments as `MethodCodec.read_arguments` does."""
        return self.writer.read_arguments(self._typed)

    def begin(self, method: Method, target: Target) -> tuple[Any, Any]:
        """Return the response, and the message that the outcome is written into: the same."""
        response: Any = self.writer.response(chain=target.chain, address=target.address)
        return response, response


def _serialise(response: Any) -> bytes:
    return bytes(response.SerializeToString())


def _read_members(message: Any, kinds: Sequence[Type]) -> list[Any]:
    """Return the values of all fields of a message; None for a message field that is unset."""
    fields = message.DESCRIPTOR.fields_by_number
    return [_read(message, fields[number].name, kind) for number, kind in enumerate(kinds, 1)]


def _read_filters(message: Any, kinds: Sequence[Type]) -> list[Any]:
    """Return the values of the fields that are set, None for the others and for kinds that have no field."""
    fields = message.DESCRIPTOR.fields_by_number
    values: list[Any] = []
    for number, kind in enumerate(kinds, 1):
        if number not in fields or not message.HasField(fields[number].name):
            values.append(None)
        elif isinstance(kind, Array):
            values.append(_read(getattr(message, fields[number].name), ITEMS, kind))
        else:
            values.append(_read(message, fields[number].name, kind))
    return values


def _read(message: Any, name: str, kind: Type) -> Any:
    if isinstance(kind, Array):
        return [_read_element(element, kind.element) for element in getattr(message, name)]
    if isinstance(kind, Tuple):
        return _read_members(getattr(message, name), kind.members) if message.HasField(name) else None
    return getattr(message, name)


def _read_element(element: Any, kind: Type) -> Any:
    if isinstance(kind, Array):
        return [_read_element(inner, kind.element) for inner in getattr(element, ITEMS)]
    return _read_members(element, kind.members) if isinstance(kind, Tuple) else element


def _write_members(message: Any, kinds: Sequence[Type], values: Sequence[Any]) -> None:
    """Set all fields of a message, the message itself too where there are none."""
    message.SetInParent()
    fields = message.DESCRIPTOR.fields_by_number
    for number, (kind, value) in enumerate(zip(kinds, values, strict=True), 1):
        _write_member(message, fields[number].name, kind, value)


def _write_member(message: Any, name: str, kind: Type, value: Any) -> None:
    if isinstance(kind, Array):
        _write_list(getattr(message, name), kind.element, value)
    elif isinstance(kind, Tuple):
        _write_members(getattr(message, name), kind.members, value)
    else:
        setattr(message, name, str(value) if scalar_of(kind) == "string" else value)


def _write_list(field: Any, kind: Type, values: Sequence[Any]) -> None:
    if isinstance(kind, Array):
        for value in values:
            _write_list(getattr(field.add(), ITEMS), kind.element, value)
    elif isinstance(kind, Tuple):
        for value in values:
            _write_members(field.add(), kind.members, value)
    else:
        field.extend(map(str, values) if scalar_of(kind) == "string" else values)
