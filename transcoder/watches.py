"""The watches: which streams there are, how one is begun, and its events as JSON, rendered once however many read."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from grpc.aio import EOF, AioRpcError, UsageError

from runtime.config_errors import nearest
from transcoder.calls import failure_of, given_up
from transcoder.errors import Failure, clipped
from transcoder.params import parameters_reader
from transcoder.render import members_renderer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.message import Message

    from runtime.operations import Operation
    from transcoder.params import Parameters

OPENING_SECONDS = 5.0
"""How long a stream's first event, or why there is none, is waited for before the stream counts as open."""
MOST_RENDERED = 4 << 20
"""Bytes of events that are kept as they came, with how they print."""
MOST_AT_ONCE = 64 * 1024
"""Bytes of events that are sent in one write; the last one may go beyond."""
VALUE = "value"
CURSOR = "cursor"
_KIND = "kind"
# What an entry costs besides its texts.
_OVERHEAD = 300


class Rendered(NamedTuple):
    """One event: what kind it is (`value` of a stream of values), where to go on after it, and its JSON."""

    kind: str
    cursor: str
    text: bytes


class RenderedEvents:
    """The events that came last, printed: readers of one source are sent the same ones. Holds 4 MiB."""

    def __init__(self, most: int = MOST_RENDERED) -> None:
        self._most = most
        self._held = 0
        self._events: OrderedDict[tuple[str, bytes], Rendered] = OrderedDict()
        self.count = 0
        """How many were printed."""

    def of(self, watch: Watch, payload: bytes) -> Rendered:
        """Return the event that a payload of the watch is."""
        key = (watch.name, payload)
        found = self._events.get(key)
        if found is not None:
            self._events.move_to_end(key)
            return found
        printed = watch.print_event(payload)
        self.count += 1
        self._events[key] = printed
        self._held += _weight(payload, printed)
        while self._held > self._most:
            (_, oldest), other = self._events.popitem(last=False)
            self._held -= _weight(oldest, other)
        return printed


def _weight(payload: bytes, printed: Rendered) -> int:
    return len(payload) + len(printed.cursor) + len(printed.text) + _OVERHEAD


class Watch:
    """One operation that is subscribed to, on a channel."""

    def __init__(self, operation: Operation, channel: Any, events: RenderedEvents) -> None:
        self.operation = operation
        self.name = operation.name
        self.takes_cursor = CURSOR in operation.request.DESCRIPTOR.fields_by_name
        self._events = events
        self._channel = channel

    @cached_property
    def _call(self) -> Any:
        serialise = self.operation.request.SerializeToString
        return self._channel.unary_stream(self.operation.path, request_serializer=serialise)

    @cached_property
    def read(self) -> Parameters:
        """The function from raw `params` to a request message; raises Failure (400)."""
        return parameters_reader(self.operation)

    @cached_property
    def _members(self) -> Any:
        return members_renderer(self.operation.response.DESCRIPTOR)

    def print_event(self, payload: bytes) -> Rendered:
        """Return the event that the bytes are."""
        message: Any = self.operation.response.FromString(payload)
        members = self._members(message)
        return Rendered(members.get(_KIND) or VALUE, members.get(CURSOR) or "", orjson.dumps(members))

    def open(self, request: Message, metadata: Any) -> Stream:
        """Begin a stream. Raises Failure (503) when the channel is closed."""
        try:
            call = self._call(request, metadata=metadata)
        except UsageError as error:
            raise given_up() from error
        return Stream(self, call, self._events, getattr(request, CURSOR, ""))


class Watches:
    """Every watch by its name. All share one store of printed events."""

    def __init__(self, operations: Iterable[Operation], channel: Any) -> None:
        self.events = RenderedEvents()
        self._watches = {one.name: Watch(one, channel, self.events) for one in operations}

    def find(self, name: str) -> Watch:
        """Return the watch of that name. Raises Failure (404) naming those that there are."""
        watch = self._watches.get(name)
        if watch is None:
            near = nearest(name, self._watches)
            hint = f'did you mean "{near}"?' if near else "there are " + ", ".join(self._watches)
            raise Failure(404, "METHOD_UNKNOWN", f'unknown watch "{clipped(name)}"; {hint}')
        return watch


class Stream:
    """One open stream, read by one task at a time; `cursor` is where it goes on after what was read."""

    def __init__(self, watch: Watch, call: Any, events: RenderedEvents, cursor: str) -> None:
        self.watch = watch
        self.cursor = cursor
        self._call = call
        self._events = events
        self._ending: Failure | None = None
        self._first: asyncio.Task[Rendered | None] | None = None

    async def begin(self) -> None:
        """Wait until it is open. Raises Failure where it was refused."""
        self._first = asyncio.create_task(self._read())
        try:
            done, _ = await asyncio.wait({self._first}, timeout=OPENING_SECONDS)
        except asyncio.CancelledError:
            self.cancel()
            raise
        failure = self._first.exception() if done else None
        if failure is not None:
            raise failure

    async def next(self) -> list[Rendered]:
        """Return the next event and those that are there already, none at the end.

        Raises Failure where it ends otherwise, with the cursor it has.
        """
        first, self._first = self._first, None
        event = await (self._read() if first is None else first)
        if event is None:
            return []
        events, size = [event], len(event.text)
        # A call on a socket does not say what it has.
        is_ready = getattr(self._call, "is_ready", None)
        while is_ready is not None and size < MOST_AT_ONCE and is_ready():
            event = await self._read()
            assert event is not None
            events.append(event)
            size += len(event.text)
        return events

    def end(self, failure: Failure) -> None:
        """End it with the failure, which its reader gets."""
        self._ending = failure
        self._call.cancel()

    def cancel(self) -> None:
        """End it; nobody reads it any more."""
        if self._first is not None:
            self._first.cancel()
        self._call.cancel()

    async def _read(self) -> Rendered | None:
        try:
            payload = await self._call.read()
        except (AioRpcError, asyncio.CancelledError) as error:
            failure = failure_of(error)
            raise self._with_cursor(self._ending or failure) from None
        if payload is EOF:
            if self._ending is not None:
                raise self._with_cursor(self._ending)
            return None
        event = self._events.of(self.watch, payload)
        self.cursor = event.cursor
        return event

    def _with_cursor(self, failure: Failure) -> Failure:
        """Return the failure; one of the transport's or ours, which says not where to go on, with that."""
        if self.cursor and failure.code in _GO_ON and CURSOR not in failure.facts:
            failure.facts = {**failure.facts, CURSOR: self.cursor}
        return failure


# Failures after which the same request can go on.
_GO_ON = frozenset({429, 500, 503})
