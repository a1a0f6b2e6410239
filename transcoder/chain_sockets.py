"""A chain's own JSON-RPC over a socket: calls as over POST, and `eth_subscribe` with its notifications.

A subscription is a stream of `watchBlocks` or `watchLogs` in the words of EVM nodes: heads as `eth_getBlockByHash` has
them, read once for all sockets; logs with `removed`. Nodes have no words for a subscription's end, so that a stream
which ends, whatever the reason, ends its socket: clients connect again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from aiohttp import WSCloseCode
from waypost.v1 import stream_pb2

from runtime.metrics import socket_events
from runtime.operations import load_watches
from transcoder.chain_rpc import MOST_ITEMS, print_failure
from transcoder.errors import Failure
from transcoder.requests import NULL, BodyError, InvalidItem, outline, read_item
from transcoder.subscriptions import charge_refused, open_stream, whole
from transcoder.watches import Rendered, RenderedEvents, Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from transcoder.calls import Admission
    from transcoder.chain_rpc import ChainRpc
    from transcoder.exchange import Exchange
    from transcoder.messages import Messages
    from transcoder.requests import Item
    from transcoder.sockets import Socket
    from transcoder.watches import Stream

SUBSCRIBE, UNSUBSCRIBE = "eth_subscribe", "eth_unsubscribe"
HEADS, LOGS = "newHeads", "logs"
_MENTION = b"subscribe"
_OF_EVM_ALONE = "eth_chainId"
_BLOCKS_WATCH, _LOGS_WATCH = "watchBlocks", "watchLogs"
_FILTER = ("address", "topics", "fromBlock", "toBlock")
_MOST_TOPICS = 4
_FORM = '["newHeads"] or ["logs", {"address": "0x...", "topics": ["0x...", null, ["0x..."]]}]'
# Members of a block that nodes leave out of a head.
_BESIDE_HEAD = frozenset({"transactions", "uncles", "withdrawals", "size", "totalDifficulty"})
_MOST_HEADS = 256
_HEAD_TRIES = 4
_HEAD_PAUSE = 0.25
_ADDED, _REMOVED = stream_pb2.EVENT_KIND_ADDED, stream_pb2.EVENT_KIND_REMOVED

_log = logging.getLogger(__name__)


class NativeBlocks(Watch):
    """Blocks that come, each as the text of its hash; all other events are empty."""

    def print_event(self, payload: bytes) -> Rendered:
        """Return the event that the bytes are."""
        event = stream_pb2.WatchBlocksResponse.FromString(payload)
        text = event.block_hash.encode() if event.kind == _ADDED else b""
        return Rendered("", event.cursor, text)


class NativeLogs(Watch):
    """Logs as EVM nodes write them; all other events are empty."""

    def print_event(self, payload: bytes) -> Rendered:
        """Return the event that the bytes are."""
        event = stream_pb2.WatchLogsResponse.FromString(payload)
        if event.kind not in (_ADDED, _REMOVED):
            return Rendered("", event.cursor, b"")
        log = event.log
        native = {
            "address": log.address.lower(),
            "topics": list(log.topics),
            "data": log.data,
            "blockNumber": hex(log.block_number),
            "transactionHash": log.transaction_hash,
            "transactionIndex": hex(log.transaction_index) if log.HasField("transaction_index") else None,
            "blockHash": event.block_hash,
            "logIndex": hex(log.log_index),
            "removed": event.kind == _REMOVED,
        }
        return Rendered("", event.cursor, orjson.dumps(native))


class Heads:
    """Heads by chain and hash, each read from a node once; the latest are kept."""

    def __init__(self, chain_rpc: ChainRpc) -> None:
        self._chain_rpc = chain_rpc
        self._heads: OrderedDict[tuple[str, bytes], asyncio.Task[bytes | None]] = OrderedDict()

    async def read(self, chain: str, block_hash: bytes, exchange: Exchange) -> bytes | None:
        """Return the JSON of a head; None for a block that was replaced before it could be read. Raises Failure.

        The call is that of the first caller who asks for the head, who is charged for it.
        """
        key = (chain, block_hash)
        reading = self._heads.get(key)
        if reading is None:
            reading = self._heads[key] = asyncio.create_task(self._read(chain, block_hash, exchange))
            reading.add_done_callback(lambda done: self._settle(key, done))
            if len(self._heads) > _MOST_HEADS:
                self._heads.popitem(last=False)
        return await asyncio.shield(reading)

    def _settle(self, key: tuple[str, bytes], done: asyncio.Task[bytes | None]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if failed and self._heads.get(key) is done:
            del self._heads[key]

    async def _read(self, chain: str, block_hash: bytes, exchange: Exchange) -> bytes | None:
        for _ in range(_HEAD_TRIES):
            block = await self._chain_rpc.ask(chain, "eth_getBlockByHash", b'["%b",false]' % block_hash, exchange)
            if block != NULL:
                return _head_of(block)
            await asyncio.sleep(_HEAD_PAUSE)
        return None


def _head_of(block: bytes) -> bytes:
    members = msgspec.json.decode(block, type=dict[str, msgspec.Raw])
    return b"{%b}" % b",".join(
        b"%b:%b" % (orjson.dumps(name), bytes(raw)) for name, raw in members.items() if name not in _BESIDE_HEAD
    )


class ChainSockets:
    """What sockets to chains share: the two streams, printed once for all of them, and heads."""

    def __init__(self, channel: Any, chain_rpc: ChainRpc) -> None:
        watches = {one.name: one for one in load_watches()}
        events = RenderedEvents()
        self.chain_rpc = chain_rpc
        self.blocks = NativeBlocks(watches[_BLOCKS_WATCH], channel, events)
        self.logs = NativeLogs(watches[_LOGS_WATCH], channel, events)
        self.heads = Heads(chain_rpc)


class ChainSpeaker:
    """Speaks a chain's own JSON-RPC over one socket of the key `segment`."""

    # Nodes do, and web3.py sends nothing else.
    takes_binary = True

    def __init__(
        self,
        socket: Socket,
        segment: str,
        chain: str,
        shared: ChainSockets,
        messages: Messages,
        admission: Admission,
        base: Callable[[], str],
        connection: Any,
    ) -> None:
        self._socket = socket
        self._segment = segment
        self._chain = chain
        self._shared = shared
        self._messages = messages
        self._admission = admission
        self._base = base
        self._connection = connection
        self._open: dict[str, _Subscription] = {}

    async def answer(self, message: bytes, exchange: Exchange) -> bytes | None:
        """Return the answer to a request or a batch; that to `eth_subscribe` is sent here, before the first event."""
        calls = self._shared.chain_rpc.of(self._chain, exchange)
        content: Any = b""
        broken: BodyError | None = None
        try:
            content = outline(message, MOST_ITEMS)
        except Failure as failure:
            broken = BodyError(failure, 200)
        item = None if broken else _subscribing(content)
        if item is not None:
            return await self._serve(item, exchange)
        try:
            answer = await self._messages.answer(
                calls, self._segment, content, broken, exchange, {}, self._base, self._connection
            )
        except Failure as failure:
            identity = NULL if isinstance(content, list) else calls.identity_of(content)
            return print_failure(failure, identity, exchange.request_id)
        return None if answer.body is None else whole(answer.body)

    async def leave(self) -> None:
        """End every subscription: the socket is closed with the reason."""
        self.close()

    def close(self) -> None:
        """End every subscription."""
        for one in self._open.values():
            one.cancel()

    async def _serve(self, item: Item, exchange: Exchange) -> bytes | None:
        identity = item.identity or NULL
        try:
            try:
                if item.method == UNSUBSCRIBE:
                    return _result(identity, self._unsubscribe(item))
                watch, request, fewest = self._read(item)
                if item.identity is None:
                    raise _refuse(f"{SUBSCRIBE} needs an id: its answer names the subscription")
            except Failure as failure:
                raise await charge_refused(self._segment, self._admission, failure, exchange) from None
            stream = await open_stream(watch, request, self._segment, self._admission, exchange)
            if watch is self._shared.blocks:
                await self._check_family(stream, exchange)
        except Failure as failure:
            if failure.field not in (None, "chain"):
                # What the streams call them is not what the caller wrote.
                failure.field = "params"
            return print_failure(failure, identity, exchange.request_id)
        name = f"0x{random.getrandbits(128):032x}"
        one = self._open[name] = _Subscription(self, name, stream, exchange, fewest)
        try:
            await self._socket.send(_result(identity, name))
        except BaseException:
            self._open.pop(name, None)
            one.cancel()
            raise
        if self._open.get(name) is one:
            one.task = asyncio.create_task(one.run())
            one.task.add_done_callback(lambda _: self._open.pop(name, None))
        return None

    async def _check_family(self, stream: Stream, exchange: Exchange) -> None:
        """Raise Failure for a chain whose nodes have no heads in these words: blocks of every chain can be followed."""
        try:
            await self._shared.chain_rpc.ask(self._chain, _OF_EVM_ALONE, b"[]", exchange)
        except BaseException as failure:
            stream.cancel()
            if isinstance(failure, Failure) and failure.field == "method":
                raise _refuse(f"{SUBSCRIBE} is for EVM chains; watchBlocks at /<API_KEY>/v1/ws is for all") from None
            raise

    async def send(self, *texts: bytes) -> None:
        """Send notifications. Raises ConnectionError when the client has gone."""
        await self._socket.send(*texts)

    async def read_text(self, event: Rendered, stream: Stream, exchange: Exchange) -> bytes | None:
        """Return the `result` of an event's notification, None where it is none. Raises Failure."""
        if event.text and stream.watch is self._shared.blocks:
            return await self._shared.heads.read(self._chain, event.text, exchange)
        return event.text or None

    async def end(self, failure: Failure) -> None:
        """Close the socket, because a subscription cannot go on."""
        code = WSCloseCode.TRY_AGAIN_LATER if failure.code in (429, 503) else WSCloseCode.POLICY_VIOLATION
        await self._socket.refuse(code, f"{failure.reason}: subscribe again")

    def _read(self, item: Item) -> tuple[Watch, Any, int]:
        """Return the watch, its request, and the fewest topics of a log that nodes would send."""
        params = _params(item)
        match params:
            case ["newHeads"] | ["newHeads", None]:
                return self._shared.blocks, self._request(self._shared.blocks, {}), 0
            case ["logs"] | ["logs", None]:
                return self._shared.logs, self._request(self._shared.logs, {}), 0
            case ["logs", dict() as wanted]:
                asked, fewest = _read_filter(wanted)
                return self._shared.logs, self._request(self._shared.logs, asked), fewest
        raise _refuse(f"subscriptions are {_FORM}")

    def _request(self, watch: Watch, asked: dict[str, Any]) -> Any:
        return watch.read(msgspec.Raw(orjson.dumps({"chain": self._chain, **asked})))

    def _unsubscribe(self, item: Item) -> bool:
        match _params(item):
            case [str() as name]:
                one = self._open.pop(name, None)
                if one is not None:
                    one.cancel()
                return one is not None
        raise _refuse(f'params of {UNSUBSCRIBE} must be ["<subscription>"], the text that {SUBSCRIBE} answered')


