"""A node with faults: a small HTTP server in front of a real node that passes requests on and spoils answers.

It speaks raw sockets, so that it can do what an HTTP framework forbids: stop in the middle of a body, promise more
bytes than it sends, or say nothing at all.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from devnet.ports import free_port


@dataclass
class Asked:
    """One HTTP request that arrived: the JSON-RPC methods in it, and whether it was a batch."""

    methods: list[str]
    is_batch: bool
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    body: bytes
    asked: Asked
    writer: asyncio.StreamWriter
    forward: Callable[[bytes], Awaitable[bytes]]

    async def node_answer(self) -> Any:
        """The real node's answer, parsed."""
        return json.loads(await self.forward(self.body))


Fault = Callable[[Request], Awaitable[None]]
"""Writes an answer, or does not. Returning without having written closes the connection."""


class FaultyNode:
    """A loopback server whose behaviour can be changed while it runs; `asked` records what arrived."""

    def __init__(self, node: str) -> None:
        self.target = node
        self.fault: Fault = honest
        self.asked: list[Asked] = []
        self._server: asyncio.Server | None = None
        self._session: aiohttp.ClientSession | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/secret-key-in-path"

    @property
    def methods(self) -> list[str]:
        return [method for asked in self.asked for method in asked.methods]

    async def start(self) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=1 << 22)

    async def stop(self) -> None:
        """Stop listening and drop every connection: from now on they are refused. `start` brings the port back."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        for writer in list(self._connections):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        await self.stop()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections.add(writer)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self._connections.discard(writer)
            writer.transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")[1:]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers["content-length"]))
        parsed = json.loads(body)
        calls = parsed if isinstance(parsed, list) else [parsed]
        asked = Asked([call["method"] for call in calls], isinstance(parsed, list), headers)
        self.asked.append(asked)
        spy = _Spy(writer)
        await self.fault(Request(body, asked, spy, self._forward))  # type: ignore[arg-type]
        await writer.drain()
        return spy.wrote and not spy.ends

    async def _forward(self, body: bytes) -> bytes:
        assert self._session is not None
        async with self._session.post(self.target, data=body, headers={"Content-Type": "application/json"}) as response:
            return await response.read()


class _Spy:
    """Records whether anything was written; `ends` closes the connection after the answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.wrote = False
        self.ends = False

    def write(self, data: bytes) -> None:
        self.wrote = True
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()


def write_answer(
    request: Request,
    body: bytes,
    status: str = "200 OK",
    headers: dict[str, str] | None = None,
    length: int | None = None,
) -> None:
    shown = {"Content-Type": "application/json", "Content-Length": str(len(body) if length is None else length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in (shown | (headers or {})).items())
    request.writer.write(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body)


async def honest(request: Request) -> None:
    write_answer(request, await request.forward(request.body))


def delay(seconds: float) -> Fault:
    async def fault(request: Request) -> None:
        await asyncio.sleep(seconds)
        await honest(request)

    return fault


async def silence(request: Request) -> None:
    await asyncio.sleep(3600)


async def drop(request: Request) -> None:
    """Close without a byte."""


async def cut(request: Request) -> None:
    """Promise the whole answer, send half, close."""
    body = await request.forward(request.body)
    write_answer(request, body[: len(body) // 2], length=len(body))
    request.writer.ends = True  # type: ignore[attr-defined]


async def stall(request: Request) -> None:
    """Send half of the answer, then nothing more on an open connection."""
    body = await request.forward(request.body)
    write_answer(request, body[: len(body) // 2], length=len(body))
    await request.writer.drain()
    await asyncio.sleep(3600)


async def cut_json(request: Request) -> None:
    """A whole HTTP answer with half a JSON document."""
    body = await request.forward(request.body)
    write_answer(request, body[: len(body) // 2])


def status(line: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Fault:
    async def fault(request: Request) -> None:
        write_answer(request, body, line, headers)

    return fault


too_many = status("429 Too Many Requests", b"slow down", {"Retry-After": "7"})
broken = status("500 Internal Server Error", b"oops")
redirect = status("302 Found", b"", {"Location": "http://127.0.0.1:9/"})
web_page = status("200 OK", b"<!DOCTYPE html><html><body>Just a moment...</body></html>", {"Content-Type": "text/html"})
binary = status("200 OK", b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}')


async def wrong_id(request: Request) -> None:
    answer = await request.node_answer()
    for one in answer if isinstance(answer, list) else [answer]:
        one["id"] += 1_000_000
    write_answer(request, json.dumps(answer).encode())


async def half_batch(request: Request) -> None:
    answer = await request.node_answer()
    write_answer(request, json.dumps(answer[::2] if isinstance(answer, list) else answer).encode())


async def shuffled(request: Request) -> None:
    answer = await request.node_answer()
    write_answer(request, json.dumps(answer[::-1] if isinstance(answer, list) else answer).encode())


async def twice(request: Request) -> None:
    """Answer every item of a batch twice, differently."""
    answer = await request.node_answer()
    if isinstance(answer, list):
        answer += [one | {"result": "0xbad"} for one in answer]
    write_answer(request, json.dumps(answer).encode())


def huge(size: int, *, declared: bool = True) -> Fault:
    async def fault(request: Request) -> None:
        piece = b" " * 65536
        if declared:
            request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        else:
            request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(size // len(piece)):
            request.writer.write(piece if declared else b"%x\r\n%b\r\n" % (len(piece), piece))
            await request.writer.drain()

    return fault


def bomb(size: int) -> Fault:
    """A small gzip body that inflates to `size` bytes."""
    body = gzip.compress(b" " * size)
    return status("200 OK", body, {"Content-Encoding": "gzip"})


async def zipped(request: Request) -> None:
    write_answer(request, gzip.compress(await request.forward(request.body)), headers={"Content-Encoding": "gzip"})


def error(code: int, message: str, *, line: str = "200 OK") -> Fault:
    """Answer everything, batches too, with one error object."""

    async def fault(request: Request) -> None:
        parsed = json.loads(request.body)
        one = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
        write_answer(
            request, json.dumps(one if isinstance(parsed, list) else one | {"id": parsed["id"]}).encode(), line
        )

    return fault


def refuse_batches(message: str = "batch requests are not supported", *, over: int = 1) -> Fault:
    """Refuse batches of more than `over` items with one error object, answer the rest."""

    async def fault(request: Request) -> None:
        if len(request.asked.methods) > over:
            await error(-32600, message)(request)
        else:
            await honest(request)

    return fault


def spoil(method: str, change: Callable[[dict[str, Any]], None]) -> Fault:
    """Change the node's answers to one method."""

    async def fault(request: Request) -> None:
        answer = await request.node_answer()
        answers = answer if isinstance(answer, list) else [answer]
        for one, name in zip(answers, request.asked.methods, strict=True):
            if name == method:
                change(one)
        write_answer(request, json.dumps(answer).encode())

    return fault


def first(times: int, fault: Fault, then: Fault = honest) -> Fault:
    """Be faulty for the first requests only."""
    left = times

    async def sometimes(request: Request) -> None:
        nonlocal left
        left -= 1
        await (fault if left >= 0 else then)(request)

    return sometimes
