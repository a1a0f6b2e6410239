"""Answers on one connection: read out of its bytes, however they are cut into packets, or why there is none.

The parser is llhttp (`httptools`), strict about lengths: several Content-Length, or one beside Transfer-Encoding, are
refused, because what follows could be taken for the next answer. Nothing here touches a socket. Failures are values in
texts that name neither host nor URL.
"""

from __future__ import annotations

import email.utils
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from runtime.bounds import BadCodingError, Inflater, TooLongError, open_inflater
from server.upstream.failures import Failure, Kind

HOST_NOT_FOUND = Failure(Kind.UNREACHABLE, "host name not found")
NOT_IN_TIME = Failure(Kind.UNREACHABLE, "no connection in time", is_silence=True)
TLS_FAILURE = Failure(Kind.UNREACHABLE, "TLS failure")
UNTRUSTED = Failure(Kind.UNREACHABLE, "TLS failure: its certificate is not trusted")
UNIDENTIFIED = Failure(Kind.UNREACHABLE, "TLS failure: our client certificate is missing or not accepted")
PROXY_NOT_FOUND = Failure(Kind.UNREACHABLE, "the proxy's host name is not found")
PROXY_UNREACHABLE = Failure(Kind.UNREACHABLE, "no connection through the proxy")
PROXY_SILENT = Failure(Kind.UNREACHABLE, "no connection through the proxy in time", is_silence=True)
PROXY_INVALID = Failure(Kind.UNREACHABLE, "the proxy did not answer as an HTTP proxy")
PROXY_UNAUTHORISED = Failure(Kind.UNREACHABLE, "the proxy wants another name and password (HTTP 407)")
REFUSED = Failure(Kind.UNREACHABLE, "connection refused")
NO_CONNECTION = Failure(Kind.UNREACHABLE, "no connection")
DROPPED = Failure(Kind.DROPPED, "connection dropped")
CUT_OFF = Failure(Kind.NOT_JSON_RPC, "the answer was cut off")
INVALID = Failure(Kind.NOT_JSON_RPC, "not a valid HTTP answer")
TIMED_OUT = Failure(Kind.TIMED_OUT, "no answer in time")

HEAD_BYTES = 64 * 1024
"""The most that may come without a byte of body: status and headers, answers before the answer (1xx), trailers."""

_CONTINUE = 100
_SWITCHING = 101
_FINAL = 200
_BODILESS = frozenset({204, 304})
_LOOKED_AT = frozenset({b"content-length", b"transfer-encoding", b"content-encoding", b"retry-after"})
_LONGEST_RETRY = 3600.0


class Headers(Mapping[str, str]):
    """The headers of an answer by their names in lower case; of one that came several times the last.

    Parsed on first use: most callers need only the body.
    """

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs

    def __getitem__(self, name: str) -> str:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, str]:
        return {
            name.decode("latin-1").lower(): value.decode("utf-8", "surrogateescape").rstrip(" \t")
            for name, value in self._pairs
        }


class HttpAnswer(NamedTuple):
    """A whole HTTP answer: status, the seconds of `Retry-After` if given, the decoded body, the headers."""

    status: int
    retry_after: float | None
    body: bytes
    headers: Mapping[str, str]


