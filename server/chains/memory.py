"""What one chain was asked lately: kept answers first, then one read for all who ask the same at one moment."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from runtime.metrics import count_cache
from server.chains.kept_answers import FAILURE_SECONDS, AnswersByBlock, Codec, Question
from server.errors import DeadlineExceeded, GatewayError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence

    from server.chains.finality import AskFinalized
    from server.chains.view import ReadView
    from server.upstream.cache import Cache
    from server.upstream.heads import HeadTracker

__all__ = ["FAILURE_SECONDS", "ChainMemory", "Codec", "Question"]

Answer = TypeVar("Answer")


class _Told(NamedTuple):
    """The answer of a leading read for those that follow it."""

    block: int
    endpoint: str | None
    answer: Any


class ChainMemory(AnswersByBlock):
    """Answers of one chain's nodes. Without a `cache` nothing is kept; equal reads of one moment are one all the same.

    The parameters are those of `AnswersByBlock`.
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
        super().__init__(chain, cache, heads, block_time=block_time, ask_finalized=ask_finalized)
        self._leaders: dict[Hashable, asyncio.Future[_Told | GatewayError | None]] = {}

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
                            self._hold(cache, use, block, (self._near_key(kind, block, body),))
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
        other = None
        try:
            answer = await self._read_and_keep(cache, view, kind, body, codec, read)
            other = None if view.block is None else _Told(view.block, view.endpoint, answer)
            return answer
        except GatewayError as error:
            # A copy that nobody raises: its readers may change what they raise, and a traceback holds what was read.
            lead.set_result(copy.copy(error))
            raise
        finally:
            del self._leaders[question]
            if not lead.done():
                lead.set_result(other)

    async def read_states(
        self,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        read: Callable[[Sequence[int]], Awaitable[Sequence[Answer]]],
    ) -> list[Answer]:
        """Return the answers to several questions about the state at the view's block; settles the view.

        Each question is looked up and kept by itself, and asked once for several requests. What is kept of the latest
        state is of the newest block known: the rest is asked for at that block then. `read` gets the places of the
        questions to ask the nodes, asks them at one block and settles the view.
        """
        cache, use = self._cache, view.cache
        found: dict[int, Answer] = {}
        if use is not None and use.bypass:
            if cache is not None:
                use.miss()
            return list(await self._read_all(cache, view, questions, range(len(questions)), read))
        while len(found) < len(questions):
            missing = [place for place in range(len(questions)) if place not in found]
            if view.is_settling:
                # Another read of this view is finding out its block.
                async with view.turn():
                    pass
            if cache is not None:
                missing = await self._find_all(cache, view, questions, missing, found)
            if not missing:
                break
            if use is not None and cache is not None:
                use.miss()
            keys = {place: (view.block, *questions[place][:2]) for place in missing}
            led = [place for place in missing if keys[place] not in self._leaders]
            leaders = {place: self._leaders[keys[place]] for place in missing if keys[place] in self._leaders}
            if led:
                found |= await self._lead(cache, view, questions, {place: keys[place] for place in led}, read)
            # They are on their way by themselves.
            others = [await _follow(leader) for leader in leaders.values()]
            if newest := max(
                (other for other in others if other is not None), key=lambda other: other.block, default=None
            ):
                # Reads under way elsewhere: those of another block are asked again, at the view's.
                view.settle(newest.block, newest.endpoint)
            for place, other in zip(leaders, others, strict=True):
                if other is not None and other.block == view.block:
                    found[place] = other.answer
        return [found[place] for place in range(len(questions))]

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
        if was_open:
            self._see_newest(cache, block, view.endpoint)
        self._keep_state(cache, block, kind, body, codec, answer, generation)
        return answer

    async def _read_all(
        self,
        cache: Cache | None,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        places: Sequence[int],
        read: Callable[[Sequence[int]], Awaitable[Sequence[Answer]]],
    ) -> Sequence[Answer]:
        was_open, generation = view.block is None, self._generation
        answers = await read(places)
        if cache is not None and view.block is not None:
            if was_open:
                self._see_newest(cache, view.block, view.endpoint)
            for place, answer in zip(places, answers, strict=True):
                kind, body, codec = questions[place]
                self._keep_state(cache, view.block, kind, body, codec, answer, generation)
        return answers

    async def _lead(
        self,
        cache: Cache | None,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        keys: Mapping[int, Hashable],
        read: Callable[[Sequence[int]], Awaitable[Sequence[Answer]]],
    ) -> dict[int, Answer]:
        """Ask the nodes for what these places want, for whoever asks the same meanwhile too."""
        create = asyncio.get_running_loop().create_future
        leads = {place: create() for place in keys}
        self._leaders.update((keys[place], lead) for place, lead in leads.items())
        try:
            answers = await self._read_all(cache, view, questions, tuple(keys), read)
            if view.block is not None:
                for lead, answer in zip(leads.values(), answers, strict=True):
                    lead.set_result(_Told(view.block, view.endpoint, answer))
            return dict(zip(leads, answers, strict=True))
        except GatewayError as error:
            for lead in leads.values():
                lead.set_result(copy.copy(error))
            raise
        finally:
            for place, lead in leads.items():
                self._leaders.pop(keys[place], None)
                if not lead.done():
                    lead.set_result(None)

    async def _find_all(
        self,
        cache: Cache,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        places: Sequence[int],
        found: dict[int, Answer],
    ) -> list[int]:
        """Put what is kept of the view's block, or of the newest known, into `found`; return the other places."""
        was_open, use = view.block is None, view.cache
        block = self._latest(cache) if was_open else view.block
        if block is None:
            return list(places)
        asked = [questions[place] for place in places]
        values = [await self._find(cache, view, one.kind, block, one.body) for one in asked]
        if view.block not in (None, block):
            return list(places)
        missing = [place for place, value in zip(places, values, strict=True) if value is None]
        for place, value in zip(places, values, strict=True):
            count_cache("state", "miss" if value is None else "hit")
            if value is not None:
                view.settle(block, self._newest_by if block == self._newest else None)
                found[place] = questions[place].codec.decode(value)
        if found and use is not None:
            use.hit()
            if was_open and not missing:
                self._hold(cache, use, block, [self._near_key(one.kind, block, one.body) for one in asked])
        return missing


async def _follow(leader: asyncio.Future[_Told | GatewayError | None]) -> _Told | None:
    """Return what somebody else's read of the same question brought, None if it was given up; raises its failure."""
    found = await asyncio.shield(leader)
    if isinstance(found, DeadlineExceeded):
        # That was the other one's deadline.
        return None
    if isinstance(found, GatewayError):
        raise copy.copy(found)
    return found
