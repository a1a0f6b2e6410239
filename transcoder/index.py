"""Descriptors -> methods: which JSON-RPC names exist, and how each is read, called and answered."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from runtime.nearest import nearest
from runtime.operations import literal
from transcoder.errors import Failure
from transcoder.names import clipped
from transcoder.render import result_renderer
from transcoder.requests import parameters_reader, stands_for_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import msgspec
    from google.protobuf.message import Message

    from runtime.operations import Operation
    from transcoder.requests import Parameters

# The server ends a call at its deadline; waiting a little longer lets its own answer arrive.
SLACK = 0.5

# Smaller responses are printed as quickly as they are compared; of larger ones none is kept.
LEAST_REPEATED = 512
MOST_REPEATED = 256 * 1024
CHAIN = "chain"


class DuplicateName(ValueError):
    """Two operations claim one JSON-RPC name."""


class Repeated:
    """The response of an operation that came last, parsed and printed.

    The server answers with the same bytes while what it reads of an off-chain source is the same: they are parsed and
    printed once. Kept are large responses of operations that take no chain.
    """

    def __init__(self, operation: Operation, render: Callable[[Message], bytes]) -> None:
        self._parse = operation.response.FromString
        self._render = render
        self._payload = b""
        self._response: Message | None = None
        self._printed: bytes | None = None

    def parse(self, payload: bytes) -> Message:
        """Return the response that the bytes are; not to be changed."""
        if self._response is not None and payload == self._payload:
            return self._response
        response: Message = self._parse(payload)
        if LEAST_REPEATED <= len(payload) <= MOST_REPEATED:
            self._payload, self._response, self._printed = payload, response, None
        return response

    def render(self, response: Message) -> bytes:
        """Return the bytes of `result`."""
        if response is not self._response:
            return self._render(response)
        if self._printed is None:
            self._printed = self._render(response)
        return self._printed


class Method:
    """One operation on a channel. Its codecs are compiled when it is first asked for."""

    def __init__(self, operation: Operation, channel: Any) -> None:
        self.operation = operation
        self.name = operation.name
        self.timeout = operation.deadline + SLACK
        takes_chain = CHAIN in operation.request.DESCRIPTOR.fields_by_name
        self._repeated = None if takes_chain else Repeated(operation, self._print)
        self.call = channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString if self._repeated is None else self._repeated.parse,
        )
        self._names_itself = stands_for_many(operation)

    def request(self, name: str, params: bytes | msgspec.Raw) -> Message:
        """Return the request message of a call under this name. Raises Failure (400)."""
        request = self.read(params)
        if self._names_itself:
            request.method = name  # type: ignore[attr-defined]  # every such request has it (options.proto)
        return request

    @cached_property
    def read(self) -> Parameters:
        """The function from raw `params` to a request message; raises Failure (400)."""
        return parameters_reader(self.operation)

    @cached_property
    def render(self) -> Callable[[Message], bytes]:
        """The function from a response message to the bytes of `result`."""
        return self._compiled if self._repeated is None else self._repeated.render

    @cached_property
    def _compiled(self) -> Callable[[Message], bytes]:
        return result_renderer(self.operation.response.DESCRIPTOR, self.operation.options.result)

    def _print(self, response: Message) -> bytes:
        return self._compiled(response)

    @cached_property
    def status_of(self) -> Callable[[Message], int]:
        """The function from a response message to the HTTP status of a single call."""
        name = self.operation.options.http_status_from
        if not name:
            return lambda _: 200
        field = self.operation.response.DESCRIPTOR.fields_by_name[name]
        statuses = {value.number: literal(value).http_status or 200 for value in field.enum_type.values}
        return lambda response: statuses.get(getattr(response, name), 200)


class Index:
    """Every JSON-RPC name, aliases included. Raises DuplicateName when two operations share one.

    A name that ends in `*` stands for every name that begins with the text before it.
    """

    def __init__(self, operations: Iterable[Operation], channel: Any) -> None:
        self._methods: dict[str, Method] = {}
        for operation in operations:
            method = Method(operation, channel)
            for name in (operation.name, *operation.aliases):
                if name in self._methods:
                    other = self._methods[name].operation.path
                    raise DuplicateName(f"{operation.path} and {other} both claim the JSON-RPC name {name}")
                self._methods[name] = method
        prefixes = [name.removesuffix("*") for name in self._methods if name.endswith("*")]
        # The longest prefix is the most particular one.
        self._prefixes = sorted(prefixes, key=len, reverse=True)

    def find(self, name: str) -> Method:
        """Return the method of that name. Raises Failure (404) naming the nearest one."""
        try:
            return self._methods[name]
        except KeyError:
            pass
        for prefix in self._prefixes:
            if name.startswith(prefix):
                return self._methods[prefix + "*"]
        near = nearest(name, self._methods)
        hint = f'; did you mean "{near}"?' if near else "; rpc.discover lists the operations"
        raise Failure(404, "METHOD_UNKNOWN", f'unknown method "{clipped(name)}"{hint}')
