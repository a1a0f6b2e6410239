"""What is kept of one chain's answers, by block, as long as it stays true (design section 6, "Cache by finality").

An answer that the chain can no longer change (of a block at or below the finalized one, or named by its own hash) is
kept for good. One of a newer block is kept one block time, under that block's number. A moving tag is never a key: an
answer of the latest state is stored under the block it was of, and looked up under the newest block known.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from server.chains.finality import Finality
from server.upstream.cache import key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


class Question(NamedTuple, Generic[Answer]):
    """What is asked of a chain's state, by `kind` and `body` together, and how its answer is kept."""

    kind: str
    body: bytes
    codec: Codec[Answer]


class AnswersByBlock:
    """The answers of one chain in the process's cache; without a `cache` nothing is kept.

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
        self._prefixes: dict[str, bytes] = {}

    def see_hash(self, block: int, block_hash: str) -> None:
        """Take note of a block's hash; another one than before drops every answer near the head."""
        before = self._hashes.get(block)
        if before is not None and before != block_hash:
            self.drop_recent()
        self._hashes[block] = block_hash
        if len(self._hashes) > _REMEMBERED_HASHES:
            self._hashes.popitem(last=False)

    def drop_recent(self) -> None:
        """Drop every answer near the head: a block that some of them are of was replaced."""
        self._generation += 1
        self._hashes.clear()

    def forget(self) -> None:
        """Drop what was read lately: an endpoint turned out to be of another chain, or of another fork."""
        self._generation += 1
        self._distrusts += 1
        self._hashes.clear()
        self._newest, self._newest_by, self._newest_until = 0, None, 0.0
        self.finality.forget()
        if self._cache is not None:
            self._cache.forget_recent()

    async def _find(self, cache: Cache, view: ReadView, kind: str, block: int, body: bytes) -> bytes | None:
        value = cache.near.get(self._near_key(kind, block, body))
        if value is None and view.block is not None and block <= self.finality.block:
            value = await cache.recall(self._lasting_key(kind, block, body))
        return value

    def _keep_state(
        self, cache: Cache, block: int, kind: str, body: bytes, codec: Codec[Answer], answer: Answer, generation: int
    ) -> None:
        is_current = generation == self._generation
        value = codec.encode(answer)
        if not codec.lasts(answer):
            if is_current:
                cache.near.put(self._near_key(kind, block, body), value, min(self._nearness, FAILURE_SECONDS))
        elif is_current or block <= self.finality.block:
            self._keep(cache, self._near_key(kind, block, body), self._lasting_key(kind, block, body), block, value)

    def _hold(self, cache: Cache, use: CacheUse, block: int, nears: Sequence[bytes]) -> None:
        """Say that answers of the latest state hold as long as what was read near the head is found at their block.

        What the same request reads afterwards is of the same block, so it holds as long.
        """
        ends = [end for near in nears if (end := cache.near.until(near)) is not None]
        if len(ends) == len(nears):
            generation, heads = self._generation, self._heads

            def is_true() -> bool:
                # Asked for every answer given again: the first look is enough where the head is the newest block.
                is_latest = heads.head() == block >= self._newest or block == self._latest(cache)
                return is_latest and generation == self._generation

            use.holds(min(ends), is_true)

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
        """Return the block to look up for the latest state: the newest that an answer was of."""
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
