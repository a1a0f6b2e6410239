"""Which JSON-RPC names exist, and how request objects are read, called and answered (contract section 4.1).

Methods come from the descriptors. Each request object is executed on its own, all at once, answered in their order.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grpc.aio import AioRpcError, UsageError

from runtime.config_errors import nearest
from runtime.operations import literal
from transcoder.calls import failure_of, given_up
from transcoder.discover import DISCOVER, Discovered
from transcoder.errors import Failure, clipped, internal
from transcoder.exchange import ANSWER_HEADERS, COST
from transcoder.kept import Asked, KeptMethod
from transcoder.openrpc import SUBSCRIBE, UNSUBSCRIBE
from transcoder.params import parameters_reader
from transcoder.render import result_renderer
from transcoder.requests import MOST_ITEMS, NULL, InvalidItem, Item, identity_of, read_item
from transcoder.scalars import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import msgspec
    from google.protobuf.message import Message

    from runtime.operations import Operation
    from transcoder.discover import Discovery
    from transcoder.exchange import Exchange
    from transcoder.kept import KeptAnswers
    from transcoder.pages import Parts
    from transcoder.params import Parameters


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
    """One operation on a channel. Its codecs are compiled when it is first called."""

    def __init__(self, operation: Operation, channel: Any, kept: KeptAnswers | None = None) -> None:
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
        self.names_itself = operation.stands_for_many
        is_kept = kept is not None and takes_result(operation) and kept.keeps_of(operation)
        self.kept = KeptMethod(operation, channel, kept, self.timeout) if kept is not None and is_kept else None
        # What its admission costs, whatever it is asked for.
        self.costs_one = operation.cost == 1 and not operation.takes_items and not operation.stands_for_many

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
    def status_of(self) -> Callable[[Message], int] | None:
        """The function from a response message to the HTTP status of a single call; None where that is always 200."""
        name = self.operation.options.http_status_from
        if not name:
            return None
        field = self.operation.response.DESCRIPTOR.fields_by_name[name]
        statuses = {value.number: literal(value).http_status or 200 for value in field.enum_type.values}
        return lambda response: statuses.get(getattr(response, name), 200)


class Index:
    """Every JSON-RPC name, aliases included. Raises DuplicateName when two operations share one.

    `kept` are the answers that a server in this process keeps.

    A name that ends in `*` stands for every name that begins with the text before it. Streams are no methods.
    """

    def __init__(self, operations: Iterable[Operation], channel: Any, kept: KeptAnswers | None = None) -> None:
        self._methods: dict[str, Method] = {}
        operations = tuple(operations)
        self._watches = [operation.name for operation in operations if operation.is_stream]
        for operation in (one for one in operations if not one.is_stream):
            method = Method(operation, channel, kept)
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
        if name in (SUBSCRIBE, UNSUBSCRIBE):
            message = f"{name} is for the WebSocket at GET /<API_KEY>/v1/ws, by itself and in no batch"
            raise Failure(404, "METHOD_UNKNOWN", message)
        if name in self._watches:
            ways = f"subscribe to it over a WebSocket at /<API_KEY>/v1/ws, or read GET /<API_KEY>/v1/stream/{name}"
            raise Failure(404, "NOT_AVAILABLE", f"{name} is a stream and cannot be posted; {ways}")
        near = nearest(name, (*self._methods, *self._watches))
        hint = f'; did you mean "{near}"?' if near else "; rpc.discover lists the operations"
        raise Failure(404, "METHOD_UNKNOWN", f'unknown method "{clipped(name)}"{hint}')


MIRRORED = frozenset({401, 429, 503})
REFUSED = frozenset({401, 429})
# A caller that was admitted, and charged, may not have this all the same.
NOT_ALLOWED = "KEY_NOT_ALLOWED"

# Why a notification is answered after all (decisions 1.6): it never was a request of ours, or its caller may not call.
UNEXECUTED = frozenset(
    {
        *("PARSE_ERROR", "INVALID_REQUEST", "METHOD_UNKNOWN", "INVALID_ARGUMENT", "UNKNOWN_PARAMETER"),
        *("CHAIN_UNKNOWN", "CHAIN_UNSUPPORTED", "KEY_MISSING", "KEY_INVALID", NOT_ALLOWED, "RATE_LIMITED"),
    }
)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Answer:
    """What one item is answered: a response object, None for a notification.

    A body that holds what others hold too is in parts. The rest is for the HTTP answer of a single call: its status,
    when to come back, further headers. `headers` is None where the server was not called: the caller is not charged.
    `refusal` is the failure of a caller that was not admitted: by the key, or by the quota. `cost` are the units that
    its call was charged; None where there was no call, `reason` says why.
    """

    body: bytes | Parts | None
    status: int = 200
    retry_after_ms: int | None = None
    headers: dict[str, str] | None = None
    refusal: Failure | None = None
    cost: int | None = None
    reason: str = ""


@dataclass(slots=True)
class Started:
    """A call in progress, to be finished by what began it; without a method by what knows it."""

    method: Method | Discovered | None
    call: Any
    identity: bytes | None
    asked: Asked | None = None


class NotAdmitted(Exception):
    """The request leads to a call that admits no caller by itself: it is for callers that are admitted already."""


class Batch:
    """Executes the items of HTTP requests over the index's channel."""

    most_items = MOST_ITEMS
    """The most items of one request."""

    def __init__(self, index: Index, discovery: Discovery) -> None:
        self._index = index
        self._discovery = discovery

    def begin(self, raw: bytes | msgspec.Raw, exchange: Exchange, base: Callable[[], str]) -> Started | Answer:
        """Begin an item, with `base` for its URL; return its answer where that is there at once.

        Raises NotAdmitted for `rpc.discover` in an exchange that the server has not admitted.
        """
        try:
            item = read_item(raw)
        except InvalidItem as invalid:
            return refused(invalid.failure, invalid.identity, exchange)
        try:
            if item.method == DISCOVER:
                return self._discover(item, exchange, base)
            method = self._index.find(item.method)
            if method.kept is not None:
                begun = method.kept.begin(item.params, method.read, method.render, exchange.metadata)
                if isinstance(begun, Asked):
                    return Started(method, begun.call, item.identity, begun)
                given = _answered(begun.result, 200, item.identity)
                # Kept is what cost its admission alone.
                given.headers, given.cost = _headers(begun.metadata), 1
                return given
            request = method.read(item.params)
            if method.names_itself:
                request.method = item.method  # type: ignore[attr-defined]  # every such request has it (options.proto)
            call = method.call(request, timeout=method.timeout, metadata=exchange.metadata)
        except UsageError:
            return refused(given_up(), item.identity, exchange)
        except Failure as failure:
            return refused(failure, item.identity, exchange)
        except NotAdmitted:
            raise
        except Exception:
            return defect(item.method, item.identity, exchange)
        return Started(method, call, item.identity)

    async def finish(self, entry: Started, exchange: Exchange) -> Answer:
        """Return the answer of the only item of a request, begun here, with the headers that the server gave it."""
        try:
            answer = await self._finish(entry, exchange)
            metadata = await entry.call.trailing_metadata()
            # Not "metadata or ()": it counts its entries one by one.
            answer.headers = {} if metadata is None else _headers(metadata)
            return answer
        except asyncio.CancelledError:
            entry.call.cancel()
            raise

    async def run(
        self, items: Sequence[bytes | msgspec.Raw], exchange: Exchange, base: Callable[[], str]
    ) -> list[Answer]:
        """Return the answers of the items, in their order; one that fails leaves the others alone.

        Every call leaves before the first answer is awaited. When the HTTP client goes away (this coroutine is
        cancelled) the calls still in progress are cancelled. A lone item's answer has the headers of `finish`.
        """
        started = [self.begin(item, exchange, base) for item in items]
        finish = self.finish if len(started) == 1 else self._finish
        answers: list[Answer] = []
        try:
            for entry in started:
                if isinstance(entry, Answer):
                    answers.append(entry)
                    continue
                answer = await finish(entry, exchange)
                answer.cost = await _cost_of(entry)
                answers.append(answer)
        except asyncio.CancelledError:
            for entry in started[len(answers) :]:
                if isinstance(entry, Started):
                    entry.call.cancel()
            raise
        return answers

    async def _finish(self, started: Started, exchange: Exchange) -> Answer:
        method, identity = started.method, started.identity
        assert method is not None
        try:
            response = await started.call
            asked = started.asked
            if asked is not None and isinstance(method, Method) and method.kept is not None:
                result = method.kept.result(asked.params, asked.request, response, method.render)
                return _answered(result, 200, identity)
            result = method.render(response)
            status = 200 if method.status_of is None else method.status_of(response)
        except (AioRpcError, asyncio.CancelledError) as error:
            return failed(failure_of(error), identity, exchange)
        except Failure as failure:
            return failed(failure, identity, exchange)
        except Exception:
            return defect(method.name, identity, exchange)
        return _answered(result, status, identity)

    def identity_of(self, raw: bytes | msgspec.Raw) -> bytes:
        """Return the id that an error for this item is answered under, null where it has no usable one."""
        return identity_of(raw)

    def refuse(self, raw: msgspec.Raw, failure: Failure, exchange: Exchange) -> Answer:
        """Return the answer of an item that is refused before it is looked at."""
        return refused(failure, self.identity_of(raw), exchange)

    def _discover(self, item: Item, exchange: Exchange, base: Callable[[], str]) -> Started:
        if bytes(item.params) and parsed(item.params, "") not in ({}, [], None):
            raise Failure(400, "INVALID_ARGUMENT", "rpc.discover takes no parameters; send an empty object")
        if not exchange.admitted:
            raise NotAdmitted
        call = self._discovery.charge(exchange)
        if exchange.span is not None:
            exchange.span.add_item(DISCOVER)
        return Started(Discovered(self._discovery, base()), call, item.identity)


