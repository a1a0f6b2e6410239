"""What one chain was asked lately, kept as long as its answer stays true (design section 6, "Cache by finality").

An answer that the chain can no longer change (of a block at or below the finalized one, or named by its own hash) is
kept for good. One of a newer block is kept one block time, under that block's number. A moving tag is never a key: a
read of the latest state is stored under the block it was answered at, and looked up under the newest block known.
"""

from __future__ import annotations

import asyncio
import copy
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from runtime.metrics import count_cache
from server.chains.finality import Finality
from server.errors import DeadlineExceeded, GatewayError
from server.upstream.cache import key_prefix

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from server.chains.finality import AskFinalized
    from server.chains.view import ReadView
    from server.upstream.cache import Cache, CacheUse
    from server.upstream.heads import HeadTracker

Answer = TypeVar("Answer")

FAILURE_SECONDS = 5.0
"""How long at most the answer that something is not there (no token, a reverting call) is given again."""

_REMEMBERED_HASHES = 512
_NUMBER_BYTES = 8
# One label often stands for many machines, of which some are a moment behind: only a deeper fall is a rollback.
_FLAPPING_SECONDS = 5.0


class Codec(NamedTuple, Generic[Answer]):
    """How answers of one kind are kept: as bytes; `lasts` is False for those that say that something is not there."""

    encode: Callable[[Answer], bytes]
    decode: Callable[[bytes], Answer]
    lasts: Callable[[Answer], bool] = lambda _answer: True


class _Told(NamedTuple):
    """The answer of a leading read for those that follow it."""

    block: int
    endpoint: str | None
    answer: Any


