"""Calls over JSON-RPC, for where gRPC cannot pass: the same requests, answers and errors. Needs `waypost[jsonrpc]`."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from functools import cache
from typing import TYPE_CHECKING, Any

try:
    import httpx2
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("JSON-RPC needs httpx2: pip install 'waypost[jsonrpc]'") from missing

import grpc
from google.protobuf import descriptor_pool
from waypost.errors import TransportError, WaypostError, class_for
from waypost.json_messages import params_of, parse, result_of, text_of
from waypost.methods import Method, native_of
from waypost.target import ATTEMPTS, FIRST_PAUSE, GROWTH, LONGEST_PAUSE, USER_AGENT
from waypost.v1.raw_pb2 import NodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import MethodDescriptor
    from google.protobuf.message import Message
    from waypost.methods import Answer
    from waypost.target import Target

MOST_ITEMS = 50
HEADERS = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
UNAVAILABLE = 503
# Members of `error.data` that are no facts of the reason.
NO_FACTS = {"reason", "requestId", "field", "retryAfterMs", "jsonrpcCode", "node"}


_KEY = re.compile(r"/[^/]+/v1")


class KeylessUrls(logging.Filter):
    """Takes the key out of the URLs that the HTTP library logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; return that it is to be logged."""
        if isinstance(record.args, tuple):
            record.args = tuple(map(_keyless, record.args))
        return True


def _keyless(value: object) -> object:
    if isinstance(value, httpx2.URL) and _KEY.fullmatch(value.path):
        return str(value.copy_with(raw_path=b"/.../v1"))
    return value


logging.getLogger("httpx2").addFilter(KeylessUrls())


class JsonRpcTransport:
    """Calls over one pool of connections, which any number of threads may share."""

    def __init__(self, target: Target) -> None:
        self._url = _url(target)
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
            raise _unreached(failure) from None
        return _parsed(response)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncJsonRpcTransport:
    """Calls over one pool of connections of an event loop."""

    def __init__(self, target: Target) -> None:
        self._url = _url(target)
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
            raise _unreached(failure) from None
        return _parsed(response)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _url(target: Target) -> str:
    return f"{target.address}/{target.key}/v1" if target.key else f"{target.address}/v1"


def _trust(target: Target) -> ssl.SSLContext | bool:
    return ssl.create_default_context(cadata=target.roots.decode()) if target.roots else True


@cache
def _described(path: str) -> MethodDescriptor:
    pool: Any = descriptor_pool.Default()  # type: ignore[no-untyped-call]
    service, name = path.strip("/").split("/")
    method: MethodDescriptor = pool.FindServiceByName(service).methods_by_name[name]
    return method


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
    name, params = params_of(request, _described(method.path))
    return text_of({"jsonrpc": "2.0", "id": number, "method": name, "params": params})


def _batch_body(requests: list[Message]) -> str:
    bodies = [_body(number, _method_of(request), request) for number, request in enumerate(requests)]
    return f"[{','.join(bodies)}]"


def _parsed(response: httpx2.Response) -> Any:
    try:
        parsed = parse(response.content)
    except ValueError:
        parsed = None
    if not isinstance(parsed, list | dict) or (isinstance(parsed, dict) and not parsed.keys() & {"result", "error"}):
        raise TransportError(f"HTTP {response.status_code} without an answer of the gateway")
    return parsed


def _answer(method: Method[Answer], request: Message, parsed: Any) -> Answer:
    if "error" in parsed:
        raise _failure(parsed["error"])
    answer = result_of(method.answer, _described(method.path), parsed["result"], request)
    assert isinstance(answer, method.answer)
    return answer


def _answers(requests: list[Message], parsed: Any) -> list[Message | WaypostError]:
    if not isinstance(parsed, list):
        raise _failure(parsed["error"])
    by_number = {one["id"]: one for one in parsed}
    results: list[Message | WaypostError] = []
    for number, request in enumerate(requests):
        try:
            results.append(_answer(_method_of(request), request, by_number[number]))
        except WaypostError as error:
            results.append(error)
    return results


def _failure(error: dict[str, Any]) -> WaypostError:
    data = error.get("data") or {}
    pause = data.get("retryAfterMs")
    failure = class_for(data.get("reason", ""))(
        error["message"],
        field=data.get("field"),
        retry_after=None if pause is None else pause / 1000,
        request_id=data.get("requestId"),
        facts={name: value for name, value in data.items() if name not in NO_FACTS},
        node=_node(data["node"]) if "node" in data else None,
    )
    failure.is_unavailable = error["code"] == UNAVAILABLE and failure.reason != "DEADLINE_EXCEEDED"
    return failure


def _node(said: dict[str, Any]) -> NodeError:
    data = native_of(text_of(said["data"])) if "data" in said else None
    return NodeError(code=said.get("code"), message=said.get("message"), data=data)


def _unreached(failure: Exception) -> WaypostError:
    if isinstance(failure, httpx2.TimeoutException | TimeoutError):
        return class_for("DEADLINE_EXCEEDED")("the deadline passed before an answer came")
    error = TransportError(f"the gateway was not reached: {type(failure).__name__}")
    error.status = grpc.StatusCode.UNAVAILABLE
    error.is_unavailable = True
    return error


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
