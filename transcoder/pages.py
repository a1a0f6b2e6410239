"""The plain pages beside the API: what this is, liveness, readiness, and the OpenRPC document."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from aiohttp import hdrs

from transcoder.calls import finish
from transcoder.documents import accepts_gzip
from transcoder.envelope import NULL
from transcoder.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aiohttp import web

    from transcoder.admission import Admission
    from transcoder.discover import Discovery
    from transcoder.documents import Parts
    from transcoder.exchange import Exchange

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?")

HOME = """\
Waypost: read-only data from 24 blockchains, over JSON-RPC 2.0 and gRPC.

API        POST {base}/<API_KEY>/v1   (POST {base}/demo/v1 without a key, one request per second)
OpenRPC    GET  {base}/openrpc.json   (also the method rpc.discover)
Alive      GET  {base}/livez
Ready      GET  {base}/readyz

curl {base}/demo/v1 -H 'Content-Type: application/json' \\
  -d '{{"jsonrpc":"2.0","method":"getBlockHeight","params":{{"chain":"ethereum"}},"id":1}}'
"""


class Page(NamedTuple):
    """One page: its status, content type, body (in parts where others share them), further headers."""

    status: int
    content_type: str
    body: bytes | Parts | None
    headers: Mapping[str, str] = MappingProxyType({})


class Pages:
    """Answers `GET` by path."""

    def __init__(
        self,
        admission: Admission,
        discovery: Discovery,
        is_stopping: Callable[[], bool],
        workers: Callable[[], dict[str, int] | None],
    ) -> None:
        self._admission = admission
        self._is_stopping = is_stopping
        self._workers = workers
        self._discovery = discovery
        self._answers = {"/": self._home, "/openrpc.json": self._openrpc, "/livez": self._live, "/readyz": self._ready}

    def __contains__(self, path: str) -> bool:
        return path in self._answers

    async def answer(self, path: str, base: str, headers: Mapping[str, str], exchange: Exchange) -> Page:
        """Return the page; the path must be one of ours, and `headers` are the request's."""
        return await self._answers[path](base, headers, exchange)

    async def _home(self, base: str, _: Mapping[str, str], __: Exchange) -> Page:
        return Page(200, TEXT, HOME.format(base=base).encode())

    async def _openrpc(self, base: str, headers: Mapping[str, str], exchange: Exchange) -> Page:
        try:
            published = await finish(self._discovery.begin(exchange))
        except Failure as failure:
            return Page(503, JSON, failure.body(NULL, exchange.request_id))
        document = self._discovery.document(published)
        tag = document.tag(base, compressed=accepts_gzip(headers.get(hdrs.ACCEPT_ENCODING)))
        cached: dict[str, str] = {hdrs.ETAG: tag, hdrs.CACHE_CONTROL: "no-cache"}
        if _has(headers.get(hdrs.IF_NONE_MATCH), tag):
            return Page(304, JSON, None, cached)
        return Page(200, JSON, document.parts(base), cached)

    async def _live(self, _base: str, _: Mapping[str, str], __: Exchange) -> Page:
        return Page(200, JSON, b'{"live":true}')

    async def _ready(self, _: str, __: Mapping[str, str], exchange: Exchange) -> Page:
        try:
            readiness = await self._admission.readiness(exchange)
        except Failure as failure:
            return Page(503, JSON, orjson.dumps({"ready": False, "chains": {}, "message": failure.message}))
        chains: dict[str, list[str]] = {"ok": [], "degraded": [], "down": [], "unknown": []}
        for slug, state in sorted(readiness.chains.items()):
            chains.setdefault(state, []).append(slug)
        ready = readiness.ready and not self._is_stopping()
        answer: dict[str, Any] = {"ready": ready, "chains": chains}
        workers = self._workers()
        if workers is not None:
            # A worker that is down is its siblings' news, not their end: they are as ready as before.
            answer["workers"] = workers
        return Page(200 if ready else 503, JSON, orjson.dumps(answer))


def _has(header: str | None, tag: str) -> bool:
    """Return whether an If-None-Match header names the entity tag (RFC 9110, section 13.1.2)."""
    if header is None:
        return False
    known = [entry.strip().removeprefix("W/") for entry in header.split(",")]
    return tag in known or "*" in known


def base_of(request: web.BaseRequest, *, behind_proxy: bool) -> str:
    """Return the base URL that the client used, without a trailing slash.

    `behind_proxy` says that the peer is a trusted proxy, whose X-Forwarded-Proto is believed. A Host header that is no
    plain host and port is replaced by a placeholder rather than repeated.
    """
    host = request.headers.get("Host", "")
    scheme = "http"
    if behind_proxy and request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https":
        scheme = "https"
    return f"{scheme}://{host if _HOST.fullmatch(host) else 'localhost'}"
