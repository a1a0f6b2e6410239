"""Folding the calls of one loop turn into one JSON-RPC batch per endpoint.

Calls that are submitted while the loop runs one turn leave together, and a little later if they come in quick
succession (`BatchDelay`); heavy calls leave alone, so that the slowest item and the size limit hit no other. Calls that
belong together (a bundle) leave alone too, in one batch, and come to one answer. From an endpoint that refuses batches,
or long ones, the size that it takes is learned. One bad item fails alone, and one whose answer leaves no room for the
others costs them a second request.

Where a batch leaves anyway, the question which chain the endpoint serves (`identity`) travels with it: if the answer is
another chain, the whole batch is void. A request for the head is made a batch for that; no other single call is.
"""

from __future__ import annotations

import asyncio
import math
import re
from typing import TYPE_CHECKING, Any, Protocol

from server.errors import RangeTooLarge, ResponseTooLarge
from server.upstream.connector import Answer, Payload
from server.upstream.failures import Failure, Kind
from server.upstream.jsonrpc import NodeError, Outcome, decode_batch, encode_request
from server.upstream.single_calls import Item, SingleCalls
from server.upstream.transport import TOO_MANY_REQUESTS, Exchange, describe_seconds, explain_status
from server.upstream.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from runtime.tracing import Asker
    from server.upstream.endpoint import Endpoint
    from server.upstream.http import HttpAnswer
    from server.upstream.identity import Identity
    from server.upstream.transport import Observer, Purpose, Transport
    from server.upstream.verdicts import ErrorTable


MAX_BATCH_BYTES = 256 * 1024
"""A batch is closed before it grows beyond this; one longer call goes alone."""

_REFUSING_STATUSES = frozenset({400, 405, 413, 415, 422})
_TIMER_SLACK = 0.001
_IS_ABOUT_BATCHES = re.compile(r"batch", re.IGNORECASE)
_IS_ABOUT_SIZE = re.compile(r"large|many|exceed|size|limit|max", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,6}")


