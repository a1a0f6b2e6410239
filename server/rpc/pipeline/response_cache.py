"""The cache of whole answers, by their serialised requests.

Two kinds of answers are kept. What was read of one state of one chain, or is one document of it, is given again to a
request that is the same byte for byte, without parsing, checking or reading, while the cache that answered it vouches
for it (`CacheContext.holds`): of the latest state while that is the newest, of a block that the request names once that
is final (docs/decisions/0053). And operations whose answers the contract lets live for a fixed time keep them in the
shared cache, under the request with canonical addresses; such an answer is of the block it was read at and states it,
where it names one. Failures are never kept: an address that is no token today may be one in the next block.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from waypost.options.v1 import options_pb2

from runtime.metrics import cache_lookups, count_cache
from runtime.operations import member
from server.errors import DeadlineExceeded, InvalidArgument, UpstreamDisagrees, UpstreamUnavailable
from server.rpc.pipeline.call import REQUEST, Stage
from server.upstream.cache import OVERHEAD, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from runtime.operations import Operation
    from server.rpc.pipeline.call import Context, Handler, Method, RequestState
    from server.upstream.cache import Cache, CacheContext, Holding

    Canonical = Callable[[str, str], str]

HEIGHT = "block_height"
CHAIN = "chain"
_ADDRESSES = frozenset({options_pb2.FORMAT_ADDRESS, options_pb2.FORMAT_EVM_ADDRESS})

# Failures of the nodes, in whose place an answer past its lifetime is better than none.
_NODES_FAIL = (UpstreamUnavailable, UpstreamDisagrees, DeadlineExceeded)

_SHARE = 8
"""The part of the cache's room that whole answers may take beside it."""
_LARGEST = 16 * 1024
_MOST_WRITINGS = 4
"""Of one request, the writings of its `params` that are known."""
_HITS = cache_lookups("request", "hit")


@dataclass(slots=True)
class _Kept:
    """A response, what vouches for it, and for the JSON face how it prints and which `params` made the request."""

    response: bytes
    chain: str
    holding: Holding
    size: int
    printed: bytes | None = None
    params: list[bytes] = field(default_factory=list)