def parse_retry_after(text: str) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3), at most an hour; None for an odd one."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), int(_LONGEST_RETRY)))
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max((at - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_RETRY)


class _RefusedError(Exception):
    """Stops the parser; the reader holds the reason."""


class AnswerReader:
    """Reads one answer after the other, each of them begun with `begin`.

    `is_reusable` states, once `feed` has returned the answer, whether another may follow on the connection: it was
    whole, nothing came behind it, and the server keeps the connection.
    """

    __slots__ = (
        "_awaits",
        "_body",
        "_body_bytes",
        "_inflater",
        "_is_begun",
        "_is_headed",
        "_is_interim",
        "_is_whole",
        "_limit",
        "_pairs",
        "_parser",
        "_refusal",
        "_retry_after",
        "_runs_to_end",
        "_status",
        "_without_body",
        "is_reusable",
    )

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        # Line ends without CR and blanks behind the size of a chunk: some servers send them, and they mean one thing.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        self.begin(0)

    def begin(self, limit: int) -> None:
        """Get ready for the next answer, whose body may be `limit` bytes long, as sent and decoded."""
        self._limit = limit
        self._pairs: list[tuple[bytes, bytes]] = []
        self._body: bytes | bytearray = b""
        self._inflater: Inflater | None = None
        self._refusal: Failure | None = None
        self._retry_after: float | None = None
        self._body_bytes = 0
        self._without_body = 0
        self._status = 0
        self._awaits = True
        self._is_headed = self._is_interim = self._is_whole = self._runs_to_end = False
        self._is_begun = self.is_reusable = False

    def feed(self, data: bytes) -> HttpAnswer | Failure | None:
        """Take the next bytes; return the answer once it is whole, a failure once there can be none."""
        self._is_begun = True
        self._without_body += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            # What stands behind a whole answer is no part of it, but nothing may follow on the connection.
            self.is_reusable = False
            if not self._is_whole:
                return self._refusal or INVALID
        if self._is_whole:
            return self._close()
        return INVALID if self._without_body > HEAD_BYTES else None

    def end(self) -> HttpAnswer | Failure:
        """Return the answer, or why there is none, after the server closed its side."""
        return self._close() if self._runs_to_end else self.broken()

    def broken(self) -> Failure:
        """Return why there is no answer, after the connection broke."""
        return CUT_OFF if self._is_begun else DROPPED

    def drop(self) -> None:
        """Let go of the parser, which holds this reader as this reader holds it."""
        del self._parser

    def on_message_begin(self) -> None:
        """Parser: the first byte of an answer."""
        if not self._awaits:
            raise _RefusedError
        self._awaits = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: a header, or behind the body a trailer, of which none is kept."""
        if not self._is_headed:
            self._pairs.append((name, value))

    def on_headers_complete(self) -> None:
        """Parser: the end of the headers."""
        if self._without_body > HEAD_BYTES and self._headers_bytes() > HEAD_BYTES:
            raise _RefusedError
        status = self._parser.get_status_code()
        if status < _FINAL:
            if status < _CONTINUE or status == _SWITCHING:
                raise _RefusedError
            self._is_interim = True
            self._pairs.clear()
            return
        self._status = status
        self._is_headed = True
        headers: dict[bytes, bytes] = {}
        for name, value in self._pairs:
            name = name.lower()
            if name in _LOOKED_AT:
                # Several lines of one name are one list (RFC 9110 section 5.3).
                headers[name] = headers[name] + b"," + value if name in headers else value
        self._judge(headers)

    def on_body(self, data: bytes) -> None:
        """Parser: a piece of the body."""
        self._without_body = 0
        self._body_bytes += len(data)
        if self._body_bytes > self._limit:
            self._refuse(_too_large(self._limit))
        if self._inflater is None:
            if not self._body:
                self._body = data
            else:
                # Pieces may be of a byte or two, which take forty as objects.
                if isinstance(self._body, bytes):
                    self._body = bytearray(self._body)
                self._body += data
            return
        try:
            self._inflater.feed(data)
        except TooLongError:
            self._refuse(_too_large(self._limit))
        except BadCodingError:
            self._refuse(INVALID)

    def on_message_complete(self) -> None:
        """Parser: the end of an answer."""
        if self._is_interim:
            self._is_interim = False
            self._awaits = True
            return
        self._is_whole = True
        self.is_reusable = self._parser.should_keep_alive()

    def _judge(self, headers: dict[bytes, bytes]) -> None:
        """Take from the headers how long the body is, how it is encoded, and when to retry."""
        if b"retry-after" in headers:
            self._retry_after = parse_retry_after(headers[b"retry-after"].decode("latin-1"))
        if self._status in _BODILESS:
            return
        length = headers.get(b"content-length")
        if length is not None and int(length) > self._limit:
            self._refuse(_too_large(self._limit))
        transfer = headers.get(b"transfer-encoding")
        if transfer is not None and transfer.strip().lower() != b"chunked":
            self._refuse(INVALID)
        self._runs_to_end = length is None and transfer is None
        if b"content-encoding" in headers:
            try:
                self._inflater = open_inflater(headers[b"content-encoding"].decode("latin-1"), self._limit)
            except BadCodingError:
                self._refuse(INVALID)

    def _refuse(self, why: Failure) -> None:
        self._refusal = why
        raise _RefusedError

    def _close(self) -> HttpAnswer | Failure:
        # Nothing of the answer stays here: a connection may be idle for a minute, and bodies are large.
        inflater, self._inflater = self._inflater, None
        body, self._body = self._body, b""
        pairs, self._pairs = self._pairs, []
        if inflater is not None:
            try:
                body = inflater.finish()
            except BadCodingError:
                self.is_reusable = False
                return INVALID
        return HttpAnswer(self._status, self._retry_after, bytes(body), Headers(pairs))

    def _headers_bytes(self) -> int:
        return sum(len(name) + len(value) for name, value in self._pairs)


def _too_large(limit: int) -> Failure:
    """Return the failure of an answer that is longer than is read."""
    return Failure(Kind.TOO_LARGE, f"an answer of more than {limit} bytes")
