"""Large texts that many answers hold: kept once, compressed once, and sent without being copied."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from aiohttp import hdrs, payload, web

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aiohttp.abc import AbstractStreamWriter

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
        # A CRC is linear in the one before it: these say what each bit of that becomes.
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
    vary_by_coding(headers)
    if compressed:
        headers[hdrs.CONTENT_ENCODING] = GZIP
        body = zipped(parts)
    else:
        body = [part.text if isinstance(part, Shared) else part for part in parts]
    return web.Response(body=_Body(body), status=status, headers=headers)


def vary_by_coding(headers: dict[str, str]) -> None:
    """Let the headers say that the answer depends on the codings that the client takes."""
    others = [name for name in headers.get(hdrs.VARY, "").split(", ") if name not in ("", hdrs.ACCEPT_ENCODING)]
    headers[hdrs.VARY] = ", ".join((*others, hdrs.ACCEPT_ENCODING))


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
