"""The cache of one chain's reads: what is cached answers, the rest is read once for all callers of the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from runtime.metrics import count_cache
from server.chains.shared.finality import AnswersByBlock, CachedDocument, CachedState, Question, number_key
from server.errors import DeadlineExceeded, GatewayError
from server.upstream.single_flight import InlineFlight, follow

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Hashable, Sequence

    from server.chains.shared.finality import AskFinalized
    from server.chains.view import ReadView
    from server.upstream.cache import Cache
    from server.upstream.heads import HeadTracker

__all__ = ["CachedDocument", "CachedState", "ChainCache", "Question", "number_key"]

Answer = TypeVar("Answer")


class _Shared(NamedTuple):
    """The answer of a read for those that follow it."""

    block: int
    endpoint: str | None
    answer: Any


class ChainCache(AnswersByBlock):
    """Answers of one chain's nodes. Without a `cache` nothing is cached, but equal reads of one moment are one.

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
        self._in_flight: InlineFlight[_Shared] = InlineFlight()

    async def read_state(
        self, view: ReadView, state: CachedState[Answer], body: bytes, read: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Return an answer about the state at the view's block, cached or read; settles the view.

        `state` and `body` together are the question; `read` asks the nodes and settles the view. The same question of
        several requests at once is asked by one of them.
        """
        cache, context = self._cache, view.cache
        question: Hashable | None = None
        while context is None or not context.bypass:
            if view.is_settling:
                # Another read of this view is determining its block: an answer of any other block must not join it.
                async with view.turn():
                    pass
            block = view.block
            if cache is not None and (at := self._latest(cache) if block is None else block) is not None:
                near = self._near_key(state.kind, at, body)
                value, lasting = cache.near.get(near), None
                if value is None and block is not None and at <= self.finality.block:
                    lasting = self._lasting_key(state.kind, at, body)
                    value = await cache.get_lasting(lasting)
                if value is not None:
                    count_cache("state", "hit")
                    if context is not None:
                        context.hit()
                        if view.block is None:
                            self._hold(cache, context, at, (near,))
                        elif lasting is None:
                            context.is_not_final()
                        else:
                            self._hold_part(cache, context, lasting)
                    view.settle(at, self._newest_by if at == self._newest else None)
                    return state.decode(value)
            question = (view.block, state.kind, body)
            flight = self._in_flight.join(question)
            if flight is None:
                break
            found = await self._follow(flight, view)
            if found is not None and view.block in (None, found.block):
                view.settle(found.block, found.endpoint)
                if context is not None and cache is not None:
                    context.miss()
                answer: Answer = found.answer
                return answer
        if cache is not None:
            if question is not None:
                count_cache("state", "miss")
            if context is not None:
                context.miss()
        was_open, generation = view.block is None, self._generation
        try:
            answer = await read()
            if cache is not None and view.block is not None:
                if was_open:
                    self._see_newest(cache, view.block, view.endpoint)
                self._keep_state(cache, view.block, state, body, answer, generation)
        except BaseException as error:
            if question is not None:
                self._in_flight.land(question, error if isinstance(error, GatewayError) else None)
            raise
        if question is not None:
            self._in_flight.land(question, None if view.block is None else _Shared(view.block, view.endpoint, answer))
        return answer

    async def read_states(
        self,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        read: Callable[[Sequence[int]], Awaitable[Sequence[Answer]]],
    ) -> list[Answer]:
        """Return the answers to several questions about the state at the view's block; settles the view.

        Each question is looked up and cached by itself, and asked once for several requests. What is cached of the
        latest state is of the newest block known: the rest is asked for at that block then. `read` gets the places of
        the questions to ask the nodes, asks them at one block and settles the view.
        """
        cache, context = self._cache, view.cache
        found: dict[int, Answer] = {}
        if context is not None and context.bypass:
            if cache is not None:
                context.miss()
            return list(await self._read_all(view, questions, range(len(questions)), read))
        while len(found) < len(questions):
            missing = [place for place in range(len(questions)) if place not in found]
            if view.is_settling:
                # Another read of this view is determining its block.
                async with view.turn():
                    pass
            if cache is not None:
                missing = await self._find_all(cache, view, questions, missing, found)
            if not missing:
                break
            if context is not None and cache is not None:
                context.miss()
            keys = {place: (view.block, questions[place].state.kind, questions[place].body) for place in missing}
            # Of a question that stands in several places each is asked: its executions are none but the caller's own.
            joined = {key: self._in_flight.join(key) for key in dict.fromkeys(keys.values())}
            followed = {place: flight for place, key in keys.items() if (flight := joined[key]) is not None}
            led = {place: key for place, key in keys.items() if place not in followed}
            if led:
                found |= await self._lead(view, questions, led, read)
            # These reads are already under way.
            others = [await self._follow(flight, view) for flight in followed.values()]
            blocks = [(other.block, other.endpoint) for other in others if other is not None]
            if blocks:
                # Reads under way elsewhere: those of another block are asked again, at the view's.
                view.settle(*max(blocks, key=lambda at: at[0]))
            for place, other in zip(followed, others, strict=True):
                if other is not None and other.block == view.block:
                    found[place] = other.answer
        return [found[place] for place in range(len(questions))]

    async def read_document(
        self, view: ReadView, document: CachedDocument[Answer], body: bytes, read: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Return a document, cached or read; `document` and `body` are the question. No failure is cached."""
        cache, context, kind = self._cache, view.cache, document.kind
        if cache is None:
            return await read()
        lasting = self._lasting_key(kind, 0, body)
        if context is None or not context.bypass:
            near = cache.near.get(self._near_key(kind, 0, body))
            value = near or await cache.get_lasting(lasting)
            if value is not None:
                count_cache("document", "hit")
                if context is not None:
                    context.hit()
                    if near:
                        context.is_not_final()
                    else:
                        self._hold_part(cache, context, lasting)
                return document.decode(value)
        count_cache("document", "miss")
        if context is not None:
            context.miss()
        distrusts = self._distrusts
        answer = await read()
        block = None if document.block_of is None else document.block_of(answer)
        if block is not None and document.hash_of is not None:
            self.see_hash(block, document.hash_of(answer))
        if distrusts == self._distrusts:
            if block is None:
                cache.keep(lasting, document.encode(answer))
            else:
                self._keep(cache, kind, 0, body, block, document.encode(answer))
        return answer

    async def close(self) -> None:
        """Give up what is in flight."""
        await self.finality.close()

    async def _follow(self, flight: asyncio.Future[_Shared | GatewayError | None], view: ReadView) -> _Shared | None:
        try:
            found = await follow(flight, view.deadline)
        except TimeoutError:
            raise DeadlineExceeded(f"{self._chain} did not answer before the deadline") from None
        if found is not None and view.cache is not None:
            view.cache.joined += 1
        return found

    async def _lead(
        self,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        keys: dict[int, tuple[int | None, str, bytes]],
        read: Callable[[Sequence[int]], Awaitable[Sequence[Answer]]],
    ) -> dict[int, Answer]:
        """Ask the nodes for these places, also for callers with the same questions meanwhile."""
        try:
            answers = dict(zip(keys, await self._read_all(view, questions, tuple(keys), read), strict=True))
        except BaseException as error:
            for key in set(keys.values()):
                self._in_flight.land(key, error if isinstance(error, GatewayError) else None)
            raise
        block = view.block
        for key, place in {key: place for place, key in keys.items()}.items():
            self._in_flight.land(key, None if block is None else _Shared(block, view.endpoint, answers[place]))
        return answers

    async def _read_all(
        self,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        places: Sequence[int],
        read: Callable[[Sequence[int]], Awaitable[Sequence[Answer]]],
    ) -> Sequence[Answer]:
        cache, was_open, generation = self._cache, view.block is None, self._generation
        answers = await read(places)
        if cache is not None and view.block is not None:
            if was_open:
                self._see_newest(cache, view.block, view.endpoint)
            for place, answer in zip(places, answers, strict=True):
                state, body = questions[place]
                self._keep_state(cache, view.block, state, body, answer, generation)
        return answers

    async def _find_all(
        self,
        cache: Cache,
        view: ReadView,
        questions: Sequence[Question[Answer]],
        places: Sequence[int],
        found: dict[int, Answer],
    ) -> list[int]:
        """Put what is cached of the view's block, or of the newest known, into `found`; return the other places."""
        was_open, context = view.block is None, view.cache
        block = self._latest(cache) if was_open else view.block
        if block is None:
            return list(places)
        nears = [self._near_key(questions[place].state.kind, block, questions[place].body) for place in places]
        values = [cache.near.get(near) for near in nears]
        lasting: dict[int, bytes] = {}
        if not was_open and block <= self.finality.block:
            for index, place in enumerate(places):
                if values[index] is None:
                    state, body = questions[place]
                    key = lasting[index] = self._lasting_key(state.kind, block, body)
                    values[index] = await cache.get_lasting(key)
        if view.block not in (None, block):
            return list(places)
        missing = [place for place, value in zip(places, values, strict=True) if value is None]
        for place, value in zip(places, values, strict=True):
            count_cache("state", "miss" if value is None else "hit")
            if value is not None:
                view.settle(block, self._newest_by if block == self._newest else None)
                found[place] = questions[place].state.decode(value)
        if found and context is not None:
            context.hit()
            if was_open and not missing:
                self._hold(cache, context, block, nears)
            elif not was_open and context.states_block:
                if len(lasting) < len(places):
                    context.is_not_final()
                for key in lasting.values():
                    self._hold_part(cache, context, key)
        return missing
