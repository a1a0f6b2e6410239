"""Our handler of a connection beside aiohttp's own, over real sockets: the same bytes, and the same end."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from tests.transcoder.scripted import KEY, Face, Options, Server, serving
from transcoder.app import ANSWER, create_app
from transcoder.connections import LINGERING_SECONDS, READ_BUFFER
from transcoder.handler import Handler
from transcoder.responses import WholeResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

JSON = {"Server": "waypost", "Content-Type": "application/json"}
END = b"GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LARGE = 64 * 1024


class Servers(web.Server):
    """A server whose connections are our handlers."""

    def __call__(self) -> web.RequestHandler:
        return Handler(self, loop=self._loop, **self._kwargs)


def request(path: str, *lines: str, method: str = "POST", body: bytes = b"{}", version: str = "1.1") -> bytes:
    head = "\r\n".join((f"{method} {path} HTTP/{version}", "Host: x", *lines, f"Content-Length: {len(body)}", "", ""))
    return head.encode() + body


async def answer(asked: web.BaseRequest) -> web.StreamResponse:
    """Answer what the path asks for, at once or after a turn of the loop."""
    kind = asked.path.strip("/")
    if kind.startswith("later"):
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
    if kind == "gone":
        raise ConnectionError
    if kind == "defect":
        raise RuntimeError
    body = b"" if kind == "unread" else await asked.read()
    if kind == "plain":
        return web.Response(text="plain")
    headers = {**JSON, "X-Path": kind}
    if kind == "control":
        headers["X-Path"] = "a\r\nb"
    if kind == "accented":
        headers["X-Path"] = "\u00e9\tb"
    if kind == "none":
        return WholeResponse(None, 204, dict(headers))
    status = int(kind) if kind.isdecimal() else 200
    response = WholeResponse(b"[" + body + b"]", status, headers)
    if kind == "last":
        response.force_close()
    return response


@asynccontextmanager
async def listening(kind: type[web.Server], handler: Answer, **options: Any) -> AsyncIterator[tuple[int, web.Server]]:
    loop = asyncio.get_running_loop()
    more = {
        "access_log": None,
        "handler_cancellation": True,
        "auto_decompress": False,
        "lingering_time": LINGERING_SECONDS,
        "read_bufsize": READ_BUFFER,
        **options,
    }
    server = kind(handler, **more)
    listener = await loop.create_server(server, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1], server
    finally:
        listener.close()
        await server.shutdown(0.1)


async def exchange(port: int, segments: Sequence[bytes]) -> bytes:
    """Return all that the server writes until it closes; `Date` is made one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for segment in segments:
            writer.write(segment)
            await asyncio.sleep(0.02)
        async with asyncio.timeout(10):
            received = await reader.read()
    except ConnectionResetError:
        received = b"reset"
    finally:
        writer.close()
    return re.sub(
        rb"\r\nDate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n", b"\r\nDate: -\r\n", received
    )