def takes_result(operation: Operation) -> bool:
    """Return whether an answer is its `result` alone: its status is always 200, its method's name no part of it."""
    return not operation.options.http_status_from and not operation.stands_for_many


def _answered(result: bytes | Parts, status: int, identity: bytes | None) -> Answer:
    if identity is None:
        return Answer(None, 204)
    if isinstance(result, bytes):
        return Answer(b"".join((b'{"jsonrpc":"2.0","result":', result, b',"id":', identity, b"}")), status)
    return Answer((b'{"jsonrpc":"2.0","result":', *result, b',"id":' + identity + b"}"), status)


def _headers(metadata: Iterable[tuple[str, Any]]) -> dict[str, str]:
    return {ANSWER_HEADERS[name]: value for name, value in metadata if name in ANSWER_HEADERS}


async def _cost_of(started: Started) -> int:
    """Return the units that an admitted call was charged, as the server states it; 1 where it does not."""
    if isinstance(started.method, Method) and started.method.costs_one:
        return 1
    for name, value in await started.call.trailing_metadata() or ():
        if name == COST and value.isdecimal():
            return int(value)
    return 1


def failed(failure: Failure, identity: bytes | None, exchange: Exchange) -> Answer:
    """Return the answer of an item that has none."""
    if identity is None:
        if failure.reason not in UNEXECUTED:
            return Answer(None, 204, reason=failure.reason)
        identity = NULL
    status = failure.code if failure.code in MIRRORED else 200
    refusal = failure if status in REFUSED and failure.reason != NOT_ALLOWED else None
    body = exchange.print_failure(failure, identity, exchange.request_id)
    return Answer(body, status, failure.retry_after_ms, refusal=refusal, reason=failure.reason)


def refused(failure: Failure, identity: bytes | None, exchange: Exchange) -> Answer:
    """Return the answer of an item that no call is made for."""
    if exchange.span is not None:
        exchange.span.add_item("refused", failure.reason)
    return failed(failure, identity, exchange)


def defect(method: str, identity: bytes | None, exchange: Exchange) -> Answer:
    """Return the answer of an item at which the gateway itself failed; writes the exception's line."""
    _log.exception("an item failed", extra={"operation": clipped(method), **exchange.log_ids()})
    return failed(internal(), identity, exchange)
