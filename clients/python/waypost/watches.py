"""Streams that go on by themselves: what of them was delivered, where a broken one continues, and when."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import grpc
from waypost.errors import TransportError, WaypostError
from waypost.methods import Answer
from waypost.target import ATTEMPTS, FIRST_PAUSE, GROWTH
from waypost.v1.stream_pb2 import EVENT_KIND_ADDED, EVENT_KIND_REMOVED, EVENT_KIND_ROLLED_BACK
from waypost.v1.stream_state_pb2 import WatchedBalance, WatchedPrice

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol, Self

    from google.protobuf.message import Message

    Sent = TypeVar("Sent", bound=Message, covariant=True)

    class Events(Protocol[Sent]):
        """One call of a stream."""

        def read(self) -> Sent | None:
            """Return the next event, None after the last; raises WaypostError."""
            ...

        def close(self) -> None:
            """End the call; may be called while another thread reads."""
            ...

    class AsyncEvents(Protocol[Sent]):
        """One call of a stream, of an event loop."""

        async def read(self) -> Sent | None:
            """Return the next event, None after the last; raises WaypostError. To cancel it ends the call."""
            ...

        async def close(self) -> None:
            """End the call; may be called while another task reads, which is cancelled."""
            ...


LONGEST_PAUSE = 30.0
PASSING = {"UPSTREAM_UNAVAILABLE", "PRICE_UNAVAILABLE", "SLOW_CONSUMER", "DEADLINE_EXCEEDED"}
RATE_LIMITED = "RATE_LIMITED"
# What proxies, and connections that break, make of a stream that nothing is wrong with.
BROKEN = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.CANCELLED,
}
# When a value was read is no change of it; which block a transaction is in is one.
_MOMENTS = {WatchedBalance.DESCRIPTOR.name: "block_number", WatchedPrice.DESCRIPTOR.name: "last_updated"}


class Position:
    """What one watch has delivered; decides which events are new and what a failure leads to."""

    def __init__(self, request: Message, quota_wait: float = 0.0, patience: float | None = None) -> None:
        self._request = request
        self._has_cursor = "cursor" in request.DESCRIPTOR.fields_by_name
        self._quota_wait, self._patience = quota_wait, patience
        self._has_begun = False
        self._failures, self._failing_since, self._opened = 0, 0.0, 0.0
        # Of a stream of events: what was delivered of the newest block, and of the events without one the last.
        self._block: tuple[int, str] | None = None
        self._delivered: set[bytes] = set()
        self._last, self._may_repeat = b"", False
        # Of a stream of values: the newest of each item, and the items not seen since the stream began anew.
        self._values: dict[int, bytes] = {}
        self._unseen: set[int] = set()

    @property
    def cursor(self) -> str:
        """Where the stream goes on after the last event delivered; empty for values, and before the first event."""
        return self._request.cursor if self._has_cursor else ""  # type: ignore[attr-defined]

    def resume(self) -> Message:
        """Return the request to go on with."""
        self._may_repeat = bool(self._has_begun)
        self._unseen = set(self._values)
        self._opened = time.monotonic()
        return self._request

    def take(self, event: Any) -> bool:
        """Return whether an event is to be delivered, and not one that was; it is counted as delivered."""
        self._has_begun, self._failing_since = True, 0.0
        is_new = self._take_event(event) if self._has_cursor else self._take_value(event)
        if is_new:
            self._failures = 0
        return is_new

    def _take_event(self, event: Any) -> bool:
        seen = _digest(event, "cursor", "finality")
        self._request.cursor = event.cursor or self._request.cursor  # type: ignore[attr-defined]
        if event.kind == EVENT_KIND_ADDED:
            block = (event.block_number, event.block_hash)
            if block != self._block:
                self._block, self._delivered, self._may_repeat = block, set(), False
            elif self._may_repeat and seen in self._delivered:
                return False
            self._delivered.add(seen)
        elif event.kind in (EVENT_KIND_REMOVED, EVENT_KIND_ROLLED_BACK):
            is_kept = event.kind == EVENT_KIND_ROLLED_BACK and event.block_number >= (self._block or (0,))[0]
            if not is_kept:
                self._block, self._delivered, self._may_repeat = None, set(), False
        elif self._may_repeat and seen == self._last:
            return False
        self._last = seen
        return True

    def _take_value(self, value: Any) -> bool:
        item = getattr(value, "item", 0)
        seen = _digest(value)
        is_repeated = item in self._unseen and self._values.get(item) == seen
        self._unseen.discard(item)
        self._values[item] = seen
        return not is_repeated

    def pause_after(self, failure: WaypostError) -> float:
        """Return the seconds until the stream is to go on; raises the failure where that is no use."""
        now = time.monotonic()
        if self._has_begun and now - self._opened > LONGEST_PAUSE:
            self._failures = 0
        planned = min(FIRST_PAUSE * GROWTH**self._failures, LONGEST_PAUSE)
        self._failures += 1
        self._failing_since = self._failing_since or now
        # Many streams break at once where a gateway ends: they come back one after the other.
        pause = planned * random.uniform(0.5, 1.0)
        if failure.retry_after is not None:
            pause = max(pause, failure.retry_after * random.uniform(1.0, 1.2))
        if not self._is_passing(failure, pause):
            raise failure
        return pause

    def _is_passing(self, failure: WaypostError, pause: float) -> bool:
        if failure.reason == RATE_LIMITED:
            if failure.retry_after is None:
                return False
            if not self._has_begun:
                self._quota_wait -= pause
                return self._quota_wait >= 0
        elif isinstance(failure, TransportError):
            if failure.status not in BROKEN:
                return False
        elif failure.reason not in PASSING:
            return False
        if not self._has_begun:
            return self._failures < ATTEMPTS
        return self._patience is None or time.monotonic() + pause - self._failing_since <= self._patience


def _digest(message: Any, *left_out: str) -> bytes:
    compared = type(message)()
    compared.CopyFrom(message)
    for name in left_out:
        compared.ClearField(name)
    value = compared.value if "value" in compared.DESCRIPTOR.fields_by_name and compared.HasField("value") else None
    if value is not None and (moment := _MOMENTS.get(value.DESCRIPTOR.name)):
        value.ClearField(moment)
    return hashlib.blake2b(compared.SerializeToString(deterministic=True), digest_size=16).digest()


class Watch(Generic[Answer]):
    """The events of one stream, to iterate over; a stream that breaks goes on where it was.

    What broke it is waited out: a gateway that restarts or is not reached, events that came too fast (`SlowConsumer`),
    a quota used up, the time limit of a demo key. Iterating raises everything else as `WaypostError`, `CursorTooOld`
    among it, and what breaks the stream before its first event. `with` or `close` ends it.
    """

    def __init__(self, opening: Callable[[Message], Events[Answer]], position: Position) -> None:
        self._opening, self._position = opening, position
        self._events: Events[Answer] | None = None
        self._closed = threading.Event()

    @property
    def cursor(self) -> str:
        """Where another watch could go on: after the last event iterated over. Empty for streams of values."""
        return self._position.cursor

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Answer:
        while not self._closed.is_set():
            try:
                if self._events is None:
                    self._events = self._opening(self._position.resume())
                event = self._events.read()
            except WaypostError as failure:
                self._events = None
                if not self._closed.is_set():
                    self._closed.wait(self._pause(failure))
                continue
            if event is None:
                self._closed.set()
            elif self._position.take(event):
                return event
        raise StopIteration

    def _pause(self, failure: WaypostError) -> float:
        try:
            return self._position.pause_after(failure)
        except WaypostError:
            self._closed.set()
            raise

    def close(self) -> None:
        """End the stream; iterating over it ends, in another thread too."""
        self._closed.set()
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWatch(Generic[Answer]):
    """The events of one stream as those of `Watch`, for one event loop: `async for`, `async with`, `aclose`."""

    def __init__(self, opening: Callable[[Message], AsyncEvents[Answer]], position: Position) -> None:
        self._opening, self._position = opening, position
        self._events: AsyncEvents[Answer] | None = None
        self._closed = asyncio.Event()

    @property
    def cursor(self) -> str:
        """Where another watch could go on: after the last event iterated over. Empty for streams of values."""
        return self._position.cursor

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Answer:
        while not self._closed.is_set():
            try:
                if self._events is None:
                    self._events = self._opening(self._position.resume())
                event = await self._events.read()
            except WaypostError as failure:
                self._events = None
                if not self._closed.is_set():
                    await self._wait(self._pause(failure))
                continue
            except asyncio.CancelledError:
                # Who stops waiting for an event may ask for it later: the call is gone, the position is not.
                self._events = None
                task = asyncio.current_task()
                if not self._closed.is_set() or (task is not None and task.cancelling()):
                    raise
                continue
            if event is None:
                self._closed.set()
            elif self._position.take(event):
                return event
        raise StopAsyncIteration

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closed.wait()

    def _pause(self, failure: WaypostError) -> float:
        try:
            return self._position.pause_after(failure)
        except WaypostError:
            self._closed.set()
            raise

    async def aclose(self) -> None:
        """End the stream; iterating over it ends, in another task too."""
        self._closed.set()
        if self._events is not None:
            await self._events.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
