"""What a caller sends at once, a request object or a batch: admitted, executed and answered, whatever brought it.

A single request is admitted by its own call where it leads to one, else and for batches and the demo by `Admit`
(docs/decisions/0012).
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import hdrs

from runtime.metrics import observe_batch
from transcoder.calls import check_key, missing_key, over_quota, quota_headers
from transcoder.dispatch import Answer, NotAdmitted
from transcoder.errors import seconds
from transcoder.exchange import CACHE_HEADER, COST_HEADER
from transcoder.requests import NULL, too_busy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import msgspec
    from waypost_internal.v1.access_pb2 import AdmitResponse

    from runtime.fair_share import FairShare
    from transcoder.calls import Admission
    from transcoder.dispatch import Batch
    from transcoder.exchange import Exchange
    from transcoder.pages import Parts, Shared
    from transcoder.requests import BodyError

DEMO = "demo"

T = TypeVar("T")


class Messages:
    """Answers what callers send; `in_flight` are those that are being executed, shared between keys.

    `admitted` are the connections whose message is in flight: they are never closed for others.
    """

    def __init__(self, admission: Admission, in_flight: FairShare, admitted: set[Any]) -> None:
        self._admission = admission
        self._in_flight = in_flight
        self._admitted = admitted

    def check_room(self, segment: str) -> None:
        """Raise Failure (503, 429) where no more messages of the key may be in flight."""
        holder = self._admission.holder_of(segment)
        if not self._in_flight.has_room(holder):
            raise too_busy(self._in_flight, holder)

    async def check_caller(
        self, segment: str | None, exchange: Exchange, headers: dict[str, str], *, soon: bool
    ) -> str:
        """Return the key's path segment, where it may be the key of a caller. Raises Failure (401, 429, 503).

        `soon`: the body has come. Otherwise the demo's client has to have some quota left before that is read.
        """
        if not segment:
            raise missing_key()
        if segment != DEMO:
            if self._admission.known.get(segment, 0.0) <= monotonic():
                check_key(segment)
                await self._admission.find(segment, exchange)
        elif not soon:
            left = await self._admission.admit(None, 0, exchange)
            if left.limit and not left.remaining:
                headers.update(quota_headers(left))
                raise over_quota(left)
        return segment

    async def answer(
        self,
        calls: Batch,
        segment: str,
        content: bytes | list[msgspec.Raw],
        broken: BodyError | None,
        exchange: Exchange,
        headers: dict[str, str],
        base: Callable[[], str],
        connection: Any,
    ) -> Answer:
        """Return the answer to `content`, or to what is `broken` of it, sent with the key `segment` over a connection.

        `calls` is what makes its calls: the API's, or a chain's own.
        `headers` gain what the server says of the quota and the cost, also where it raises Failure: for the key (401),
        the quota (429), or no room (429, 503). `Answer.refusal` is set where the call itself did not admit its caller.
        """
        self.check_room(segment)
        is_batch, answer = isinstance(content, list), None
        if broken is None and segment != DEMO and not isinstance(content, list):
            exchange.present(segment)
            try:
                answer = await self._one(calls, segment, content, exchange, base, connection)
            except NotAdmitted:
                pass
            else:
                if answer.headers is not None:
                    if answer.status == 401:
                        self._admission.forget(segment)
                    return answer
        count = len(content) if is_batch else 1
        admitted = await self._admission.admit(None if segment == DEMO else segment, count, exchange)
        headers.update(quota_headers(admitted))
        headers[COST_HEADER] = str(admitted.admitted)
        exchange.admit(admitted.principal)
        if isinstance(content, list):
            return await self._many(calls, segment, content, admitted, exchange, headers, base, connection)
        if admitted.admitted < 1:
            raise over_quota(admitted)
        if broken is not None:
            failure = broken.failure
            await self._admission.report(admitted.principal, [failure.reason], exchange)
            return Answer(
                exchange.print_failure(failure, NULL, exchange.request_id), broken.status, failure.retry_after_ms
            )
        if answer is None:
            self.check_room(segment)
            answer = await self._one(calls, segment, content, exchange, base, connection)
        if answer.headers is None:
            await self._admission.report(admitted.principal, [answer.reason], exchange)
        answer.refusal = None
        return answer

    async def _one(
        self, calls: Batch, segment: str, content: bytes, exchange: Exchange, base: Callable[[], str], connection: Any
    ) -> Answer:
        begun = calls.begin(content, exchange, base)
        if isinstance(begun, Answer):
            return begun
        return await self._fly(segment, connection, calls.finish(begun, exchange))

    async def _fly(self, segment: str, connection: Any, work: Awaitable[T]) -> T:
        """Return what the work of an admitted message returns, in flight meanwhile; there has to be room for it."""
        holder = self._admission.holder_of(segment)
        self._in_flight.enter(holder)
        admitted = self._admitted
        is_first = connection not in admitted
        admitted.add(connection)
        try:
            return await work
        finally:
            self._in_flight.leave(holder)
            if is_first:
                admitted.discard(connection)

    async def _many(
        self,
        calls: Batch,
        segment: str,
        items: list[msgspec.Raw],
        admitted: AdmitResponse,
        exchange: Exchange,
        headers: dict[str, str],
        base: Callable[[], str],
        connection: Any,
    ) -> Answer:
        observe_batch(len(items))
        accepted, over = items[: admitted.admitted], items[admitted.admitted :]
        answers = []
        if accepted:
            self.check_room(segment)
            answers = await self._fly(segment, connection, calls.run(accepted, exchange, base))
        if len(items) == 1 and answers and (state := (answers[0].headers or {}).get(CACHE_HEADER)) is not None:
            headers[CACHE_HEADER] = state
        headers[COST_HEADER] = str(sum(1 if answer.cost is None else answer.cost for answer in answers))
        await self._admission.report(
            admitted.principal, [answer.reason for answer in answers if answer.cost is None], exchange
        )
        if over:
            failure = over_quota(admitted)
            answers += [calls.refuse(item, failure, exchange) for item in over]
            if failure.retry_after_ms:
                headers[hdrs.RETRY_AFTER] = seconds(failure.retry_after_ms)
        bodies = [answer.body for answer in answers if answer.body is not None]
        return Answer(joined(bodies) if bodies else None, 200 if bodies else 204)


def joined(bodies: Sequence[bytes | Parts]) -> bytes | Parts:
    """Return the bodies of answers as one array."""
    if all(body.__class__ is bytes for body in bodies):
        return b"[" + b",".join(bodies) + b"]"  # type: ignore[arg-type]  # all are
    parts: list[bytes | Shared] = []
    for body in bodies:
        parts.append(b"," if parts else b"[")
        parts += [body] if isinstance(body, bytes) else body
    return [*parts, b"]"]