class Batcher(SingleCalls):
    """Sends the calls of one endpoint. Request numbers come from the pool, so no two of its calls share one."""

    def __init__(
        self,
        chain: str,
        endpoint: Endpoint,
        transport: Transport,
        errors: ErrorTable,
        observer: Observer,
        numbers: Iterator[int],
        clock: Callable[[], float],
        identity: Identity | None = None,
    ) -> None:
        super().__init__(chain, endpoint, transport, observer, clock)
        self._identity = identity
        self._errors = errors
        self._numbers = numbers
        self._delay = BatchDelay(endpoint.latency)
        self._waiting: list[Item] = []
        self._is_leaving = False

    def submit(
        self, call: bytes, timeout: float, *, held: bool = False, is_last: bool = False, asker: Asker | None = None
    ) -> asyncio.Future[Answer]:
        """Return the answer to a cheap call, which shares a batch with others sent at the same time.

        A call that was `held` already leaves after one more turn, and whatever waits leaves with it: calls of the same
        time from tasks of their own arrive a turn later. With `is_last` none is expected, and it leaves now.
        """
        loop = asyncio.get_running_loop()
        item = Item(next(self._numbers), call, timeout, loop.create_future(), asker)
        delay = 0.0 if held else self._delay.seconds(self._clock())
        self._waiting.append(item)
        if is_last:
            if not self._is_leaving:
                self._flush()
        elif held:
            if not self._is_leaving:
                self._is_leaving = True
                loop.call_soon(loop.call_soon, self._flush)
        elif len(self._waiting) == 1:
            if delay > 0:
                loop.call_later(delay, self._flush)
            else:
                loop.call_soon(self._flush)
        return item.future

    async def submit_alone(
        self, payload: Payload[bytes], timeout: float, purpose: Purpose = "heavy", asker: Asker | None = None
    ) -> Answer:
        """Return the answer to a call, or to a bundle, that shares its request with no other.

        A bundle answers with its results in order; where one is missing, with the error that is an answer, or else
        with the first failure.
        """
        calls = (payload,) if isinstance(payload, bytes) else payload
        loop = asyncio.get_running_loop()
        items = [Item(next(self._numbers), call, timeout, loop.create_future(), asker) for call in calls]
        self._start(items, purpose)
        answers = await asyncio.gather(*(item.future for item in items))
        return answers[0] if isinstance(payload, bytes) else self._whole(answers)

    def give_up(self, failure: Failure) -> None:
        """End every call in flight with this failure."""
        exchange = Exchange(self._clock())
        _resolve_all(self._waiting, failure, exchange)
        for sending, items in list(self._sending.items()):
            _resolve_all(items, failure, exchange)
            sending.cancel()

    async def close(self) -> None:
        """Cancel what is in flight."""
        every = list(self._sending)
        for sending in every:
            sending.cancel()
        await asyncio.gather(*every, return_exceptions=True)

    def _flush(self) -> None:
        self._is_leaving = False
        waiting, self._waiting = self._waiting, []
        if len(waiting) == 1:
            if not waiting[0].future.done():
                self._start(waiting, "call")
            return
        for chunk in _split([item for item in waiting if not item.future.done()], self._endpoint.batch_items):
            self._start(chunk, "call")

    def _start(self, items: list[Item], purpose: Purpose) -> None:
        if purpose == "head" or len(items) > 1:
            self._launch(self._send(items, purpose), items)
        else:
            self._send_now(items[0], purpose)

    def _send(self, items: list[Item], purpose: Purpose, *, again: bool = False) -> Coroutine[Any, Any, None]:
        """Return what sends the calls."""
        if len(items) == 1 and (again or purpose != "head" or not self._completes(items[0])):
            return self._send_single(items[0], purpose)
        if len(items) > self._endpoint.batch_items:
            return self._resend(items, self._endpoint.batch_items, purpose, learns=False)
        return self._send_batch(items, purpose, again=again)

    def _completes(self, item: Item) -> bool:
        """Return whether a single call is to become a batch with that question; not where it is that question."""
        return self._brings_identity(1) and self._identity is not None and item.call != self._identity.call

    def _brings_identity(self, items: int) -> bool:
        """Return whether a batch of so many calls has room for the question which chain the endpoint serves."""
        return self._identity is not None and self._identity.rides and items < self._endpoint.batch_items

    async def _send_batch(self, items: list[Item], purpose: Purpose, *, again: bool = False) -> None:
        exchange = Exchange(self._clock(), [item.asker for item in items])
        requests = [encode_request(item.number, item.call) for item in items]
        numbers = [item.number for item in items]
        # Not with calls that were refused once: it may be the one too many.
        identity = None if again or not self._brings_identity(len(items)) else self._identity
        if identity is not None:
            numbers.append(next(self._numbers))
            requests.append(encode_request(numbers[-1], identity.call))
        got = await self._post(b"[%b]" % b",".join(requests), items, exchange, purpose)
        if isinstance(got, Failure):
            if got.kind is Kind.TOO_LARGE:
                await self._resend(items, (len(items) + 1) // 2, purpose, learns=False)
            else:
                _resolve_all(items, got, exchange)
            return
        outcomes = decode_batch(got.body, numbers)
        if isinstance(outcomes, dict):
            if identity is not None:
                wrong = identity.note_answer(outcomes.get(numbers[-1]), exchange.started)
                if wrong is not None:
                    _resolve_all(items, wrong, exchange)
                    return
            missing = Failure(Kind.MISSING, "left out of the answer to a batch")
            crowded = self._crowded_out(items, outcomes, exchange)
            for item in items[: len(items) - len(crowded)]:
                item.resolve(outcomes.get(item.number, missing), exchange)
            if crowded:
                await self._resend(crowded, len(crowded), purpose, learns=False)
        elif isinstance(outcomes, NodeError):
            size = self._refused_size(outcomes, got.status, len(numbers))
            if size is None:
                _resolve_all(items, outcomes, exchange)
            else:
                await self._resend(items, size, purpose, learns=True)
        elif got.status in _REFUSING_STATUSES:
            await self._resend(items, 1, purpose, learns=True)
        else:
            _resolve_all(items, explain_status(outcomes, got), exchange)

    def _crowded_out(self, items: list[Item], outcomes: dict[int, Outcome], exchange: Exchange) -> list[Item]:
        """Return the calls of a batch that had no room left after the answers to those before them.

        Nodes that bound the answer to a batch refuse all that comes after the limit is reached.
        """
        first = len(items)
        while first > 0 and self._is_too_long(outcomes.get(items[first - 1].number), exchange):
            first -= 1
        return items[first:] if first > 0 else []

    def _is_too_long(self, outcome: Outcome | None, exchange: Exchange) -> bool:
        if not isinstance(outcome, NodeError):
            return False
        judged = self._errors.classify(exchange.status, outcome.code, outcome.message, outcome.data)
        return isinstance(judged.error, RangeTooLarge | ResponseTooLarge)

    def _refused_size(self, error: NodeError, status: int, sent: int) -> int | None:
        """Return the batch size to try after a batch was answered by one error; None if the error holds for all."""
        if not _IS_ABOUT_BATCHES.search(error.message):
            limited = self._errors.classify(status, error.code, error.message, error.data).verdict is Verdict.LIMITED
            return None if limited or status == TOO_MANY_REQUESTS else 1
        stated = [number for number in map(int, _NUMBER.findall(error.message)) if 1 < number < sent]
        if stated:
            return max(stated)
        return (sent + 1) // 2 if _IS_ABOUT_SIZE.search(error.message) else 1

    async def _resend(self, items: list[Item], size: int, purpose: Purpose, *, learns: bool) -> None:
        wanted = [item for item in items if not item.future.done()]
        chunks = _split(wanted, size)
        if purpose == "call":
            await asyncio.gather(*(self._send_again(chunk, purpose) for chunk in chunks))
        else:
            # A bundle: its calls are to run in their order.
            for chunk in chunks:
                await self._send_again(chunk, purpose)
        # Only an answer proves that it was the batch and not the node: a broken node refuses single calls as well.
        if learns and any(self._is_answered(item) for item in wanted):
            self._endpoint.learn_batch_items(size)

    async def _send_again(self, items: list[Item], purpose: Purpose) -> None:
        for item in items:
            item.cut_timeout()
        await self._send(items, purpose, again=True)

    def _is_answered(self, item: Item) -> bool:
        if not item.future.done() or item.future.cancelled() or item.future.exception() is not None:
            return False
        answer = item.future.result()
        return isinstance(answer.outcome, bytes) or self._is_final(answer)

    def _is_final(self, answer: Answer) -> bool:
        """Return whether the call came to an error that is an answer, a revert for example."""
        error = answer.outcome
        if not isinstance(error, NodeError):
            return False
        judged = self._errors.classify(answer.exchange.status, error.code, error.message, error.data)
        return judged.verdict is Verdict.ANSWER

    def _whole(self, answers: list[Answer]) -> Answer:
        """Return the answers of a bundle as one."""
        results = [answer.outcome for answer in answers if isinstance(answer.outcome, bytes)]
        if len(results) == len(answers):
            return Answer(tuple(results), answers[-1].exchange)
        failed = [answer for answer in answers if not isinstance(answer.outcome, bytes)]
        return next(filter(self._is_final, failed), failed[0])

    async def _post(self, body: bytes, items: list[Item], exchange: Exchange, purpose: Purpose) -> HttpAnswer | Failure:
        longest = max(item.timeout for item in items)
        loop = asyncio.get_running_loop()
        timers = [
            loop.call_later(item.timeout, item.resolve, _timed_out(item.timeout), exchange)
            for item in items
            if item.timeout < longest - _TIMER_SLACK
        ]
        try:
            return await self._exchange(exchange, self._endpoint.address.post(body), longest, purpose, len(items))
        finally:
            for timer in timers:
                timer.cancel()


def _split(items: list[Item], size: int) -> list[list[Item]]:
    """Return the items in batches of at most `size`, each in the first that has room for its bytes."""
    chunks: list[list[Item]] = []
    # Those that are not full, with the bytes that they have room for.
    unfilled: list[tuple[list[Item], int]] = []
    for item in items:
        length = len(item.call)
        for index, (chunk, room) in enumerate(unfilled):
            if length <= room:
                chunk.append(item)
                unfilled[index] = chunk, room - length
                break
        else:
            index, chunk = len(unfilled), [item]
            chunks.append(chunk)
            unfilled.append((chunk, MAX_BATCH_BYTES - length))
        if len(chunk) >= size or unfilled[index][1] <= 0:
            del unfilled[index]
    return chunks


def _resolve_all(items: list[Item], outcome: Outcome, exchange: Exchange) -> None:
    for item in items:
        item.resolve(outcome, exchange)


def _timed_out(timeout: float) -> Failure:
    return Failure(Kind.TIMED_OUT, f"no answer within {describe_seconds(timeout)}")


_LONGEST = 0.002
_SHORTEST = 0.001
_SHARE = 20
# How many other reads have to be expected within a hold.
_COMPANY = 0.5
_WINDOW_SECONDS = 1.0


class HasMedian(Protocol):
    """What measures how long answers take."""

    @property
    def median(self) -> float | None:
        """Seconds, None before the first answer."""
        ...


class BatchDelay:
    """How long a read waits for others: a twentieth of the node's median, 1 to 2 ms, where company is likely.

    It is likely where reads came, over the last second or so, so fast that one in two holds brings another one. A lone
    caller, who asks again once he is answered, never brings that, as no hold is longer than a twentieth of an answer:
    he waits for nothing (design section 6). Nor does anything wait at nodes that answer within 20 ms.
    """

    def __init__(self, latency: HasMedian) -> None:
        self._latency = latency
        self._previous: float | None = None
        self._recent = 0.0
        self.is_quiet = True
        """Whether the last read came later after the one before it than the node takes to answer."""

    def seconds(self, now: float) -> float:
        """Return for how long the read that arrives `now` is held; 0 where others are not likely to come meanwhile."""
        previous, self._previous = self._previous, now
        median = self._latency.median
        if previous is None:
            self._recent = 1.0
            return 0.0
        gap = now - previous
        # Each read counts the less the longer ago it is: the sum is how many come in a second.
        recent = self._recent * math.exp(-gap / _WINDOW_SECONDS)
        self._recent = recent + 1.0
        self.is_quiet = median is None or gap > median
        if median is None:
            return 0.0
        hold = min(_LONGEST, median / _SHARE)
        return hold if hold >= _SHORTEST and hold * recent >= _COMPANY * _WINDOW_SECONDS else 0.0
