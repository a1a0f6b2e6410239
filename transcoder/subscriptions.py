"""JSON-RPC over a socket: every operation as over POST, and `subscribe`, `unsubscribe` with their notifications."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from runtime.metrics import socket_events
from transcoder.calls import over_quota
from transcoder.errors import Failure, internal
from transcoder.messages import DEMO
from transcoder.openrpc import NOTIFICATION, SUBSCRIBE, UNSUBSCRIBE
from transcoder.requests import NULL, BodyError, InvalidItem, identity_of, outline, read_item
from transcoder.scalars import described, parsed, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from transcoder.calls import Admission
    from transcoder.dispatch import Batch
    from transcoder.exchange import Exchange
    from transcoder.messages import Messages
    from transcoder.pages import Parts
    from transcoder.requests import Item
    from transcoder.sockets import Socket
    from transcoder.watches import Rendered, Stream, Watch, Watches

_SUBSCRIBE_FORM = '["watchBlocks", {"chain": "ethereum"}] or {"watch": "watchBlocks", "params": {"chain": "ethereum"}}'
_WATCH, _PARAMS, _SUBSCRIPTION = "watch", "params", "subscription"
# Only one of them alone can be either.
_MENTION = SUBSCRIBE.encode()

_NOTHING = msgspec.Raw(b"")
_FORMS: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, msgspec.Raw] | list[msgspec.Raw])

_log = logging.getLogger(__name__)


async def open_stream(watch: Watch, request: Any, segment: str, admission: Admission, exchange: Exchange) -> Stream:
    """Return an open stream of the caller with the key `segment`, which its call admits. Raises Failure."""
    if segment == DEMO:
        admitted = await admission.admit(None, 1, exchange)
        if admitted.admitted < 1:
            raise over_quota(admitted)
        exchange.admit(admitted.principal)
    else:
        exchange.present(segment)
    stream = watch.open(request, exchange.metadata)
    try:
        await stream.begin()
    except Failure as failure:
        stream.cancel()
        if failure.code == 401:
            admission.forget(segment)
        raise
    return stream


async def charge_refused(segment: str, admission: Admission, failure: Failure, exchange: Exchange) -> Failure:
    """Charge a request that leads to no call, and return the failure to answer: its own, or that of the admission."""
    try:
        admitted = await admission.admit(None if segment == DEMO else segment, 1, exchange)
    except Failure as refusal:
        return refusal
    if admitted.admitted < 1:
        return over_quota(admitted)
    await admission.report(admitted.principal, [failure.reason], exchange)
    return failure


class ApiSpeaker:
    """Speaks the API over one socket of the key `segment`; `base` returns the URL by which the socket was opened."""

    takes_binary = False

    def __init__(
        self,
        socket: Socket,
        segment: str,
        messages: Messages,
        calls: Batch,
        admission: Admission,
        watches: Watches,
        base: Callable[[], str],
        connection: Any,
    ) -> None:
        self._socket = socket
        self._segment = segment
        self._messages = messages
        self._calls = calls
        self._admission = admission
        self._watches = watches
        self._base = base
        self._connection = connection
        self._open: dict[str, _Subscription] = {}

    async def answer(self, message: bytes, exchange: Exchange) -> bytes | None:
        """Return the answer to a request or a batch; that to `subscribe` is sent here, before the first event."""
        content: Any = b""
        broken: BodyError | None = None
        try:
            content = outline(message)
        except Failure as failure:
            broken = BodyError(failure, 200)
        item = None if broken else _subscribing(content)
        if item is not None:
            return await self._subscribing(item, exchange)
        try:
            answer = await self._messages.answer(
                self._calls, self._segment, content, broken, exchange, {}, self._base, self._connection
            )
        except Failure as failure:
            return failure.body(NULL if isinstance(content, list) else identity_of(content), exchange.request_id)
        return None if answer.body is None else whole(answer.body)

    async def leave(self) -> None:
        """End every subscription and say so."""
        for one in self._open.values():
            failure = Failure(
                503, "UPSTREAM_UNAVAILABLE", "this gateway is stopping; go on at the cursor", retry_after_ms=500
            )
            one.stream.end(failure)
        tasks = [one.task for one in self._open.values() if one.task is not None]
        if tasks:
            await asyncio.wait(tasks)

    def close(self) -> None:
        """End every subscription."""
        for one in self._open.values():
            one.cancel()

    async def _subscribing(self, item: Item, exchange: Exchange) -> bytes | None:
        try:
            try:
                if item.identity is None:
                    message = f"{item.method} needs an id: its answer names the subscription"
                    raise Failure(400, "INVALID_REQUEST", message)
                if item.method == UNSUBSCRIBE:
                    return _result(item.identity, self._unsubscribe(item))
                watch, request = self._read(item)
            except Failure as failure:
                raise await charge_refused(self._segment, self._admission, failure, exchange) from None
            stream = await open_stream(watch, request, self._segment, self._admission, exchange)
        except Failure as failure:
            return failure.body(item.identity or NULL, exchange.request_id)
        subscription = f"{random.getrandbits(64):016x}"
        one = self._open[subscription] = _Subscription(self._socket, subscription, stream, exchange.request_id)
        try:
            await self._socket.send(_result(item.identity, subscription))
        except BaseException:
            del self._open[subscription]
            one.cancel()
            raise
        if self._open.get(subscription) is one:
            one.task = asyncio.create_task(one.run())
            one.task.add_done_callback(lambda _: self._open.pop(subscription, None))
        return None

    def _read(self, item: Item) -> tuple[Watch, Any]:
        try:
            value = _FORMS.decode(item.params)
        except msgspec.DecodeError:
            value = []
        if isinstance(value, dict):
            if value.keys() - {_WATCH, _PARAMS}:
                raise unknown(value, (_WATCH, _PARAMS), "")
            raw, params = value.get(_WATCH, _NOTHING), value.get(_PARAMS, _NOTHING)
        elif 1 <= len(value) <= 2:
            raw, params = value[0], value[1] if len(value) == 2 else _NOTHING
        else:
            raise Failure(400, "INVALID_ARGUMENT", f"params of subscribe must be {_SUBSCRIBE_FORM}", field=_PARAMS)
        name = parsed(raw, _WATCH) if bytes(raw) else None
        if not isinstance(name, str):
            message = f"watch must be the name of a watch, not {described(name)}; write {_SUBSCRIBE_FORM}"
            raise Failure(400, "INVALID_ARGUMENT", message, field=_WATCH)
        watch = self._watches.find(name)
        return watch, watch.read(params)

    def _unsubscribe(self, item: Item) -> bool:
        value = parsed(item.params, "") if bytes(item.params) else None
        if isinstance(value, dict) and value.keys() == {_SUBSCRIPTION}:
            value = [value[_SUBSCRIPTION]]
        if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], str):
            message = 'params of unsubscribe must be ["<subscription>"], the text that subscribe answered'
            raise Failure(400, "INVALID_ARGUMENT", message, field=_SUBSCRIPTION)
        one = self._open.pop(value[0], None)
        if one is None:
            return False
        one.cancel()
        return True


class _Subscription:
    """Sends the events of one stream over a socket."""

    def __init__(self, socket: Socket, identity: str, stream: Stream, request_id: str) -> None:
        self.stream = stream
        self.task: asyncio.Task[None] | None = None
        self._socket = socket
        self._request_id = request_id
        head = b'{"jsonrpc":"2.0","method":"%s","params":{"subscription":"%s",'
        self._head = head % (NOTIFICATION.encode(), identity.encode())

    async def run(self) -> None:
        """Send the events, then why there are no more."""
        send, head, count = self._socket.send, self._head, socket_events("websocket")
        try:
            while events := await self.stream.next():
                await send(*[_notification(head, event) for event in events])
                count.count += len(events)
            last = b'"end":true}}'
        except ConnectionError:
            return
        except Failure as failure:
            last = b'"error":%s}}' % failure.error(self._request_id)
        except Exception:
            _log.exception("a subscription failed", extra={"request_id": self._request_id})
            last = b'"error":%s}}' % internal().error(self._request_id)
        finally:
            self.stream.cancel()
        with suppress(ConnectionError):
            await send(head + last)

    def cancel(self) -> None:
        """Send nothing more."""
        self.stream.cancel()
        if self.task is not None:
            self.task.cancel()


def _notification(head: bytes, event: Rendered) -> bytes:
    if not event.cursor:
        return b'%s"event":%s}}' % (head, event.text)
    return b'%s"cursor":%s,"event":%s}}' % (head, orjson.dumps(event.cursor), event.text)


def _subscribing(content: Any) -> Item | None:
    """Return the request if it is for the socket itself; None for all others, of which the API answers."""
    if isinstance(content, list) or _MENTION not in content:
        return None
    try:
        item = read_item(content)
    except InvalidItem:
        return None
    return item if item.method in (SUBSCRIBE, UNSUBSCRIBE) else None


def _result(identity: bytes, value: Any) -> bytes:
    return b'{"jsonrpc":"2.0","result":%s,"id":%s}' % (orjson.dumps(value), identity)


def whole(body: bytes | Parts) -> bytes:
    """Return a body that may be in parts as one."""
    if isinstance(body, bytes):
        return body
    return b"".join(part if isinstance(part, bytes) else part.text for part in body)
