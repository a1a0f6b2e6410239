"""Gives kept answers again, for operations whose answers the contract lets live for a fixed time.

Such an answer is of the block it was read at and says so, where it names one; a request that chooses its block is left
to the chain's own memory. Failures are never kept: an address that is no token today may be one in the next block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import options_pb2

from runtime.metrics import count_cache
from runtime.operations import member
from server.errors import DeadlineExceeded, InvalidArgument, UpstreamDisagrees, UpstreamUnavailable
from server.upstream.cache import key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from google.protobuf.message import Message

    from server.rpc.stages.state import Context, Method, RequestState, Step
    from server.upstream.cache import Cache, CacheUse

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