CHUNKED = b"POST /chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")
CONVERSATIONS: dict[str, list[bytes]] = {
    "at once": [request("/a")],
    "after a wait": [request("/later")],
    "several in turn": [request("/a"), request("/later"), request("/b", body=b""), request("/later/b")],
    "body later than its head": [request("/a")[:-2], b"{", b"}"],
    "head in pieces": [request("/a")[:20], request("/a")[20:]],
    "one segment": [b"".join(request(f"/{'later/' * (n % 3 == 0)}{n + 200}") for n in range(100))],
    "one segment, begun at once": [request("/a") + request("/later")[:30], request("/later")[30:]],
    "no body": [request("/a", body=b"")],
    "large body": [request("/a", body=b" " * 300_000)],
    "HEAD": [request("/a", method="HEAD", body=b"")],
    "GET": [request("/a", method="GET", body=b"")],
    "OPTIONS": [request("/none", method="OPTIONS", body=b"")],
    "DELETE": [request("/a", method="DELETE")],
    "no content": [request("/none"), request("/205"), request("/304")],
    "statuses": [request(f"/{status}") for status in (400, 401, 404, 405, 413, 429, 500, 503, 599)],
    "HTTP/1.0": [request("/a", version="1.0")],
    "HTTP/1.0, kept": [request("/a", "Connection: keep-alive", version="1.0")],
    "closed by the client": [request("/a", "Connection: close")],
    "closed by the client, after a wait": [request("/later", "Connection: close")],
    "closed by the server": [request("/last")],
    "chunks at once": [CHUNKED + b"2\r\n{}\r\n3\r\nabc\r\n0\r\n\r\n"],
    "chunks in pieces": [CHUNKED, b"2\r\n{", b"}\r\n0\r", b"\n\r\n"],
    "broken chunks": [CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"],
    "body that is not read": [request("/unread", body=bytes(200_000))],
    "body that is not read and not sent": [request("/unread", body=bytes(10))[:-3]],
    "upgrade": [request("/a", *UPGRADE), request("/b")],
    "upgrade, one segment": [request("/a", *UPGRADE) + request("/b")],
    "library's own response": [request("/plain")],
    "not ASCII": [request("/accented")],
    "control characters": [request("/control")],
    "defect": [request("/defect")],
    "gone": [request("/gone")],
    "no HTTP": [b"nonsense\r\n\r\n"],
    "no HTTP after a request": [request("/a") + b"nonsense\r\n\r\n"],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_the_bytes_and_the_end_are_those_of_aiohttp(name: str) -> None:
    segments = [*CONVERSATIONS[name], END]
    async with listening(web.Server, answer) as (stock, _), listening(Servers, answer) as (own, _):
        expected = await exchange(stock, segments)
        assert await exchange(own, segments) == expected


def asking(method: str, path: str, body: bytes, *lines: str) -> bytes:
    return request(path, "X-Request-Id: one", *lines, method=method, body=body)


HEALTH = b'{"jsonrpc":"2.0","method":"getHealth","id":7}'
API = f"/{KEY}/v1"
ORIGIN = "Origin: https://app.example"
FACE: dict[str, list[bytes]] = {
    "answer": [asking("POST", API, HEALTH)],
    "notification": [asking("POST", API, HEALTH.replace(b',"id":7', b""))],
    "batch": [asking("POST", API, b"[" + HEALTH + b"," + HEALTH + b"]")],
    "unknown method": [asking("POST", API, HEALTH.replace(b"Health", b"Wealth"))],
    "no JSON": [asking("POST", API, b"{")],
    "no body": [asking("POST", API, b"")],
    "no key": [asking("POST", "/v1", HEALTH)],
    "wrong key": [asking("POST", "/wp_bad/v1", HEALTH)],
    "demo": [asking("POST", "/demo/v1", HEALTH)],
    "nothing there": [asking("POST", "/nowhere", HEALTH), asking("GET", "/nowhere", b"")],
    "not POST": [asking("GET", API, b""), asking("PUT", API, HEALTH), asking("HEAD", API, b"")],
    "pages": [asking("GET", "/livez", b""), asking("HEAD", "/livez", b""), asking("POST", "/livez", b"")],
    "preflight": [asking("OPTIONS", API, b"", ORIGIN, "Access-Control-Request-Method: POST")],
    "origins": [asking("POST", API, HEALTH, ORIGIN), asking("POST", API, HEALTH, "Origin: https://other.example")],
    "too large": [asking("POST", API, bytes(70_000))],
    "compressed badly": [asking("POST", API, HEALTH, "Content-Encoding: gzip")],
    "expectation": [asking("POST", API, HEALTH, "Expect: 100-continue")[: -len(HEALTH)], HEALTH],
    "expectation with its body": [asking("POST", API, HEALTH, "Expect: 100-continue")],
    "other expectation": [asking("POST", API, HEALTH, "Expect: more")],
    "HTTP/1.0": [request(API, "X-Request-Id: one", "Connection: keep-alive", body=HEALTH, version="1.0")],
    "one segment": [b"".join(asking("POST", API, HEALTH.replace(b"7", b"%d" % n)) for n in range(50))],
}


@pytest.fixture(scope="module")
async def face() -> AsyncIterator[tuple[Face, int]]:
    """The face, and the port of one that aiohttp serves, on the same server."""
    options = Options(cors_origins=("https://app.example",), max_body_bytes=64 * 1024)
    async with serving(options, Server(limit=10)) as ours:
        app = create_app(ours.channel, options)  # type: ignore[arg-type]  # the same attributes
        async with listening(web.Server, app[ANSWER]) as (port, _):
            yield ours, port


@pytest.mark.parametrize("name", FACE)
async def test_the_face_answers_as_aiohttp_would_have_it(face: tuple[Face, int], name: str) -> None:
    ours, stock = face
    segments = [*FACE[name], END]
    expected = await exchange(stock, segments)
    own = await exchange(int(ours.base.rpartition(":")[2]), segments)
    assert own.replace(*_without_ids(own)) == expected.replace(*_without_ids(expected))


def _without_ids(received: bytes) -> tuple[bytes, bytes]:
    """Return what replaces the id of the last answer, which has none of the client's, with one of its length."""
    found = re.findall(rb"X-Request-Id: (\w{20})\r\n", received)
    return (found[-1], bytes(20)) if found else (b"\0", b"\0")


async def _clients_who_never_read(kind: type[web.Server], path: str) -> tuple[int, int]:
    """Return how many of 500 requests are answered to a client that reads nothing, and the bytes that wait for it."""
    answered = 0

    async def large(asked: web.BaseRequest) -> web.StreamResponse:
        nonlocal answered
        if asked.path == "/later":
            await asyncio.sleep(0)
        await asked.read()
        answered += 1
        return WholeResponse(bytes(LARGE), 200, JSON.copy())

    async with listening(kind, large) as (port, server):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's transport
        for _ in range(500):
            # Each by itself, so that it could be answered at once.
            writer.write(request(path))
            await asyncio.sleep(0.001)
        before = -1
        while before != answered:
            before = answered
            await asyncio.sleep(0.3)
        [connection] = server.connections
        assert connection.transport is not None
        waiting = connection.transport.get_write_buffer_size()
        writer.transport.abort()
        del reader
        return answered, waiting


@pytest.mark.parametrize("path", ["/now", "/later"])
async def test_what_waits_for_a_client_that_never_reads_is_bounded(path: str) -> None:
    _, expected = await _clients_who_never_read(web.Server, path)
    answered, waiting = await _clients_who_never_read(Servers, path)
    assert answered < 500
    # One answer more than aiohttp, which waits for the client before the next request is answered.
    assert waiting <= max(expected, LARGE) + LARGE + 1024


@pytest.mark.parametrize("kind", [web.Server, Servers])
async def test_the_answer_ends_with_its_client(kind: type[web.Server]) -> None:
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def wait(_: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set_result("cancelled")
            raise
        raise AssertionError

    async with listening(kind, wait) as (port, _):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("/a"))
        async with asyncio.timeout(5):
            await begun.wait()
            writer.transport.abort()
            assert await ended == "cancelled"


async def test_an_answer_that_was_just_begun_ends_with_its_client_too() -> None:
    steps: list[str] = []

    async def wait(_: web.BaseRequest) -> web.StreamResponse:
        steps.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            steps.append("cancelled")
            raise
        raise AssertionError

    async with listening(Servers, wait) as (port, server):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        while not server.connections:  # noqa: ASYNC110  # the server accepts on its own
            await asyncio.sleep(0.01)
        [connection] = server.connections
        connection.data_received(request("/a"))
        assert steps == ["begun"]
        connection.connection_lost(None)
        assert steps == ["begun", "cancelled"]
        writer.close()


async def test_an_answer_at_once_takes_no_task_and_a_write() -> None:
    async with listening(Servers, answer) as (port, server):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not server.connections:  # noqa: ASYNC110  # the server accepts on its own
            await asyncio.sleep(0.01)
        [connection] = server.connections
        before = asyncio.all_tasks()
        connection.data_received(request("/a"))
        assert asyncio.all_tasks() == before
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"[{}]")).startswith(b"HTTP/1.1 200 OK\r\nServer: waypost\r\n")
        assert server.requests_count == 1
        writer.close()


async def test_what_the_first_step_awaits_may_end_before_it_is_awaited_again() -> None:
    results: list[object] = []

    async def wait(asked: web.BaseRequest) -> web.StreamResponse:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if asked.path == "/fails":
            future.set_exception(ValueError("failed"))
        else:
            asyncio.get_running_loop().call_soon(future.set_result, "done")
        try:
            # A future that is done yields nothing; one that a callback ends does.
            results.append(await future)
        except ValueError as error:
            results.append(str(error))
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await asyncio.sleep(0)
        return WholeResponse(b"[]", 200, JSON.copy())

    async with listening(Servers, wait) as (port, _):
        received = await exchange(port, [request("/a"), request("/fails"), END])
    assert results == ["done", "failed", "done"]
    assert received.count(b"200 OK") == 3
