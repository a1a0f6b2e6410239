"""The pages beside the API: what this is, liveness, readiness, the OpenRPC document, the console and its tickets.

Large texts that many answers hold are kept once, compressed once, and sent without being copied.
"""

from __future__ import annotations

import re
import zlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from aiohttp import hdrs, payload, web

from transcoder.calls import KEY
from transcoder.errors import Failure, seconds
from transcoder.exchange import COST_HEADER
from transcoder.llms import llms_text
from transcoder.openrpc import APPS, PATH
from transcoder.requests import NULL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from aiohttp.abc import AbstractStreamWriter

    from transcoder.calls import Admission
    from transcoder.console_files import ConsoleFiles
    from transcoder.discover import Discovery
    from transcoder.exchange import Exchange

    Parts = Sequence[bytes | "Shared"]

GZIP = "gzip"

# RFC 1952: deflate, no name, no time, unknown system.
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
# RFC 1951: an empty last block.
_LAST_BLOCK = b"\x03\x00"
_LONGEST_STORED = 0xFFFF
_BITS = 32


class Shared:
    """A text that many answers hold, with its compressed form: whole blocks that refer to nothing before them."""

    __slots__ = ("_bits", "_zero", "packed", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        self.packed = compressor.compress(text) + compressor.flush(zlib.Z_FULL_FLUSH)
        # A CRC is linear in the one before it: these are what each bit of that becomes.
        self._zero = zlib.crc32(text)
        self._bits = tuple(zlib.crc32(text, 1 << bit) ^ self._zero for bit in range(_BITS))

    def __len__(self) -> int:
        return len(self.text)

    def crc32(self, before: int) -> int:
        """Return the CRC-32 of a text whose CRC-32 was `before` followed by this one, without reading this one."""
        crc = self._zero
        for bit, value in enumerate(self._bits):
            if before >> bit & 1:
                crc ^= value
        return crc


class _Body(payload.Payload):
    """A body in parts, written one after the other: no more than one of them waits for a slow client."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(parts, content_type="application/json")
        self._parts = parts
        self._size = sum(map(len, parts))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for part in self._parts:
            await writer.write(part)
            await writer.drain()


def document_response(parts: Parts, status: int, headers: dict[str, str], *, compressed: bool) -> web.Response:
    """Return the answer whose body is these parts; the headers gain what its coding needs."""
    vary_by(headers, hdrs.ACCEPT_ENCODING)
    if compressed:
        headers[hdrs.CONTENT_ENCODING] = GZIP
        body = zipped(parts)
    else:
        body = [part.text if isinstance(part, Shared) else part for part in parts]
    return web.Response(body=_Body(body), status=status, headers=headers)


def vary_by(headers: dict[str, str], *names: str) -> None:
    """Add to the headers that the answer depends on these of the request."""
    others = [name for name in headers.get(hdrs.VARY, "").split(", ") if name and name not in names]
    headers[hdrs.VARY] = ", ".join((*others, *names))


def accepts_gzip(header: str | None) -> bool:
    """Return whether an Accept-Encoding header takes gzip (RFC 9110, section 12.5.3)."""
    if not header:
        return False
    weights: dict[str, bool] = {}
    for entry in header.lower().split(","):
        coding, _, parameter = entry.partition(";")
        weight = parameter.strip().removeprefix("q=").strip()
        weights[coding.strip()] = weight.strip("0.") != "" if parameter else True
    return weights.get(GZIP, weights.get("x-gzip", weights.get("*", False)))


def zipped(parts: Iterable[bytes | Shared]) -> list[bytes]:
    """Return the parts as one gzip member; what is shared is not compressed again, the rest not at all."""
    body, crc, size = [_GZIP_HEAD], 0, 0
    for part in parts:
        size += len(part)
        if isinstance(part, Shared):
            body.append(part.packed)
            crc = part.crc32(crc)
            continue
        crc = zlib.crc32(part, crc)
        for start in range(0, len(part), _LONGEST_STORED):
            piece = part[start : start + _LONGEST_STORED]
            body += [b"\x00", _pair(len(piece)), _pair(len(piece) ^ _LONGEST_STORED), piece]
    body += [_LAST_BLOCK, crc.to_bytes(4, "little"), (size & 0xFFFFFFFF).to_bytes(4, "little")]
    return _merged(body)


def _pair(number: int) -> bytes:
    return number.to_bytes(2, "little")


def _merged(parts: Sequence[bytes], longest: int = 4096) -> list[bytes]:
    """Return the parts with short neighbours joined: each is a write of its own."""
    merged: list[bytes] = []
    short: list[bytes] = []
    for part in parts:
        if len(part) <= longest:
            short.append(part)
            continue
        if short:
            merged.append(b"".join(short))
            short = []
        merged.append(part)
    if short:
        merged.append(b"".join(short))
    return merged


JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
BY_CODING = (hdrs.ACCEPT_ENCODING,)
BY_TYPE = (hdrs.ACCEPT, hdrs.ACCEPT_ENCODING)

TICKETS = "/-/console/tickets"
"""Where the console's page gets what it uses in the key's place (docs/decisions/0077)."""
_READ = (hdrs.METH_GET, hdrs.METH_HEAD)

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?")

HOME = """\
Waypost: read-only data from 24 blockchains, over JSON-RPC 2.0 and gRPC.

API        POST {base}/<API_KEY>/v1   (POST {base}/demo/v1 without a key, one request per second)
OpenRPC    GET  {base}/openrpc.json   (also the method rpc.discover; published contracts: ?apps=all)
Overview   GET  {base}/llms.txt       (every operation in one line, for language models)
Alive      GET  {base}/livez
Ready      GET  {base}/readyz

curl {base}/demo/v1 -H 'Content-Type: application/json' \\
  -d '{{"jsonrpc":"2.0","method":"getBlockHeight","params":{{"chain":"ethereum"}},"id":1}}'
"""


class Page(NamedTuple):
    """One page: its status, content type, body (in parts where others share them), further headers.

    `varies` are the request's headers that it depends on. `own`: other origins may not read it, whatever else they may.
    """

    status: int
    content_type: str
    body: bytes | Parts | None
    headers: Mapping[str, str] = MappingProxyType({})
    varies: tuple[str, ...] = ()
    own: bool = False


class Pages:
    """Answers what is beside the API, by path."""

    def __init__(
        self,
        admission: Admission,
        discovery: Discovery,
        is_stopping: Callable[[], bool],
        workers: Callable[[], dict[str, int] | None],
        generation: Callable[[], int | None] = lambda: None,
        console: ConsoleFiles | None = None,
    ) -> None:
        self._admission = admission
        self._is_stopping = is_stopping
        self._workers = workers
        self._generation = generation
        self._discovery = discovery
        self._console = console
        self._answers = {
            "/": self._home,
            PATH: self._openrpc,
            "/llms.txt": self._overview,
            "/livez": self._live,
            "/readyz": self._ready,
            **({} if console is None else {TICKETS: self._ticket}),
        }

    def __contains__(self, path: str) -> bool:
        return path in self._answers or (self._console is not None and path in self._console)

    def methods_of(self, path: str) -> tuple[str, ...]:
        """Return the methods that a page answers."""
        return (hdrs.METH_POST,) if path == TICKETS else _READ

    async def answer(self, request: web.BaseRequest, base: str, exchange: Exchange) -> Page:
        """Return the page; the request's path must be one of ours."""
        path = request.rel_url.raw_path
        if path in self._answers:
            return await self._answers[path](base, request, exchange)
        assert self._console is not None
        return self._console.answer(request, base)

    async def _home(self, base: str, request: web.BaseRequest, _: Exchange) -> Page:
        text = HOME.format(base=base).encode()
        if self._console is None:
            return Page(200, TEXT, text)
        if self._console.wanted(request):
            return self._console.answer(request, base)
        return Page(200, TEXT, text, varies=BY_TYPE)

    async def _ticket(self, _: str, request: web.BaseRequest, exchange: Exchange) -> Page:
        # Ahead of any body, which it has no use for: a caller without a key costs headers only.
        headers: dict[str, str] = {hdrs.CACHE_CONTROL: "no-store"}
        try:
            issued = await self._admission.issue_ticket(_bearer_key(request), exchange)
        except Failure as failure:
            if failure.retry_after_ms:
                headers[hdrs.RETRY_AFTER] = seconds(failure.retry_after_ms)
            if failure.code == 401:
                headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
            return Page(failure.code, JSON, failure.body(NULL, exchange.request_id), headers, own=True)
        body = orjson.dumps({"ticket": issued.ticket, "expiresIn": issued.expires_in})
        return Page(200, JSON, body, {**headers, COST_HEADER: "1"}, own=True)

    async def _overview(self, base: str, _: web.BaseRequest, __: Exchange) -> Page:
        return Page(200, TEXT, llms_text(base).encode())

    async def _openrpc(self, base: str, request: web.BaseRequest, exchange: Exchange) -> Page:
        headers = request.headers
        try:
            asked = [f"apps={value}" for value in request.rel_url.query.getall("apps", ())]
            if asked not in ([], [APPS]):
                raise Failure(400, "INVALID_ARGUMENT", f"{PATH} takes no other parameter than {APPS}", field="apps")
            document = await self._discovery.apps(exchange) if asked else self._discovery.operations()
        except Failure as failure:
            return Page(failure.code, JSON, failure.body(NULL, exchange.request_id))
        tag = document.tag(base, compressed=accepts_gzip(headers.get(hdrs.ACCEPT_ENCODING)))
        cached: dict[str, str] = {hdrs.ETAG: tag, hdrs.CACHE_CONTROL: "no-cache"}
        if names_tag(headers.get(hdrs.IF_NONE_MATCH), tag):
            return Page(304, JSON, None, cached, BY_CODING)
        return Page(200, JSON, document.parts(base), cached, BY_CODING)

    async def _live(self, _base: str, _: web.BaseRequest, __: Exchange) -> Page:
        return Page(200, JSON, b'{"live":true}')

    async def _ready(self, _: str, __: web.BaseRequest, exchange: Exchange) -> Page:
        try:
            readiness = await self._admission.readiness(exchange)
        except Failure as failure:
            return Page(503, JSON, orjson.dumps({"ready": False, "chains": {}, "message": failure.message}))
        chains: dict[str, list[str]] = {"ok": [], "degraded": [], "down": [], "unknown": []}
        for slug, state in sorted(readiness.chains.items()):
            chains.setdefault(state, []).append(slug)
        ready = readiness.ready and not self._is_stopping()
        answer: dict[str, Any] = {"ready": ready, "chains": chains}
        generation = self._generation()
        if generation is not None:
            answer["generation"] = generation
        workers = self._workers()
        if workers is not None:
            # A worker that is down is reported by the others, which are as ready as before.
            answer["workers"] = workers
        return Page(200 if ready else 503, JSON, orjson.dumps(answer))


def _bearer_key(request: web.BaseRequest) -> str:
    """Return the key of the Authorization header (RFC 6750, section 2.1). Raises Failure (401)."""
    scheme, _, given = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    key = given.strip()
    if scheme.lower() != "bearer" or not key:
        raise Failure(401, "KEY_MISSING", "no API key; send it as `Authorization: Bearer <API_KEY>`")
    if KEY.fullmatch(key) is None:
        raise Failure(401, "KEY_INVALID", "the API key in Authorization is malformed")
    return key


def names_tag(header: str | None, tag: str) -> bool:
    """Return whether an If-None-Match header names the entity tag (RFC 9110, section 13.1.2)."""
    if header is None:
        return False
    known = [entry.strip().removeprefix("W/") for entry in header.split(",")]
    return tag in known or "*" in known


def base_of(request: web.BaseRequest, *, behind_proxy: bool) -> str:
    """Return the base URL that the client used, without a trailing slash.

    `behind_proxy`: the peer is a trusted proxy, whose X-Forwarded-Proto is used. A Host header that is no
    plain host and port is replaced by a placeholder rather than repeated.
    """
    host = request.headers.get("Host", "")
    scheme = request.scheme if request.scheme == "https" else "http"
    if behind_proxy and request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https":
        scheme = "https"
    return f"{scheme}://{host if _HOST.fullmatch(host) else 'localhost'}"
