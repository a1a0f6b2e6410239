"""Bounds for untrusted bodies: how far they inflate, and how deeply their JSON is nested."""

from __future__ import annotations

import re
import zlib

_GZIP_BITS = 16 + zlib.MAX_WBITS
_CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
_DEFLATED = 8
# What stands behind the end of a member is copied out of the piece that holds it, so pieces are short and members few:
# one takes twenty bytes.
_PIECE = 16 * 1024
_MOST_MEMBERS = 1024


class BadCodingError(Exception):
    """The bytes are not what their Content-Encoding states."""


class TooLongError(Exception):
    """More comes out than may."""


def open_inflater(coding: str, limit: int) -> Inflater | None:
    """Return what decodes bodies of a Content-Encoding to at most `limit` bytes; None where nothing is encoded.

    Raises BadCodingError for one that is not known, also for several on top of each other.
    """
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in _CODINGS:
        raise BadCodingError
    return Inflater(limit, is_gzip=coding != "deflate")


def decoded(body: bytes, coding: str, limit: int) -> bytes:
    """Return a whole body without its Content-Encoding; raises as `open_inflater` and `Inflater` do."""
    inflater = open_inflater(coding, limit)
    if inflater is None or not body:
        return body
    inflater.feed(body)
    return inflater.finish()


class Inflater:
    """Decodes one body, gzip (RFC 1952, of several members too) or deflate (RFC 1950, or bare RFC 1951)."""

    __slots__ = ("_chunks", "_is_gzip", "_left", "_members", "_stream")

    def __init__(self, limit: int, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._left = limit
        self._chunks: list[bytes] = []
        self._members = 0
        self._stream: zlib._Decompress | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises BadCodingError and TooLongError."""
        if len(data) <= _PIECE:
            self._feed(data)
            return
        for start in range(0, len(data), _PIECE):
            self._feed(data[start : start + _PIECE])

    def _feed(self, data: bytes) -> None:
        while data:
            stream = self._stream
            if stream is None:
                if self._members and self._is_gzip:
                    # Blocks of zeros may follow, as tape writers leave them.
                    data = data.lstrip(b"\0")
                    if not data:
                        return
                stream = self._stream = self._open(data[0])
            try:
                # One more than may: that distinguishes a body that ends at the bound from one that goes beyond.
                out = stream.decompress(data, self._left + 1)
            except zlib.error:
                raise BadCodingError from None
            self._left -= len(out)
            if self._left < 0:
                raise TooLongError
            if out:
                self._chunks.append(out)
            if not stream.eof:
                return
            data, self._stream = stream.unused_data, None

    def finish(self) -> bytes:
        """Return the whole body. Raises BadCodingError if its end is missing."""
        if self._stream is not None:
            raise BadCodingError
        return b"".join(self._chunks)

    def _open(self, start: int) -> zlib._Decompress:
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise BadCodingError
        if self._is_gzip:
            return zlib.decompressobj(_GZIP_BITS)
        if self._members > 1:
            raise BadCodingError
        # "deflate" means the zlib format; some servers send the bare one, whose first byte never looks like zlib's.
        return zlib.decompressobj(zlib.MAX_WBITS if start & 0x0F == _DEFLATED else -zlib.MAX_WBITS)


# Parsers recurse: the bound keeps every later step (ours, the server's, a node's) far from its own limit.

DEEPEST = 64

# One that does not end reaches to the end of the text. If it were none, the search would start anew at every quote in
# it: a body of 80 kB would take seconds.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_EVERYTHING_ELSE = bytes(byte for byte in range(256) if byte not in b"[]{}")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_RUNS = re.compile(rb"\[+|\]+")
_OPEN = ord("[")
_ROUNDS = 4


def nests_too_deeply(text: bytes) -> bool:
    """Return whether arrays and objects in the text are nested more than 64 deep. The text need not be valid JSON."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    brackets = _STRINGS.sub(b"", text).translate(_ONE_KIND, _EVERYTHING_ELSE)
    # Each round takes one level of innermost pairs away at the speed of bytes.replace. Of wide texts, which have the
    # most brackets, little is left for the walk below.
    for _ in range(_ROUNDS):
        brackets = brackets.replace(b"[]", b"")
    depth = _ROUNDS
    for run in _RUNS.finditer(brackets):
        length = run.end() - run.start()
        if brackets[run.start()] != _OPEN:
            depth -= length
        elif (depth := depth + length) > DEEPEST:
            return True
    return False