class ResponseCache(Stage):
    """Keeps serialised responses, least recently used ones going first.

    `canonical(slug, address)` returns an address in its chain's canonical writing, so that every writing of it finds
    the same answer; InvalidArgument for what is no address there.
    """

    def __init__(self, cache: Cache, max_bytes: int, canonical: Canonical) -> None:
        self._cache = cache
        self._clock = cache.clock
        self._canonical = canonical
        self._entries: OrderedDict[tuple[str, bytes], _Kept] = OrderedDict()
        # The requests that `params` make, by path and raw params: none without its entry.
        self._requests: dict[tuple[str, bytes], bytes] = {}
        self._room = max_bytes // _SHARE
        self._size = 0

    def resize(self, max_bytes: int) -> None:
        """Take a part of a room of so many bytes from now on."""
        self._room = max_bytes // _SHARE
        self._shrink()

    def repeats(self, method: Method) -> bool:
        """Return whether equal requests of the method are given the same response.

        They are for operations that read one state of one chain, or whose answers live for a fixed time: whose request
        takes a chain and a `blockHeight` or that have `cache_seconds`. What costs more than the one unit of its
        admission is left out: it is charged further in, each time alike.
        """
        operation = method.operation
        return operation is not None and operation.cost <= 1 and _reads_one_state(operation)

    def keeps(self, method: Method) -> bool:
        """Return whether answers of the method may be kept: see `repeats`, and documents asked for by number or hash.

        Those are items of a multi-item operation, each with its chain; a request with several is charged further in.
        """
        return method.operation is not None and not method.is_stream and self.keeps_of(method.operation)

    def keeps_of(self, operation: Operation) -> bool:
        """Return `keeps` of an operation."""
        if operation.cost > 1:
            return False
        if not operation.takes_items:
            return _reads_one_state(operation)
        [items] = operation.method.input_type.fields
        return CHAIN in items.message_type.fields_by_name

    def forget(self) -> None:
        """Drop all whole answers: what the chains or their endpoints are has changed."""
        self._entries.clear()
        self._requests.clear()
        self._size = 0

    def find(
        self, path: str, request: bytes, state: RequestState, chains: frozenset[str] | None = None
    ) -> bytes | None:
        """Return the response of this very request if it still holds, and record that in the state; None otherwise.

        And only if it is of one of the `chains`, where these are given.
        """
        if len(request) > _LARGEST:
            return None
        key = (path, request)
        kept = self._entries.get(key)
        if kept is None or (chains is not None and kept.chain not in chains):
            return None
        use = state.cache
        if use.bypass or kept.holding.until <= self._clock() or not kept.holding.is_true():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        state.chain = kept.chain
        use.hit()
        _HITS.count += 1
        return kept.response

    def keep(self, path: str, request: bytes, state: RequestState, response: bytes) -> None:
        """Keep the response of a request that the cache has answered, if it is vouched for and fits."""
        use = state.cache
        if use.holding is None or use.status != "hit" or use.is_provisional or state.items > 1 or state.units > 1:
            return
        key, size = (path, request), len(request) + len(response) + 2 * OVERHEAD
        if size > min(_LARGEST, self._room):
            return
        if key in self._entries:
            self._drop(key)
        self._entries[key] = _Kept(response, state.chain, use.holding, size)
        self._size += size
        self._shrink()

    def request_of(self, path: str, params: bytes) -> bytes | None:
        """Return the request that the JSON face's `params` make, where its answer is kept; else None."""
        return self._requests.get((path, params))

    def printed(self, path: str, request: bytes, response: bytes) -> bytes | None:
        """Return how this very response to the request prints as JSON; None where that is not known."""
        kept = self._entries.get((path, request))
        return kept.printed if kept is not None and kept.response is response else None

    def keep_printed(self, path: str, params: bytes, request: bytes, response: bytes, result: bytes) -> None:
        """Keep how the response prints and which `params` ask for it, as long as the response itself, if it is kept."""
        kept = self._entries.get((path, request))
        if kept is None or kept.response is not response or params in kept.params:
            return
        grown = 0
        if kept.printed is None:
            grown += len(result) + OVERHEAD
        if len(kept.params) < _MOST_WRITINGS:
            grown += len(params) + OVERHEAD
        if not grown or kept.size + grown > min(2 * _LARGEST, self._room):
            return
        kept.printed = result
        if len(kept.params) < _MOST_WRITINGS:
            kept.params.append(params)
            self._requests[path, params] = request
        kept.size += grown
        self._size += grown
        self._shrink()

    def _shrink(self) -> None:
        while self._size > self._room:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: tuple[str, bytes]) -> None:
        kept = self._entries.pop(key, None)
        if kept is not None:
            self._size -= kept.size
            for params in kept.params:
                del self._requests[key[0], params]

    def wrap(self, method: Method, servicer: Handler) -> Handler:
        """Return the servicer behind the answers that live for a fixed time; it gets canonical addresses."""
        operation, cache = method.operation, self._cache
        if operation is None or not operation.options.cache_seconds:
            return servicer
        seconds = float(operation.options.cache_seconds)
        prefix = key_prefix("answer", operation.path)
        fields = operation.method.input_type.fields_by_name
        takes_height = HEIGHT in fields
        addresses = [name for name, one in fields.items() if member(one).format in _ADDRESSES]
        write = self._write_canonically if CHAIN in fields and addresses else None

        async def answer(request: Any, context: Context) -> Any:
            if takes_height and request.HasField(HEIGHT):
                return await servicer(request, context)
            use = REQUEST.get().cache
            key = prefix + request.SerializeToString(deterministic=True)
            kept = None if use.bypass else cache.lasting.get(key)
            if kept is None:
                if write is not None:
                    write(request, addresses)
                    key = prefix + request.SerializeToString(deterministic=True)
                kept = None if use.bypass else await cache.get_lasting(key)
            if kept is not None:
                count_cache("answer", "hit")
                use.hit()
                self._hold(use, key)
                return kept
            try:
                response: Message = await servicer(request, context)
            except _NODES_FAIL:
                stale = None if use.bypass else cache.lasting.get_stale(key)
                if stale is None:
                    raise
                count_cache("answer", "stale")
                use.stale()
                return stale
            count_cache("answer", "miss")
            if use.status is None:
                use.miss()
            serialised = response.SerializeToString()
            lifetime = seconds if use.longest is None else min(seconds, use.longest)
            if lifetime > 0:
                cache.keep(key, serialised, lifetime)
            return serialised

        return answer

    def _hold(self, use: CacheContext, key: bytes) -> None:
        until = self._cache.lasting.until(key)
        if until is not None:
            use.holds(until, _always)

    def _write_canonically(self, request: Any, addresses: list[str]) -> None:
        for name in addresses:
            try:
                setattr(request, name, self._canonical(request.chain, getattr(request, name)))
            except InvalidArgument:
                # The reader refuses it, with the reason.
                return


def _always() -> bool:
    return True


def _reads_one_state(operation: Operation) -> bool:
    fields = operation.method.input_type.fields_by_name
    return CHAIN in fields and (HEIGHT in fields or bool(operation.options.cache_seconds))
