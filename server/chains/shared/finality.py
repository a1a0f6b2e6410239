"""What is cached of one chain, by block, as long as it stays true (design section 6, "Cache by finality").

An answer that the chain can no longer change (of a block at or below the finalized one, or named by its own hash) is
cached for good. One of a newer block is cached for one block time, under that block's number. A moving tag is never a
key: an answer of the latest state is cached under the block it was of, and looked up under the newest block known.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from server.errors import GatewayError
from server.upstream.cache import key_prefix

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.upstream.cache import Cache, CacheContext
    from server.upstream.heads import HeadTracker

    AskFinalized = Callable[[], Awaitable[int]]

Answer = TypeVar("Answer")

FAILURE_SECONDS = 5.0
"""How long at most the answer that something is not there (no token, a reverting call) is given again."""

FINALITY_SECONDS = 60.0
"""The nodes are asked for their newest final block no more often than this."""

_VOUCHED_SECONDS = 60.0
"""How long at most a whole answer of final blocks is given again before its parts are looked up anew."""

# Blocks this near to the head are not checked for finality.
_DEEP = 16
_KEPT_HASHES = 512
_MOST_FACTS = 10_000
_NUMBER_BYTES = 8
_KEY_BYTES = 32
# One label often stands for many machines, of which some are a moment behind: only a deeper fall is a rollback.
_FLAPPING_SECONDS = 5.0


class CachedState(NamedTuple, Generic[Answer]):
    """State of one kind, cached as bytes; `lasts` is False for answers that something is not there."""

    kind: str
    encode: Callable[[Answer], bytes]
    decode: Callable[[bytes], Answer]
    lasts: Callable[[Answer], bool] | None = None


class CachedDocument(NamedTuple, Generic[Answer]):
    """Documents of one kind (blocks, receipts, transactions), cached as bytes.

    A document is final when the block `block_of` is; None for one that is named by its own hash and never changes.
    `hash_of` is that block's hash where the document states it: another one than before is a reorganisation.
    """

    kind: str
    encode: Callable[[Answer], bytes]
    decode: Callable[[bytes], Answer]
    block_of: Callable[[Answer], int] | None = None
    hash_of: Callable[[Answer], str] | None = None


class Question(NamedTuple, Generic[Answer]):
    """What is asked of a chain's state: its kind, and what of it as bytes."""

    state: CachedState[Answer]
    body: bytes