class _Subscription:
    """Sends the events of one stream over a socket; logs of fewer than `fewest` topics are left out."""

    def __init__(self, speaker: ChainSpeaker, name: str, stream: Stream, exchange: Exchange, fewest: int) -> None:
        self.task: asyncio.Task[None] | None = None
        self._speaker = speaker
        self._stream = stream
        self._exchange = exchange
        self._fewest = fewest
        head = b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%s","result":'
        self._head = head % name.encode()

    async def run(self) -> None:
        """Send the events; whatever ends them ends the socket."""
        count = socket_events("websocket")
        failure = Failure(503, "UPSTREAM_UNAVAILABLE", "the stream has ended")
        try:
            while events := await self._stream.next():
                texts = [await self._speaker.read_text(event, self._stream, self._exchange) for event in events]
                wanted = [text for text in texts if text and (not self._fewest or _topics_of(text) >= self._fewest)]
                if wanted:
                    await self._speaker.send(*(b"%b%b}}" % (self._head, text) for text in wanted))
                    count.count += len(wanted)
        except ConnectionError:
            return
        except Failure as ended:
            failure = ended
        except Exception:
            _log.exception("a subscription failed", extra={"request_id": self._exchange.request_id})
        finally:
            self._stream.cancel()
        await self._speaker.end(failure)

    def cancel(self) -> None:
        """Send nothing more."""
        self._stream.cancel()
        if self.task is not None:
            self.task.cancel()


