"""Calls that share their HTTP request with no other.

Where a connection is idle such a call costs no task and no coroutine: its request is written at once, and what is left
to do is done when its answer comes. A task is there for the rest: connections that have to be opened, requests sent
again, answers that are read outside of the loop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from server.upstream.connector import Answer
from server.upstream.failures import Failure
from server.upstream.jsonrpc import decode_single, encode_request
from server.upstream.transport import Exchange, HttpConnector, explain_status

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from runtime.tracing import Asker
    from server.upstream.endpoint import Endpoint
    from server.upstream.http import HttpAnswer
    from server.upstream.jsonrpc import Outcome
    from server.upstream.transport import Observer, Purpose, Transport

# Longer answers are read outside of the event loop: one that is too deep for the parser is gone through token by token.
_LARGE = 1024 * 1024


class Item:
    """One call on its way, which no caller awaits after `timeout` seconds."""

    __slots__ = ("_ends", "asker", "call", "future", "number", "timeout")

    def __init__(
        self, number: int, call: bytes, timeout: float, future: asyncio.Future[Answer], asker: Asker | None
    ) -> None:
        self.number = number
        self.call = call
        self.timeout = timeout
        self.future = future
        self.asker = asker
        self._ends = future.get_loop().time() + timeout

    def cut_timeout(self) -> None:
        """Reduce its timeout to the time that is left, before it is sent once more."""
        self.timeout = max(self._ends - self.future.get_loop().time(), 0.0)

    def resolve(self, outcome: Outcome, exchange: Exchange) -> None:
        """Give its caller the outcome, unless there is none or it has one."""
        if not self.future.done():
            self.future.set_result(Answer(outcome, exchange))


class SingleCalls(HttpConnector):
    """Sends calls of one endpoint, each by itself."""

    def __init__(
        self,
        chain: str,
        endpoint: Endpoint,
        transport: Transport,
        observer: Observer,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(chain, endpoint, transport, observer, clock)
        # By what brings their answers: a task, or the answer itself where nothing else has to be waited for.
        self._sending: dict[asyncio.Future[Any], list[Item]] = {}

    def _send_now(self, item: Item, purpose: Purpose) -> None:
        """Send a call: without a task where a connection is idle, for then its answer alone has to be waited for."""
        endpoint, transport = self._endpoint, self._transport
        connection = transport.take(endpoint.address) if item.timeout > 0 else None
        if connection is None:
            self._launch(self._send_single(item, purpose), [item])
            return
        exchange = Exchange(self._clock(), (item.asker,))
        request = endpoint.address.post(encode_request(item.number, item.call))
        request = self._begin(exchange, request, purpose)
        deadline = transport.deadline(item.timeout)
        answer = transport.begin(connection, request, deadline, endpoint.note_byte)

        def end(_: object) -> None:
            del self._sending[answer]
            if answer.cancelled():
                connection.abandon(answer)
                self._end(exchange, None, len(request), purpose)
                item.future.cancel()
                return
            got = answer.result()
            if isinstance(got, Failure) or len(got.body) > _LARGE:
                self._launch(self._settle_single(item, exchange, request, deadline, got, purpose), [item])
                return
            try:
                self._end(exchange, got, len(request), purpose)
                _resolve_single(item, exchange, got, decode_single(got.body, item.number))
            except Exception as error:
                if not item.future.done():
                    item.future.set_exception(error)

        self._sending[answer] = [item]
        answer.add_done_callback(end)

    async def _settle_single(
        self,
        item: Item,
        exchange: Exchange,
        request: bytes,
        deadline: float,
        got: HttpAnswer | Failure,
        purpose: Purpose,
    ) -> None:
        """Finish a call that was sent without a task and brought a failure, or an answer that takes long to read."""
        endpoint = self._endpoint
        settled: HttpAnswer | Failure | None = None
        try:
            if isinstance(got, Failure):
                settled = await self._transport.settle(
                    got, endpoint.address, request, deadline, item.timeout, endpoint.note_byte
                )
            else:
                settled = got
        finally:
            self._end(exchange, settled, len(request), purpose)
        await self._read_single(item, exchange, settled)

    def _launch(self, sending: Coroutine[Any, Any, None], items: list[Item]) -> None:
        task = asyncio.get_running_loop().create_task(sending)
        self._sending[task] = items
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        items = self._sending.pop(task)
        error = None if task.cancelled() else task.exception()
        for item in items:
            if not item.future.done():
                if error is None:
                    item.future.cancel()
                else:
                    item.future.set_exception(error)

    async def _send_single(self, item: Item, purpose: Purpose) -> None:
        exchange = Exchange(self._clock(), (item.asker,))
        request = self._endpoint.address.post(encode_request(item.number, item.call))
        await self._read_single(item, exchange, await self._exchange(exchange, request, item.timeout, purpose))

    async def _read_single(self, item: Item, exchange: Exchange, got: HttpAnswer | Failure) -> None:
        if isinstance(got, Failure):
            item.resolve(got, exchange)
        elif len(got.body) > _LARGE:
            outcome = await asyncio.to_thread(decode_single, got.body, item.number)
            _resolve_single(item, exchange, got, outcome)
        else:
            _resolve_single(item, exchange, got, decode_single(got.body, item.number))


def _resolve_single(item: Item, exchange: Exchange, got: HttpAnswer, outcome: Outcome) -> None:
    item.resolve(explain_status(outcome, got) if isinstance(outcome, Failure) else outcome, exchange)
