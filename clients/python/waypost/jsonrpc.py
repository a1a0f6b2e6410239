"""Calls over JSON-RPC, for where gRPC cannot pass: the same requests, answers and errors. Needs `waypost[jsonrpc]`."""

from __future__ import annotations

import asyncio
import ssl
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from waypost.errors import WaypostError
from waypost.http_answers import described, failure_of, httpx2, parsed_of, unreached
from waypost.json_messages import params_of, result_of, text_of
from waypost.server_sent_events import AsyncHttpEvents, HttpEvents
from waypost.target import ATTEMPTS, FIRST_PAUSE, GROWTH, LONGEST_PAUSE, USER_AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message
    from waypost.methods import Answer, Method, StreamMethod
    from waypost.target import Target

MOST_ITEMS = 50
# Streams hold their connections: their number is the gateway's to limit, not the pool's.
UNLIMITED = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
HEADERS = {"Content-Type": "application/json", "User-Agent": USER_AGENT}


class JsonRpcTransport:
    """Calls over one pool of connections, which any number of threads may share."""

    def __init__(self, target: Target) -> None:
        self._url = _url(target)
        self._target = target
        self._streaming: httpx2.Client | None = None
        self._http = httpx2.Client(headers=HEADERS, verify=_trust(target), follow_redirects=False)

    def call(self, method: Method[Answer], request: Message, timeout: float) -> Answer:
        """Return the answer; raises WaypostError. Repeated where the gateway is not available."""
        body, pauses = _body(0, method, request), _pauses()
        until = time.monotonic() + timeout
        while True:
            try:
                return _answer(method, request, self._post(body, until - time.monotonic()))
            except WaypostError as error:
                pause = _pause(error, pauses, until)
                if pause is None:
                    raise
                time.sleep(pause)

    def batch(self, requests: list[Message], timeout: float) -> list[Message | WaypostError]:
        """Return what each request came to; raises WaypostError. More than 50 go in several batches."""
        until = time.monotonic() + timeout
        results: list[Message | WaypostError] = []
        for first in range(0, len(requests), MOST_ITEMS):
            part = requests[first : first + MOST_ITEMS]
            results += _answers(part, self._post(_batch_body(part), until - time.monotonic()))
        return results

    def _post(self, body: str, timeout: float) -> Any:
        try:
            response = self._http.post(self._url, content=body, timeout=max(timeout, 0.001))
        except httpx2.HTTPError as failure:
            raise unreached(failure) from None
        return parsed_of(response.status_code, response.content)

    def stream(self, method: StreamMethod[Answer], request: Message) -> HttpEvents[Answer]:
        """Return the events of a stream that begins."""
        if self._streaming is None:
            self._streaming = httpx2.Client(headers=HEADERS, verify=_trust(self._target), limits=UNLIMITED)
        return HttpEvents(self._streaming, self._url, method, request)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        if self._streaming is not None:
            self._streaming.close()


class AsyncJsonRpcTransport:
    """Calls over one pool of connections of an event loop."""

    def __init__(self, target: Target) -> None:
        self._url = _url(target)
        self._target = target
        self._streaming: httpx2.AsyncClient | None = None
        self._http = httpx2.AsyncClient(headers=HEADERS, verify=_trust(target), follow_redirects=False)

    async def call(self, method: Method[Answer], request: Message, timeout: float) -> Answer:
        """Return the answer; raises WaypostError. Repeated where the gateway is not available."""
        body, pauses = _body(0, method, request), _pauses()
        until = time.monotonic() + timeout
        while True:
            try:
                return _answer(method, request, await self._post(body, until - time.monotonic()))
            except WaypostError as error:
                pause = _pause(error, pauses, until)
                if pause is None:
                    raise
                await asyncio.sleep(pause)

    async def batch(self, requests: list[Message], timeout: float) -> list[Message | WaypostError]:
        """Return what each request came to; raises WaypostError. More than 50 go in several batches."""
        until = time.monotonic() + timeout
        results: list[Message | WaypostError] = []
        for first in range(0, len(requests), MOST_ITEMS):
            part = requests[first : first + MOST_ITEMS]
            results += _answers(part, await self._post(_batch_body(part), until - time.monotonic()))
        return results

    async def _post(self, body: str, timeout: float) -> Any:
        try:
            async with asyncio.timeout(timeout):
                response = await self._http.post(self._url, content=body, timeout=None)
        except (httpx2.HTTPError, TimeoutError) as failure:
            raise unreached(failure) from None
        return parsed_of(response.status_code, response.content)

    def stream(self, method: StreamMethod[Answer], request: Message) -> AsyncHttpEvents[Answer]:
        """Return the events of a stream that begins."""
        if self._streaming is None:
            self._streaming = httpx2.AsyncClient(headers=HEADERS, verify=_trust(self._target), limits=UNLIMITED)
        return AsyncHttpEvents(self._streaming, self._url, method, request)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        if self._streaming is not None:
            await self._streaming.aclose()


def _url(target: Target) -> str:
    return f"{target.address}/{target.key}/v1" if target.key else f"{target.address}/v1"


def _trust(target: Target) -> ssl.SSLContext | bool:
    return ssl.create_default_context(cadata=target.roots.decode()) if target.roots else True


@cache
def _by_request() -> dict[str, Method[Any]]:
    from waypost.generated.rpcs import METHODS

    return {method.request.DESCRIPTOR.full_name: method for method in METHODS}


def _method_of(request: Message) -> Method[Any]:
    try:
        return _by_request()[request.DESCRIPTOR.full_name]
    except KeyError:
        raise ValueError(f"{request.DESCRIPTOR.full_name} is no request of an operation") from None


def _body(number: int, method: Method[Any], request: Message) -> str:
    name, params = params_of(request, described(method.path))
    return text_of({"jsonrpc": "2.0", "id": number, "method": name, "params": params})


def _batch_body(requests: list[Message]) -> str:
    bodies = [_body(number, _method_of(request), request) for number, request in enumerate(requests)]
    return f"[{','.join(bodies)}]"


def _answer(method: Method[Answer], request: Message, parsed: Any) -> Answer:
    if "error" in parsed:
        raise failure_of(parsed["error"])
    answer = result_of(method.answer, described(method.path), parsed["result"], request)
    assert isinstance(answer, method.answer)
    return answer


def _answers(requests: list[Message], parsed: Any) -> list[Message | WaypostError]:
    if not isinstance(parsed, list):
        raise failure_of(parsed["error"])
    by_number = {one["id"]: one for one in parsed}
    results: list[Message | WaypostError] = []
    for number, request in enumerate(requests):
        try:
            results.append(_answer(_method_of(request), request, by_number[number]))
        except WaypostError as error:
            results.append(error)
    return results


def _pauses() -> Iterator[float]:
    """Yield the pauses before each further attempt, as the channels of gRPC make them."""
    pause = FIRST_PAUSE
    for _ in range(ATTEMPTS - 1):
        yield pause
        pause = min(pause * GROWTH, LONGEST_PAUSE)


def _pause(error: WaypostError, pauses: Iterator[float], until: float) -> float | None:
    """Return the seconds until the next attempt; None where there is none."""
    planned = next(pauses, None) if error.is_unavailable else None
    if planned is None:
        return None
    pause = planned if error.retry_after is None else error.retry_after
    return pause if time.monotonic() + pause < until else None
