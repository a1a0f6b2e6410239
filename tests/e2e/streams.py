"""Watches over each way that they are served, read as one, and a client of logs that holds what it was sent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2
from waypost.v1 import stream_pb2

from runtime.operations import load_watches
from server.streams.events import Event
from tests.server.streams.clients import ADDED, REMOVED, ROLLED_BACK, WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from google.protobuf.message import Message

KEY = "local"
WAYS = ("grpc", "sse", "socket")

_WATCHES = {watch.name: watch for watch in load_watches()}
_CHANNEL = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0))


class StreamEnded(Exception):
    """The gateway ended a stream, or is not there: `reason` (empty: none was given) and `cursor`."""

    def __init__(self, reason: str, cursor: str = "") -> None:
        super().__init__(reason or "no reason given")
        self.reason = reason
        self.cursor = cursor


class Target(NamedTuple):
    """Where a gateway listens: `http` without a slash at its end, `grpc` as `host:port`."""

    http: str
    grpc: str


def open_watch(way: str, target: Target, name: str, *, key: str = KEY, **params: str) -> AsyncIterator[Event]:
    """Return the events of a watch over one of `WAYS`; StreamEnded where it ends."""
    return {"grpc": _read_grpc, "sse": _read_sse, "socket": _read_socket}[way](target, name, key, params)


async def _read_grpc(target: Target, name: str, key: str, params: dict[str, str]) -> AsyncIterator[Event]:
    watch = _WATCHES[name]
    request = json_format.ParseDict(
        {field: [value] if field in ("address", "topic0") else value for field, value in params.items()},
        watch.request(),
    )
    async with grpc.aio.insecure_channel(target.grpc, options=_CHANNEL) as channel:
        call = channel.unary_stream(watch.path, request_serializer=watch.request.SerializeToString)
        try:
            async for message in call(request, metadata=(("x-api-key", key),)):
                yield Event(message, watch.response.FromString(message).cursor)  # type: ignore[attr-defined]
        except grpc.aio.AioRpcError as error:
            raise _ended(error) from None


def _ended(error: grpc.aio.AioRpcError) -> StreamEnded:
    info = error_details_pb2.ErrorInfo()
    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for detail in status_pb2.Status.FromString(packed).details:
        detail.Unpack(info)
    return StreamEnded(info.reason, info.metadata["cursor"])


async def _read_sse(target: Target, name: str, key: str, params: dict[str, str]) -> AsyncIterator[Event]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, read_bufsize=1 << 22) as session,
            session.get(f"{target.http}/{key}/v1/stream/{name}", params=params) as response,
        ):
            if response.status != 200:
                raise _refused(await response.json())
            kind = ""
            async for line in response.content:
                member, _, value = line.decode().rstrip("\n").partition(": ")
                if member == "event":
                    kind = value
                elif member == "data" and kind == "error":
                    raise _refused(json.loads(value))
                elif member == "data":
                    yield _event(name, json.loads(value))
    except (aiohttp.ClientError, OSError) as error:
        raise StreamEnded("") from error
    raise StreamEnded("")


async def _read_socket(target: Target, name: str, key: str, params: dict[str, str]) -> AsyncIterator[Event]:
    try:
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{target.http}/{key}/v1/ws") as socket:
            request = {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": [name, params]}
            await socket.send_json(request)
            async for message in socket:
                document = json.loads(message.data)
                if "error" in document:
                    raise _refused(document)
                if document.get("method") != "subscription":
                    continue
                if "error" in document["params"]:
                    raise _refused(document["params"])
                yield _event(name, document["params"]["event"])
    except (aiohttp.ClientError, OSError) as error:
        raise StreamEnded("") from error
    raise StreamEnded("")


def _refused(document: Any) -> StreamEnded:
    data = document["error"]["data"]
    return StreamEnded(data["reason"], data.get("cursor", ""))


def _event(name: str, document: dict[str, Any]) -> Event:
    """Return an event over HTTP as the message that it was made of."""
    written = document | {
        "kind": f"EVENT_KIND_{document['kind']}",
        "finality": f"FINALITY_{document['finality']}",
    }
    message: Message = json_format.ParseDict(written, _WATCHES[name].response(), ignore_unknown_fields=True)
    return Event(message.SerializeToString(), document["cursor"])


class LogClient:
    """Reads a stream of logs; `logs` are those that it holds, by block, its hash and place, in order.

    `head` is the newest block that an event spoke of.
    """

    def __init__(self) -> None:
        self.logs: list[tuple[int, str, int]] = []
        self.kinds: list[stream_pb2.EventKind] = []
        self.repeated = 0
        self.cursor = ""
        self._stream: AsyncIterator[Event] | None = None

    def attach(self, stream: AsyncIterator[Event]) -> None:
        self._stream = stream

    async def next(self) -> stream_pb2.WatchLogsResponse:
        """Take one event, check it and apply it."""
        assert self._stream is not None
        event = await asyncio.wait_for(anext(self._stream), WAIT_SECONDS)
        message = stream_pb2.WatchLogsResponse.FromString(event.payload)
        assert message.cursor == event.cursor
        self.cursor = event.cursor
        self.kinds.append(message.kind)
        place = (message.block_number, message.block_hash, message.log.log_index)
        if message.kind == ADDED:
            assert message.log.block_number == message.block_number
            if place in self.logs:
                self.repeated += 1
                assert place == self.logs[-1], "only the log of the cursor comes once more"
            else:
                assert not self.logs or place[::2] > self.logs[-1][::2], "logs come in the order of the chain"
                self.logs.append(place)
        elif message.kind == REMOVED:
            assert self.logs.pop() == place, "the newest is removed first, as it was added"
        elif message.kind == ROLLED_BACK:
            self.logs = [log for log in self.logs if log[0] <= message.block_number]
        return message

    async def until(self, is_reached: Callable[[LogClient], bool]) -> None:
        """Take events until what is held is as wanted."""
        while not is_reached(self):
            await self.next()

    async def close(self) -> None:
        stream, self._stream = self._stream, None
        await stream.aclose()  # type: ignore[union-attr]  # an asynchronous generator
