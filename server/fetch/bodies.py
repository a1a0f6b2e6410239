"""Bodies of strangers, read no further than a limit, before and after decompression; and content in `data:` URLs.

RFC 2397, as contracts write such URLs: base64, percent-encoded, or neither.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from server.fetch.targets import FetchFailed

if TYPE_CHECKING:
    import aiohttp

# Content-Encoding -> window bits of zlib. The request asks for gzip; deflate comes from servers that ignore that.
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_PLAIN = ("", "identity")


async def read_body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return the whole decoded body.

    Raises:
        FetchFailed: it is longer than `max_bytes`, compressed or not; its encoding is unknown, its compression broken.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _WINDOWS and encoding not in _PLAIN:
        raise FetchFailed("its answer has an encoding that was not asked for")
    if response.content_length is not None and response.content_length > max_bytes:
        raise _too_long(max_bytes)
    inflate = zlib.decompressobj(_WINDOWS[encoding]) if encoding in _WINDOWS else None
    parts: list[bytes] = []
    received = size = 0
    async for chunk in response.content.iter_any():
        received += len(chunk)
        # One byte more than there is room for is enough to know that it is too long.
        part = chunk if inflate is None else _inflate(inflate, chunk, max_bytes - size + 1)
        size += len(part)
        if max(received, size) > max_bytes:
            raise _too_long(max_bytes)
        parts.append(part)
    if inflate is not None and received and not inflate.eof:
        raise FetchFailed("its answer was cut off")
    return b"".join(parts)


def _inflate(inflate: zlib._Decompress, chunk: bytes, room: int) -> bytes:
    """Return what the chunk unpacks to, `room` bytes at most; what follows the compressed data is ignored."""
    if inflate.eof:
        return b""
    try:
        return inflate.decompress(chunk, room)
    except zlib.error:
        raise FetchFailed("its answer is compressed wrongly") from None


def _too_long(max_bytes: int) -> FetchFailed:
    return FetchFailed(f"its answer is longer than {max_bytes} bytes")


_WHITE = re.compile(rb"\s+")


class DataUrl(NamedTuple):
    """The content of a `data:` URL.

    `candidates` holds the content as the URL may be meant, the likeliest first: text that is not percent-encoded, as
    many contracts write it, may hold a percent sign all the same.
    """

    content_type: str
    candidates: tuple[bytes, ...]


def parse_data_url(text: str) -> DataUrl | None:
    """Return what a `data:` URL holds, None where the text is none or its base64 is broken.

    A media type is not required; parameters, `utf8` without a name among them, are ignored.
    """
    if text[:5].lower() != "data:":
        return None
    head, comma, content = text[5:].partition(",")
    if not comma:
        return None
    media, *parameters = (part.strip().lower() for part in head.split(";"))
    content_type = media or "text/plain"
    raw = content.encode("utf-8", "surrogatepass")
    unquoted = unquote_to_bytes(raw)
    if "base64" in parameters:
        decoded = _from_base64(unquoted)
        return None if decoded is None else DataUrl(content_type, (decoded,))
    return DataUrl(content_type, (raw,) if raw == unquoted else (raw, unquoted))


def _from_base64(text: bytes) -> bytes | None:
    """Return the bytes of base64, standard or URL-safe, with or without padding and line breaks."""
    plain = _WHITE.sub(b"", text).rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