def _read_filter(wanted: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a node's filter as `watchLogs` takes it, and the fewest topics that it asks for beyond that."""
    for name in wanted:
        if name not in _FILTER:
            raise _refuse(f"the member `{name[:64]}` is not part of a filter; those that are: address, topics")
    for name in ("fromBlock", "toBlock"):
        if wanted.get(name) not in (None, "latest", "pending"):
            raise _refuse(f"a subscription begins now: leave `{name}` out; eth_getLogs has what was before")
    asked: dict[str, Any] = {}
    addresses = wanted.get("address")
    if addresses is not None and addresses != []:
        asked["address"] = [_lower(one) for one in (addresses if isinstance(addresses, list) else [addresses])]
    topics = wanted.get("topics")
    if topics is None:
        topics = []
    if not isinstance(topics, list) or len(topics) > _MOST_TOPICS:
        raise _refuse(f"`topics` must be an array of at most {_MOST_TOPICS} elements, each a topic, null or an array")
    for position, topic in enumerate(topics):
        if topic is not None and topic != []:
            asked[f"topic{position}"] = [_lower(one) for one in (topic if isinstance(topic, list) else [topic])]
    is_open = bool(topics) and f"topic{len(topics) - 1}" not in asked
    return asked, len(topics) if is_open else 0


def _lower(value: Any) -> Any:
    # Nodes take any writing of an address.
    return value.lower() if isinstance(value, str) else value


def _topics_of(log: bytes) -> int:
    return len(orjson.loads(log)["topics"])


def _params(item: Item) -> Any:
    try:
        return msgspec.json.decode(item.params) if bytes(item.params) else None
    except (msgspec.DecodeError, RecursionError):
        raise _refuse(f"params must be {_FORM}") from None


def _refuse(message: str) -> Failure:
    return Failure(400, "INVALID_ARGUMENT", message, field="params")


def _subscribing(content: Any) -> Item | None:
    """Return the request if it is for the socket itself; None for all others, of which the chain answers."""
    if isinstance(content, list) or _MENTION not in content:
        return None
    try:
        item = read_item(content, is_native=True)
    except InvalidItem:
        return None
    return item if item.method in (SUBSCRIBE, UNSUBSCRIBE) else None


def _result(identity: bytes, value: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (identity, orjson.dumps(value))