class ChainMemory:
    """Answers of one chain's nodes. Without a `cache` nothing is kept; equal reads of one moment are one all the same.

    Answers near the head live one `block_time` (seconds), or as long as the cache lets them. `ask_finalized` asks the
    nodes for the newest final block; where it is None, no block is ever taken for final.
    """

    def __init__(
        self,
        chain: str,
        cache: Cache | None,
        heads: HeadTracker,
        *,
        block_time: float,
        ask_finalized: AskFinalized | None = None,
    ) -> None:
        self._chain = chain
        self._cache = cache
        self._heads = heads
        self._nearness = block_time if cache is None else min(block_time, cache.near_seconds)
        self._flapping = max(1, int(_FLAPPING_SECONDS / block_time))
        self.finality = Finality(ask_finalized, heads)
        # The newest block that an answer was of: the tracked head waits for a majority of endpoints and lags behind it.
        self._newest = 0
        self._newest_by: str | None = None
        self._newest_until = 0.0
        # Counts the reorganisations seen; part of every key near the head.
        self._generation = 0
        self._distrusts = 0
        self._hashes: OrderedDict[int, str] = OrderedDict()
        self._leaders: dict[Hashable, asyncio.Future[_Told | GatewayError | None]] = {}
        self._prefixes: dict[str, bytes] = {}

    def see_hash(self, block: int, block_hash: str) -> None:
        """Take note of a block's hash; another one than before drops every answer near the head."""
        before = self._hashes.get(block)
        if before is not None and before != block_hash:
            self._generation += 1
            self._hashes.clear()
        self._hashes[block] = block_hash
        if len(self._hashes) > _REMEMBERED_HASHES:
            self._hashes.popitem(last=False)

    def forget(self) -> None:
        """Drop what was read lately: an endpoint turned out to have told of another chain, or of another fork."""
        self._generation += 1
        self._distrusts += 1
        self._hashes.clear()
        self._newest, self._newest_by, self._newest_until = 0, None, 0.0
        self.finality.forget()
        if self._cache is not None:
            self._cache.forget_recent()

    async def read_state(
        self, view: ReadView, kind: str, body: bytes, codec: Codec[Answer], read: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Return an answer about the state at the view's block, kept or read; settles the view.

        `kind` and `body` together are the question; `read` asks the nodes and settles the view. The same question of
        several requests at once is asked by one of them.
        """
        cache, use = self._cache, view.cache
        if use is not None and use.bypass:
            if cache is not None:
                use.miss()
            return await self._read_and_keep(cache, view, kind, body, codec, read)
        while True:
            if view.is_settling:
                # Another read of this view is finding out its block: an answer of any other block must not join it.
                async with view.turn():
                    pass
            if cache is not None:
                block = self._latest(cache) if view.block is None else view.block
                value = None if block is None else await self._find(cache, view, kind, block, body)
                if value is not None and block is not None:
                    count_cache("state", "hit")
                    if use is not None:
                        use.hit()
                        if view.block is None:
                            self._hold(cache, use, kind, block, body)
                    view.settle(block, self._newest_by if block == self._newest else None)
                    return codec.decode(value)
            question = (view.block, kind, body)
            leader = self._leaders.get(question)
            if leader is None:
                break
            found = await _follow(leader)
            if found is not None and view.block in (None, found.block):
                view.settle(found.block, found.endpoint)
                if use is not None and cache is not None:
                    use.miss()
                answer: Answer = found.answer
                return answer
        if cache is not None:
            count_cache("state", "miss")
            if use is not None:
                use.miss()
        lead = self._leaders[question] = asyncio.get_running_loop().create_future()
        told = None
        try:
            answer = await self._read_and_keep(cache, view, kind, body, codec, read)
            told = None if view.block is None else _Told(view.block, view.endpoint, answer)
            return answer
        except GatewayError as error:
            # A copy that nobody raises: its readers may change what they raise, and a traceback holds what was read.
            lead.set_result(copy.copy(error))
            raise
        finally:
            del self._leaders[question]
            if not lead.done():
                lead.set_result(told)

    async def read_document(
        self,
        view: ReadView,
        kind: str,
        body: bytes,
        codec: Codec[Answer],
        read: Callable[[], Awaitable[Answer]],
        block_of: Callable[[Answer], int | None],
    ) -> Answer:
        """Return a document, kept or read: a block, a receipt, a transaction.

        `kind` and `body` are the question. `block_of` tells on which block's being final the document depends, None
        for one that is named by its own hash and never changes. What `read` raises is not kept.
        """
        cache = self._cache
        if cache is None:
            return await read()
        use = view.cache
        lasting = self._lasting_key(kind, 0, body)
        if use is None or not use.bypass:
            value = cache.near.get(self._near_key(kind, 0, body)) or await cache.recall(lasting)
            if value is not None:
                count_cache("document", "hit")
                if use is not None:
                    use.hit()
                return codec.decode(value)
        count_cache("document", "miss")
        if use is not None:
            use.miss()
        distrusts = self._distrusts
        document = await read()
        if distrusts != self._distrusts:
            return document
        block = block_of(document)
        value = codec.encode(document)
        if block is None:
            cache.keep(lasting, value)
        else:
            self._keep(cache, self._near_key(kind, 0, body), lasting, block, value)
        return document

    async def close(self) -> None:
        """Give up what is in flight."""
        await self.finality.close()

    async def _find(self, cache: Cache, view: ReadView, kind: str, block: int, body: bytes) -> bytes | None:
        value = cache.near.get(self._near_key(kind, block, body))
        if value is None and view.block is not None and block <= self.finality.block:
            value = await cache.recall(self._lasting_key(kind, block, body))
        return value

    async def _read_and_keep(
        self,
        cache: Cache | None,
        view: ReadView,
        kind: str,
        body: bytes,
        codec: Codec[Answer],
        read: Callable[[], Awaitable[Answer]],
    ) -> Answer:
        if cache is None:
            return await read()
        was_open = view.block is None
        generation = self._generation
        answer = await read()
        block = view.block
        if block is None:
            return answer
        is_current = generation == self._generation
        if was_open:
            self._see_newest(cache, block, view.endpoint)
        value = codec.encode(answer)
        if not codec.lasts(answer):
            if is_current:
                cache.near.put(self._near_key(kind, block, body), value, min(self._nearness, FAILURE_SECONDS))
        elif is_current or block <= self.finality.block:
            self._keep(cache, self._near_key(kind, block, body), self._lasting_key(kind, block, body), block, value)
        return answer

    def _hold(self, cache: Cache, use: CacheUse, kind: str, block: int, body: bytes) -> None:
        """Say that an answer of the latest state holds as long as what was read near the head is found at its block.

        What the same request reads afterwards is of the same block, so it holds as long.
        """
        until = cache.near.until(self._near_key(kind, block, body))
        if until is not None:
            generation, heads = self._generation, self._heads

            def is_true() -> bool:
                # Asked for every answer given again: the first look is enough where the head is the newest block.
                is_latest = heads.head() == block >= self._newest or block == self._latest(cache)
                return is_latest and generation == self._generation

            use.holds(until, is_true)

    def _keep(self, cache: Cache, near: bytes, lasting: bytes, block: int, value: bytes) -> None:
        """Keep an answer for good if its block is final, else for a block time, and for good once it proves final."""
        if block <= self.finality.block:
            cache.keep(lasting, value)
            return
        cache.near.put(near, value, self._nearness)
        generation = self._generation

        def promote() -> None:
            # The answer was of the canonical block only if nothing was reorganised meanwhile.
            if generation == self._generation:
                cache.keep(lasting, value)

        self.finality.when_final(block, promote)

    def _latest(self, cache: Cache) -> int | None:
        """Return the block to look up for the latest state: the newest that anybody told of."""
        head = self._heads.head()
        if (head is None or head < self._newest) and self._newest_until > cache.clock():
            return self._newest
        return head

    def _see_newest(self, cache: Cache, block: int, endpoint: str | None) -> None:
        """Take note that a node answered a read of the latest state at this block."""
        if block < self._newest and self._newest_until > cache.clock():
            if endpoint != self._newest_by or self._newest - block <= self._flapping:
                return
            # The endpoint that answered the newer block has rolled back.
            self._generation += 1
        self._newest, self._newest_by, self._newest_until = block, endpoint, cache.clock() + self._nearness

    def _near_key(self, kind: str, block: int, body: bytes) -> bytes:
        numbers = (self._generation << 64 | block).to_bytes(2 * _NUMBER_BYTES)
        return b"".join((self._prefix(kind), numbers, body))

    def _lasting_key(self, kind: str, block: int, body: bytes) -> bytes:
        return b"".join((self._prefix(kind), block.to_bytes(_NUMBER_BYTES), body))

    def _prefix(self, kind: str) -> bytes:
        prefix = self._prefixes.get(kind)
        if prefix is None:
            prefix = self._prefixes[kind] = key_prefix(kind, self._chain)
        return prefix


async def _follow(leader: asyncio.Future[_Told | GatewayError | None]) -> _Told | None:
    """Return what somebody else's read of the same question brought, None if it was given up; raises its failure."""
    found = await asyncio.shield(leader)
    if isinstance(found, DeadlineExceeded):
        # That was the other one's deadline.
        return None
    if isinstance(found, GatewayError):
        raise copy.copy(found)
    return found
