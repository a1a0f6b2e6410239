"""`data:` URLs (RFC 2397), as contracts write them: base64, percent-encoded, or neither."""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

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
