"""Where a stream goes on: a position in a chain, and by what the chain's blocks below it are known again.

A cursor is base64url, without padding, of: version, 4 bytes of the chain, 4 of the source, the position's block and how
many of its items were sent (0: all of them), the hashes, 4 bytes of a checksum. Numbers are varints; of each hash but
the first how far its block lies below the one before comes first. Nothing is kept for it: any replica reads it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_MARKS = 64
"""Blocks that a cursor knows by their hashes."""

WHOLE = 0
"""The number of items sent of a block of which all were."""

_VERSION = 1
_DIGEST_BYTES = 4
_MARK_BYTES = 8
_MOST_NUMBER = 1 << 63
_HEADER_BYTES = 1 + 2 * _DIGEST_BYTES


class Mark(NamedTuple):
    """A block as cursors know it: its number, and 8 bytes that its hash gives."""

    number: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position: everything up to the first of `marks` was sent, of that block itself so many items, or `WHOLE`.

    `marks` are the newest blocks sent, newest first, 1 to `MOST_MARKS`. `items` are those of the source with the digest
    `source`: to another one they mean nothing.
    """

    marks: tuple[Mark, ...]
    items: int = WHOLE
    source: bytes = bytes(_DIGEST_BYTES)

    @property
    def number(self) -> int:
        """The block of the position."""
        return self.marks[0].number


def mark_of(number: int, block_hash: str) -> Mark:
    """Return the mark of a block, whose hash is given as the chain's answers write it."""
    return Mark(number, _digest(block_hash, _MARK_BYTES))


@lru_cache(maxsize=4096)
def digest_source(key: str) -> bytes:
    """Return by what a cursor knows the source of that key."""
    return _digest(key, _DIGEST_BYTES)


def encode_marks(marks: Iterable[Mark]) -> bytes:
    """Return the marks of a cursor, newest first, as `encode_cursor` takes them."""
    written = bytearray()
    above: int | None = None
    for number, digest in marks:
        if above is not None:
            _write_number(written, above - number)
        written += digest
        above = number
    return bytes(written)


def encode_cursor(chain: str, number: int, marks: bytes, source: bytes, items: int = WHOLE) -> str:
    """Return the text of a cursor at a block, with marks that `encode_marks` wrote."""
    written = bytearray((_VERSION,))
    written += _digest(chain, _DIGEST_BYTES)
    written += source
    _write_number(written, number)
    _write_number(written, items)
    written += marks
    written += blake2b(written, digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(written).rstrip(b"=").decode("ascii")


def decode_cursor(chain: str, text: str) -> Cursor:
    """Return the cursor that a text is.

    Raises:
        InvalidArgument: it is none, or one of another chain (field `cursor`).
    """
    try:
        written = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _malformed() from None
    body, checksum = written[:-_DIGEST_BYTES], written[-_DIGEST_BYTES:]
    if len(body) < _HEADER_BYTES or blake2b(body, digest_size=_DIGEST_BYTES).digest() != checksum:
        raise _malformed()
    if body[0] != _VERSION:
        raise InvalidArgument("cursor: of a version that this gateway does not read; begin without it", field="cursor")
    if body[1 : 1 + _DIGEST_BYTES] != _digest(chain, _DIGEST_BYTES):
        raise InvalidArgument(f"cursor: of a stream of another chain than {chain}", field="cursor")
    try:
        return _parse(body)
    except (IndexError, ValueError):
        raise _malformed() from None


def _parse(body: bytes) -> Cursor:
    source = body[1 + _DIGEST_BYTES : _HEADER_BYTES]
    number, at = _read_number(body, _HEADER_BYTES)
    items, at = _read_number(body, at)
    marks: list[Mark] = []
    while at < len(body):
        if marks:
            below, at = _read_number(body, at)
            number -= below
            if below == 0:
                raise ValueError("a block twice")
        digest = body[at : at + _MARK_BYTES]
        at += _MARK_BYTES
        if len(digest) < _MARK_BYTES or not 0 <= number < _MOST_NUMBER or len(marks) == MOST_MARKS:
            raise ValueError("no marks")
        marks.append(Mark(number, digest))
    if not marks:
        raise ValueError("no marks")
    return Cursor(tuple(marks), items, source)


def _write_number(written: bytearray, number: int) -> None:
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)


def _read_number(body: Sequence[int], at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 63:
            raise ValueError("too long a number")


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode(), digest_size=size).digest()


def _malformed() -> InvalidArgument:
    return InvalidArgument("cursor: not a cursor of this stream: copy it from the last event whole", field="cursor")
