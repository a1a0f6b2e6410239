"""The cache of whole answers, by their serialised requests.

Two kinds of answers are kept. What was read of one state of one chain is given again to a request that is the same byte
for byte, without parsing, checking or reading, while the cache that answered it vouches for it
(`CacheContext.holds`). And operations whose answers the contract lets live for a fixed time keep them in the shared
cache, under the request with canonical addresses; such an answer is of the block it was read at and states it, where it
names one. A request that chooses its block is left to the chain's own cache. Failures are never kept: an address that
is no token today may be one in the next block.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from waypost.v1 import options_pb2

from runtime.metrics import cache_lookups, count_cache
from runtime.operations import member
from server.errors import DeadlineExceeded, InvalidArgument, UpstreamDisagrees, UpstreamUnavailable
from server.rpc.pipeline.call import REQUEST, Stage
from server.upstream.cache import OVERHEAD, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

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
_HITS = cache_lookups("request", "hit")


class _Kept(NamedTuple):
    response: bytes
    chain: str
    holding: Holding


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
        self._room = max_bytes // _SHARE
        self._size = 0

    def repeats(self, method: Method) -> bool:
        """Return whether equal requests of the method are given the same response.

        They are for operations that read one state of one chain, or whose answers live for a fixed time: whose request
        takes a chain and a `blockHeight` or that have `cache_seconds`. What costs more than the one unit of its
        admission is left out: it is charged further in, each time alike.
        """
        operation = method.operation
        if operation is None or operation.cost > 1:
            return False
        fields = operation.method.input_type.fields_by_name
        return CHAIN in fields and (HEIGHT in fields or bool(operation.options.cache_seconds))

    def find(self, path: str, request: bytes, state: RequestState) -> bytes | None:
        """Return the response of this very request if it still holds, and record that in the state; None otherwise."""
        if len(request) > _LARGEST:
            return None
        key = (path, request)
        kept = self._entries.get(key)
        if kept is None:
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
        if use.holding is None or use.status != "hit":
            return
        key, kept = (path, request), _Kept(response, state.chain, use.holding)
        size = _size(key, kept)
        if size > min(_LARGEST, self._room):
            return
        if key in self._entries:
            self._drop(key)
        self._entries[key] = kept
        self._size += size
        while self._size > self._room:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: tuple[str, bytes]) -> None:
        kept = self._entries.pop(key, None)
        if kept is not None:
            self._size -= _size(key, kept)

    def wrap(self, method: Method, servicer: Handler) -> Handler:
        """Return the servicer behind the answers that live for a fixed time; it gets canonical addresses."""
        operation, cache = method.operation, self._cache
        if operation is None or not operation.options.cache_seconds:
            return servicer
        seconds = float(operation.options.cache_seconds)
        prefix = key_prefix("answer", operation.path)
        fields = operation.method.input_type.fields_by_name
        takes_height = HEIGHT in fields
        addresses = [name for name, field in fields.items() if member(field).format in _ADDRESSES]
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


def _size(key: tuple[str, bytes], kept: _Kept) -> int:
    return len(key[1]) + len(kept.response) + 2 * OVERHEAD
