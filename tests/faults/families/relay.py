"""A relay in front of one endpoint of any family, which misbehaves on request."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: status, body, headers."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, reply: Any, status: int = 200) -> Answer:
        """Return JSON as an answer."""
        return cls(status, json.dumps(reply).encode(), {"Content-Type": "application/json"})

    @property
    def json(self) -> Any:
        """The body's value, fractions and big numbers as they may be."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Ask:
    """One HTTP request; `send` gives it, as it is or changed, to the node itself."""

    verb: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    send: Callable[[Ask], Awaitable[Answer]] = field(repr=False)

    @property
    def calls(self) -> list[Json]:
        """The JSON-RPC calls of a POST."""
        asked = json.loads(self.body)
        return asked if isinstance(asked, list) else [asked]

    @property
    def names(self) -> list[str]:
        """What is asked: the methods of a POST, the path of a GET."""
        return [call["method"] for call in self.calls] if self.verb == "POST" else [self.path]

    async def answer(self) -> Answer:
        """Return the node's own answer."""
        return await self.send(self)

    def get(self, path: str, query: str = "", headers: dict[str, str] | None = None) -> Ask:
        """Return a GET of another path to the same node."""
        return replace(self, verb="GET", path=path, query=query, headers=headers or {}, body=b"")

    def post(self, calls: Any) -> Ask:
        """Return a POST of other calls to the same node."""
        return replace(self, verb="POST", body=json.dumps(calls).encode())


if TYPE_CHECKING:
    Fault = Callable[[Ask], Awaitable[Answer | None]]
    """Answers for the node; None closes the connection without a word."""


class Relay:
    """One endpoint: `fault` decides what it answers, `asked` lists what it was asked."""

    def __init__(self, target: str, http: aiohttp.ClientSession) -> None:
        self.target, self._http = target, http
        self.fault: Fault = honest
        self.asked: list[str] = []
        # What Bitcoin's `getblockhash` was asked for: of callers' blocks, and of those that prove chain and fork.
        self.heights: list[Json] = []
        self.url = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        wanted = {name: value for name, value in request.headers.items() if name.lower().startswith("x-cosmos")}
        path, body = request.path.rstrip("/") or "/", await request.read()
        ask = Ask(request.method, path, request.query_string, wanted, body, self._send)
        self.asked += ask.names
        if ask.verb == "POST":
            self.heights += [call["params"] for call in ask.calls if call["method"] == "getblockhash"]
        reply = await self.fault(ask)
        if reply is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response(status=500)
        return web.Response(status=reply.status, body=reply.body, headers=reply.headers)

    async def _send(self, ask: Ask) -> Answer:
        url = self.target + ask.path + (f"?{ask.query}" if ask.query else "")
        headers = ask.headers | ({"Content-Type": "application/json"} if ask.verb == "POST" else {})
        async with self._http.request(ask.verb, url, headers=headers, data=ask.body or None) as response:
            kept = {
                name: value
                for name, value in response.headers.items()
                if name.lower() in ("content-type", "grpc-metadata-x-cosmos-block-height")
            }
            return Answer(response.status, await response.read(), kept)


@asynccontextmanager
async def relay(target: str, http: aiohttp.ClientSession) -> AsyncIterator[Relay]:
    """Serve a relay on a free loopback port."""
    one = Relay(target, http)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", one.serve)
    async with serve_app(app) as one.url:
        yield one


async def honest(ask: Ask) -> Answer:
    return await ask.answer()


async def drops(ask: Ask) -> None:
    return None


async def is_silent(ask: Ask) -> None:
    await asyncio.sleep(600)


async def throttles(ask: Ask) -> Answer:
    return Answer(429, b"slow down", {"Retry-After": "7"})


async def fails(ask: Ask) -> Answer:
    return Answer(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"})


async def shows_a_page(ask: Ask) -> Answer:
    return Answer(200, b"<!DOCTYPE html><html>Just a moment...</html>", {"Content-Type": "text/html"})


def each_call(change: Callable[[Json, Json], None]) -> Fault:
    """Let `change` alter the response (second) to each JSON-RPC call (first)."""

    async def fault(ask: Ask) -> Answer:
        reply = (await ask.answer()).json
        for call, response in zip(ask.calls, reply if isinstance(reply, list) else [reply], strict=True):
            change(call, response)
        return Answer.of(reply)

    return fault


def refuse(response: Json, code: int, message: str, data: Any = None) -> None:
    """Turn a response into an error."""
    response.pop("result", None)
    response["error"] = {"code": code, "message": message} | ({} if data is None else {"data": data})
