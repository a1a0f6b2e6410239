"""Gives an answer again to a request that is the same byte for byte, while that answer is still true.

What it saves is everything behind admission: parsing, checking, the reader, serialising. It decides nothing about truth
itself: whoever answered out of the cache or kept an answer there (`Answers`, the chain's memory) says how long and on
what condition the whole answer holds, through `CacheUse.holds`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from runtime.metrics import count_cache
from server.rpc.stages.answers import CHAIN, HEIGHT
from server.rpc.stages.state import REQUEST
from server.upstream.cache import OVERHEAD

if TYPE_CHECKING:
    from typing import Any

    from server.rpc.stages.state import Context, Handler, Method
    from server.upstream.cache import Cache, Holding

_SHARE = 8
"""The part of the cache's room that recalled answers may take beside it."""

_LARGEST = 16 * 1024


class _Kept(NamedTuple):
    response: bytes
    chain: str
    holding: Holding


class Recall:
    """Keeps serialised responses under their serialised requests, least recently used ones going first.

    A response is kept once all of it came out of the cache: the second time it is asked for.

    Only operations that read one state of one chain, or whose answers live for a fixed time, are kept: those whose
    request takes a chain and a `blockHeight` or that have `cache_seconds`. A request that chooses its block is not.
    What costs more than the one unit of its admission is left out: it is charged further in, each time alike.
    """

    def __init__(self, cache: Cache, max_bytes: int) -> None:
        self._clock = cache.clock
        self._room = max_bytes // _SHARE
        self._kept: OrderedDict[tuple[str, bytes], _Kept] = OrderedDict()
        self._size = 0

    def bind(self, method: Method, inner: Handler) -> Handler:
        """Return `inner` behind what is recalled; requests and responses are serialised."""
        operation = method.operation
        if operation is None or operation.cost > 1:
            return inner
        fields = operation.method.input_type.fields_by_name
        if CHAIN not in fields or (HEIGHT not in fields and not operation.options.cache_seconds):
            return inner
        path, clock, entries = operation.path, self._clock, self._kept

        async def recall(request: bytes, context: Context) -> Any:
            state = REQUEST.get()
            use = state.cache
            key = (path, request)
            kept = entries.get(key)
            if kept is not None:
                if not use.bypass and kept.holding.until > clock() and kept.holding.is_true():
                    entries.move_to_end(key)
                    state.chain = kept.chain
                    use.hit()
                    count_cache("request", "hit")
                    return kept.response
                self._drop(key)
            response: bytes = await inner(request, context)
            # What nobody asked before is rarely asked again, and what came out of no cache is not there to vouch for.
            if use.holding is not None and use.status == "hit":
                self._keep(key, _Kept(response, state.chain, use.holding))
            return response

        return recall

    def _keep(self, key: tuple[str, bytes], kept: _Kept) -> None:
        size = _size(key, kept)
        if size > min(_LARGEST, self._room):
            return
        if key in self._kept:
            self._drop(key)
        self._kept[key] = kept
        self._size += size
        while self._size > self._room:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[str, bytes]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._size -= _size(key, kept)


def _size(key: tuple[str, bytes], kept: _Kept) -> int:
    return len(key[1]) + len(kept.response) + 2 * OVERHEAD
