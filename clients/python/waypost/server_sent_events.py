"""Streams over HTTP as server-sent events, for where gRPC cannot pass. Needs `waypost[jsonrpc]`."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Generic

import grpc
from waypost.errors import TransportError, WaypostError
from waypost.http_answers import described, failure_of, httpx2, parsed_of, unreached
from waypost.json_messages import params_of, parse, read
from waypost.methods import Answer
from waypost.target import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from google.protobuf.message import Message
    from waypost.methods import StreamMethod

# The gateway sends a comment every 15 seconds.
SILENCE = httpx2.Timeout(10.0, read=45.0)
FAILURE, END = "error", "end"


class Frames:
    """Takes the bytes of a response and yields its events, `(name, data)`."""

    def __init__(self) -> None:
        self._rest = b""
        self._name, self._data = "", list[bytes]()
        self._ready: deque[tuple[str, bytes]] = deque()

    def feed(self, received: bytes) -> None:
        """Take bytes in the order that they come."""
        # Not as text: a line separator of Unicode within JSON ends no line here.
        *lines, self._rest = (self._rest + received).split(b"\n")
        if len(self._rest) > MOST_BYTES:
            raise TransportError("an event of the stream is too long")
        for line in lines:
            self._take(line.removesuffix(b"\r"))

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if self._data:
                self._ready.append((self._name, b"\n".join(self._data)))
            self._name, self._data = "", []
        elif name == b"event":
            self._name = value.decode(errors="replace")
        elif name == b"data":
            self._data.append(value)

    def pop(self) -> tuple[str, bytes] | None:
        """Return the next event that is complete, None where there is none yet."""
        return self._ready.popleft() if self._ready else None


class Reception(Generic[Answer]):
    """What both kinds of clients do alike with a stream: its request, and what its events mean."""

    def __init__(self, url: str, method: StreamMethod[Answer], request: Message) -> None:
        self._method = method
        self.frames = Frames()
        name, params = params_of(request, described(method.path))
        if isinstance(params, list):
            params = {"items": [":".join(map(str, item.values())) for item in params]}
        cursor = params.pop("cursor", "")
        self._url = f"{url}/stream/{name}"
        # Lists are repeated members, items have their text form; a cursor may be too long for a URL.
        self._query: list[tuple[str, str | int | float | bool | None]] = [
            (member, str(value))
            for member, values in params.items()
            for value in (values if isinstance(values, list) else [values])
        ]
        self._headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        if cursor:
            self._headers["Last-Event-ID"] = cursor

    def opening(self, http: httpx2.Client | httpx2.AsyncClient) -> httpx2.Request:
        """Return the request that opens the stream."""
        return http.build_request("GET", self._url, params=self._query, headers=self._headers, timeout=SILENCE)

    def event_of(self, name: str, data: bytes) -> Answer | None:
        """Return an event, None for the end of the stream; raises WaypostError for a failure."""
        if name == END:
            return None
        try:
            members = parse(data)
        except ValueError:
            raise broken("the stream holds what is no JSON") from None
        if name == FAILURE:
            raise failure_of(members.get("error", members))
        event = read(self._method.answer, members)
        assert isinstance(event, self._method.answer)
        return event


def refused(status: int, content: bytes) -> WaypostError:
    """Return the exception for a response that is no stream."""
    answer = parsed_of(status, content)
    return failure_of(answer["error"]) if "error" in answer else broken()


def broken(text: str = "the stream broke off") -> TransportError:
    """Return the exception for a stream that ended without a word."""
    error = TransportError(text)
    error.status = grpc.StatusCode.UNAVAILABLE
    return error


class HttpEvents(Generic[Answer]):
    """The events of one response."""

    def __init__(self, http: httpx2.Client, url: str, method: StreamMethod[Answer], request: Message) -> None:
        self._http = http
        self._reception = Reception(url, method, request)
        self._response: httpx2.Response | None = None
        self._received: Iterator[bytes] = iter(())

    def read(self) -> Answer | None:
        """Return the next event, None after the last; raises WaypostError."""
        event: Answer | None = None
        try:
            while (frame := self._reception.frames.pop()) is None:
                self._reception.frames.feed(self._receive())
            event = self._reception.event_of(*frame)
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            raise unreached(failure) if self._response is None else broken() from None
        finally:
            if event is None:
                self.close()
        return event

    def _receive(self) -> bytes:
        if self._response is None:
            self._response = self._http.send(self._reception.opening(self._http), stream=True)
            if self._response.status_code != httpx2.codes.OK:
                raise refused(self._response.status_code, self._response.read())
            self._received = self._response.iter_bytes()
        received = next(self._received, None)
        if received is None:
            raise broken()
        return received

    def close(self) -> None:
        """End the response; who reads it in another thread notices with what comes next, a comment at the latest."""
        if self._response is not None:
            self._response.close()


class AsyncHttpEvents(Generic[Answer]):
    """The events of one response, for an event loop."""

    def __init__(self, http: httpx2.AsyncClient, url: str, method: StreamMethod[Answer], request: Message) -> None:
        self._http = http
        self._reception = Reception(url, method, request)
        self._response: httpx2.Response | None = None
        self._received: AsyncIterator[bytes] | None = None
        self._reading: asyncio.Task[bytes] | None = None

    async def read(self) -> Answer | None:
        """Return the next event, None after the last; raises WaypostError. To cancel it ends the call."""
        event: Answer | None = None
        try:
            while (frame := self._reception.frames.pop()) is None:
                self._reading = asyncio.ensure_future(self._receive())
                self._reception.frames.feed(await self._reading)
            event = self._reception.event_of(*frame)
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            raise unreached(failure) if self._response is None else broken() from None
        finally:
            if event is None:
                await self.close()
        return event

    async def _receive(self) -> bytes:
        if self._received is None:
            self._response = await self._http.send(self._reception.opening(self._http), stream=True)
            if self._response.status_code != httpx2.codes.OK:
                raise refused(self._response.status_code, await self._response.aread())
            self._received = self._response.aiter_bytes()
        received = await anext(self._received, None)
        if received is None:
            raise broken()
        return received

    async def close(self) -> None:
        """End the response; who reads it in another task is cancelled."""
        if self._reading is not None:
            self._reading.cancel()
        if self._response is not None:
            await self._response.aclose()
