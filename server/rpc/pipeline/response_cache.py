"""The cache of whole answers."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import options_pb2

from runtime.metrics import cache_lookups, count_cache
from runtime.operations import member
from server.errors import DeadlineExceeded, InvalidArgument, UpstreamDisagrees, UpstreamUnavailable
from server.upstream.cache import OVERHEAD, key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from google.protobuf.message import Message

    from server.rpc.pipeline.call import Context, Method, RequestState, Step
    from server.upstream.cache import Cache, CacheUse, Holding

    Canonical = Callable[[str, str], str]

HEIGHT = "block_height"
CHAIN = "chain"
_ADDRESSES = frozenset({options_pb2.FORMAT_ADDRESS, options_pb2.FORMAT_EVM_ADDRESS})

# Failures of the nodes, in whose place an answer past its lifetime is better than none.
_NODES_FAIL = (UpstreamUnavailable, UpstreamDisagrees, DeadlineExceeded)


class Answers:
    """Keeps serialised responses under (operation, request with canonical addresses).

    `canonical(slug, address)` returns an address in its chain's canonical writing, so that every writing of it finds
    the same answer; InvalidArgument for what is no address there.
    """

    def __init__(self, cache: Cache, canonical: Canonical) -> None:
        self._cache = cache
        self._canonical = canonical

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` behind the kept answers; it is given requests with canonical addresses."""
        operation, cache = method.operation, self._cache
        if operation is None or not operation.options.cache_seconds:
            return inner
        seconds = float(operation.options.cache_seconds)
        prefix = key_prefix("answer", operation.path)
        fields = operation.method.input_type.fields_by_name
        takes_height = HEIGHT in fields
        addresses = [name for name, field in fields.items() if member(field).format in _ADDRESSES]
        write = self._write_canonically if CHAIN in fields and addresses else None

        def hold(use: CacheUse, key: bytes) -> None:
            until = cache.lasting.until(key)
            if until is not None:
                use.holds(until, _always)

        async def remember(request: Any, context: Context, state: RequestState) -> Any:
            if takes_height and request.HasField(HEIGHT):
                return await inner(request, context, state)
            use = state.cache
            key = prefix + request.SerializeToString(deterministic=True)
            kept = None if use.bypass else cache.lasting.get(key)
            if kept is None:
                if write is not None:
                    write(request, addresses)
                    key = prefix + request.SerializeToString(deterministic=True)
                kept = None if use.bypass else await cache.recall(key)
            if kept is not None:
                count_cache("answer", "hit")
                use.hit()
                hold(use, key)
                return kept
            try:
                response: Message = await inner(request, context, state)
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
            answer = response.SerializeToString()
            lifetime = seconds if use.longest is None else min(seconds, use.longest)
            if lifetime > 0:
                cache.keep(key, answer, lifetime)
            return answer

        return remember

    def _write_canonically(self, request: Any, addresses: list[str]) -> None:
        for name in addresses:
            try:
                setattr(request, name, self._canonical(request.chain, getattr(request, name)))
            except InvalidArgument:
                # The reader refuses it, and says why.
                return


def _always() -> bool:
    return True


_SHARE = 8
"""The part of the cache's room that recalled answers may take beside it."""

_LARGEST = 16 * 1024

_HITS = cache_lookups("request", "hit")


class _Kept(NamedTuple):
    response: bytes
    chain: str
    holding: Holding


class Recall:
    """Keeps serialised responses under their serialised requests, least recently used ones going first.

    A response is kept once all of it came out of the cache: the second time it is asked for.
    """

    def __init__(self, cache: Cache, max_bytes: int) -> None:
        self.clock = cache.clock
        self.entries: OrderedDict[tuple[str, bytes], _Kept] = OrderedDict()
        self._room = max_bytes // _SHARE
        self._size = 0

    def shelf(self, method: Method) -> Shelf | None:
        """Return where the method's responses are kept; None for a method whose responses are not.

        Kept are those of operations that read one state of one chain, or whose answers live for a fixed time: whose
        request takes a chain and a `blockHeight` or that have `cache_seconds`. A request that chooses its block is not.
        What costs more than the one unit of its admission is left out: it is charged further in, each time alike.
        """
        operation = method.operation
        if operation is None or operation.cost > 1:
            return None
        fields = operation.method.input_type.fields_by_name
        if CHAIN not in fields or (HEIGHT not in fields and not operation.options.cache_seconds):
            return None
        return Shelf(operation.path, self)

    def keep(self, key: tuple[str, bytes], kept: _Kept) -> None:
        """Keep a response under its key if it fits; the oldest make room."""
        size = _size(key, kept)
        if size > min(_LARGEST, self._room):
            return
        if key in self.entries:
            self.drop(key)
        self.entries[key] = kept
        self._size += size
        while self._size > self._room:
            self.drop(next(iter(self.entries)))

    def drop(self, key: tuple[str, bytes]) -> None:
        """Forget the response of a key, if there is one."""
        kept = self.entries.pop(key, None)
        if kept is not None:
            self._size -= _size(key, kept)


class Shelf:
    """The kept responses of one method."""

    __slots__ = ("_path", "_recall")

    def __init__(self, path: str, recall: Recall) -> None:
        self._path = path
        self._recall = recall

    def find(self, request: bytes, state: RequestState) -> bytes | None:
        """Return the response of this very request if it still holds, and let the state say so; None otherwise."""
        if len(request) > _LARGEST:
            return None
        recall = self._recall
        key = (self._path, request)
        kept = recall.entries.get(key)
        if kept is None:
            return None
        use = state.cache
        if use.bypass or kept.holding.until <= recall.clock() or not kept.holding.is_true():
            recall.drop(key)
            return None
        recall.entries.move_to_end(key)
        state.chain = kept.chain
        use.hit()
        _HITS.count += 1
        return kept.response

    def keep(self, request: bytes, state: RequestState, response: bytes) -> None:
        """Keep the response of the request if somebody vouches for it."""
        use = state.cache
        # What nobody asked before is rarely asked again, and what came out of no cache is not there to vouch for.
        if use.holding is not None and use.status == "hit":
            self._recall.keep((self._path, request), _Kept(response, state.chain, use.holding))


def _size(key: tuple[str, bytes], kept: _Kept) -> int:
    return len(key[1]) + len(kept.response) + 2 * OVERHEAD
