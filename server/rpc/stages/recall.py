"""Gives an answer again to a request that is the same byte for byte, while that answer is still true.

What it saves is everything behind admission: parsing, checking, the reader, serialising. It decides nothing about truth
itself: whoever answered out of the cache or kept an answer there (`Answers`, the chain's memory) says how long and on
what condition the whole answer holds, through `CacheUse.holds`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from runtime.metrics import cache_lookups
from server.rpc.stages.answers import CHAIN, HEIGHT
from server.upstream.cache import OVERHEAD

if TYPE_CHECKING:
    from server.rpc.stages.state import Method, RequestState
    from server.upstream.cache import Cache, Holding

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