class Finality:
    """The newest final block of one chain. `ask` asks the nodes (raises GatewayError), None where none reports it."""

    def __init__(
        self, ask: AskFinalized | None, heads: HeadTracker, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.block = -1
        self._ask = ask
        self._heads = heads
        self._clock = clock
        self._next = 0.0
        self._distrusts = 0
        self._asking: asyncio.Task[None] | None = None

    def forget(self) -> None:
        """Treat no block as final any more, until the nodes are asked again."""
        self.block = -1
        self._next = 0.0
        self._distrusts += 1

    def when_final(self, block: int, action: Callable[[], None]) -> None:
        """Check in the background whether the block is final, and call `action` if it is.

        Nothing happens for blocks near the head, nor soon after the nodes were asked.
        """
        head = self._heads.head()
        if self._ask is None or (head is not None and head - block < _DEEP):
            return
        if self._asking is None:
            if self._clock() < self._next:
                return
            self._asking = asyncio.get_running_loop().create_task(self._refresh(self._ask))
        self._asking.add_done_callback(lambda _task: action() if block <= self.block else None)

    async def settled(self) -> None:
        """Return once no request is under way."""
        if self._asking is not None:
            await asyncio.wait([self._asking])

    async def close(self) -> None:
        """Give up the request under way."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _refresh(self, ask: AskFinalized) -> None:
        distrusts = self._distrusts
        try:
            block = await ask()
            head = self._heads.head()
            # A node that calls the future final is wrong, and its answers would be cached for good.
            if distrusts == self._distrusts and (head is None or block <= head):
                self.block = max(self.block, block)
        except GatewayError:
            pass
        finally:
            self._next = self._clock() + FINALITY_SECONDS
            self._asking = None


class _Prefixes(dict[str, bytes]):
    """What the keys of each kind begin with."""

    def __init__(self, chain: str) -> None:
        self._chain = chain

    def __missing__(self, kind: str) -> bytes:
        prefix = self[kind] = key_prefix(kind, self._chain)
        return prefix


class _Facts(dict[str, Any]):
    """Facts by subject; the oldest go where there are too many."""

    def __setitem__(self, subject: str, fact: Any) -> None:
        super().__setitem__(subject, fact)
        if len(self) > _MOST_FACTS:
            del self[next(iter(self))]


class AnswersByBlock:
    """The answers of one chain in the process's cache; without a `cache` nothing is cached.

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
        self._is_trusted = self._trust()
        self._hashes: OrderedDict[int, str] = OrderedDict()
        self._prefixes = _Prefixes(chain)
        self._facts: dict[str, _Facts] = {}

    def facts(self, kind: str) -> dict[str, Any]:
        """Return facts about the chain's contracts by address, of a kind that no block changes (`decimals`).

        Readers look up and add; it is held in memory, also without a cache, until `forget`.
        """
        return self._facts.setdefault(kind, _Facts())

    def see_hash(self, block: int, block_hash: str) -> None:
        """Note a block's hash; another one than before drops every answer near the head."""
        before = self._hashes.get(block)
        if before is not None and before != block_hash:
            self.drop_recent()
        self._hashes[block] = block_hash
        if len(self._hashes) > _KEPT_HASHES:
            self._hashes.popitem(last=False)

    def drop_recent(self) -> None:
        """Drop every answer near the head: a block that some of them are of was replaced."""
        self._generation += 1
        self._hashes.clear()

    def forget(self) -> None:
        """Drop what was read lately: an endpoint turned out to be of another chain, or of another fork."""
        self.drop_recent()
        self._distrusts += 1
        self._is_trusted = self._trust()
        self._newest, self._newest_by, self._newest_until = 0, None, 0.0
        self.finality.forget()
        for facts in self._facts.values():
            facts.clear()
        if self._cache is not None:
            self._cache.forget_recent()

    def _keep_state(
        self, cache: Cache, block: int, state: CachedState[Answer], body: bytes, answer: Answer, generation: int
    ) -> None:
        """Cache an answer about the state at a block; `generation` is the one in which the nodes were asked."""
        is_current, value = generation == self._generation, state.encode(answer)
        if state.lasts is not None and not state.lasts(answer):
            if is_current:
                seconds = min(self._nearness, FAILURE_SECONDS)
                cache.near.put(self._near_key(state.kind, block, body), value, seconds)
        elif is_current or block <= self.finality.block:
            self._keep(cache, state.kind, block, body, block, value)

    def _hold(self, cache: Cache, context: CacheContext, block: int, nears: Sequence[bytes]) -> None:
        """Let answers of the latest state hold as long as what was read near the head is found at their block.

        What the same request reads afterwards is of the same block, so it holds as long.
        """
        ends = [end for near in nears if (end := cache.near.until(near)) is not None]
        if len(ends) == len(nears):
            generation, heads = self._generation, self._heads

            def is_true() -> bool:
                # Asked for every answer given again: the first look is enough where the head is the newest block.
                is_latest = heads.head() == block >= self._newest or block == self._latest(cache)
                return is_latest and generation == self._generation

            context.holds(min(ends), is_true)

    def _hold_part(self, cache: Cache, context: CacheContext, lasting: bytes) -> None:
        """Let the answer to a request that states its block hold, as far as what was found under `lasting` goes.

        What is cached for good is dropped by `forget` alone, so that is what ends it. It is looked up again after a
        minute all the same: beside what blocks hold there is what an operator may change.
        """
        until = cache.lasting.until(lasting)
        if until is None:
            context.is_not_final()
        else:
            context.holds_in_part(min(until, cache.clock() + _VOUCHED_SECONDS), self._is_trusted)

    def _trust(self) -> Callable[[], bool]:
        """Return what returns whether the chain's endpoints have been trusted ever since."""
        distrusts = self._distrusts
        return lambda: distrusts == self._distrusts

    def _keep(self, cache: Cache, kind: str, at: int, body: bytes, block: int, value: bytes) -> None:
        """Cache an answer for good if its block is final, else for a block time, and for good once it proves final.

        `at` is the number in its key: the block for state, 0 for documents.
        """
        if block <= self.finality.block:
            cache.keep(self._lasting_key(kind, at, body), value)
            return
        cache.near.put(self._near_key(kind, at, body), value, self._nearness)
        generation = self._generation

        def promote() -> None:
            # The answer was of the canonical block only if nothing was reorganised meanwhile.
            if generation == self._generation:
                cache.keep(self._lasting_key(kind, at, body), value)

        self.finality.when_final(block, promote)

    def _latest(self, cache: Cache) -> int | None:
        """Return the block to look up for the latest state: the newest that an answer was of."""
        head = self._heads.head()
        if (head is None or head < self._newest) and self._newest_until > cache.clock():
            return self._newest
        return head

    def _see_newest(self, cache: Cache, block: int, endpoint: str | None) -> None:
        """Note that a node answered a read of the latest state at this block."""
        if block < self._newest and self._newest_until > cache.clock():
            if endpoint != self._newest_by or self._newest - block <= self._flapping:
                return
            # The endpoint that answered the newer block has rolled back.
            self._generation += 1
        self._newest, self._newest_by, self._newest_until = block, endpoint, cache.clock() + self._nearness

    def _near_key(self, kind: str, at: int, body: bytes) -> bytes:
        numbers = (self._generation << 64 | at).to_bytes(2 * _NUMBER_BYTES)
        return b"".join((self._prefixes[kind], numbers, body))

    def _lasting_key(self, kind: str, at: int, body: bytes) -> bytes:
        return b"".join((self._prefixes[kind], at.to_bytes(_NUMBER_BYTES), body))


def number_key(number: int) -> bytes:
    """Return what a document is asked for by where that is a number."""
    # Wider than any number that readers let through, and signed: refusing numbers is the readers' part.
    return number.to_bytes(_KEY_BYTES, signed=True)
