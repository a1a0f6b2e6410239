"""Bodies of strangers: read no further than a limit, before and after decompression."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from server.sources.guarded.errors import FetchFailed

if TYPE_CHECKING:
    import aiohttp

# Content-Encoding -> window bits of zlib. The request asks for gzip; deflate comes from servers that do not listen.
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
