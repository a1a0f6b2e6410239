"""The JSON documents of tokens, written by strangers: bounded, checked, and kept as they are.

Every integer keeps its digits and every member its text, because nothing but name and image is taken out. Of a member
that comes twice the last one counts, as JSON parsers have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from runtime.nesting import DEEPEST, nests_too_deeply

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DOCUMENT_BYTES = 2 << 20
"""Longest document that is taken."""

_BOM = b"\xef\xbb\xbf"
_NAME, _IMAGE, _IMAGE_URL = "name", "image", "image_url"

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_anything = msgspec.json.Decoder()


class DocumentError(ValueError):
    """Why something is no document of a token; the text is for callers."""


class Document(NamedTuple):
    """A token's document: name and image as text, None where it has none; its other members as a JSON object."""

    name: str | None
    image: str | None
    others: bytes


def parse_document(body: bytes) -> Document:
    """Return the document that the bytes are.

    Raises:
        DocumentError: not UTF-8, no JSON object, longer than 2 MiB or nested more than 64 deep.
    """
    if len(body) > MAX_DOCUMENT_BYTES:
        raise DocumentError(f"the document is longer than {MAX_DOCUMENT_BYTES} bytes")
    body = body.removeprefix(_BOM).strip()
    if nests_too_deeply(body):
        raise DocumentError(f"the document is nested more than {DEEPEST} deep")
    try:
        # The members are passed on unread. The decoder checks their syntax all the same, but not their encoding.
        body.decode("utf-8")
        members = _members.decode(body)
        name, image = _text(members.get(_NAME)), _text(members.get(_IMAGE))
        image = image or _text(members.get(_IMAGE_URL))
        others = _join({key: raw for key, raw in members.items() if key not in (_NAME, _IMAGE)})
    except UnicodeError:
        raise DocumentError("the document is not UTF-8 text") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise DocumentError("the document is no readable JSON object") from None
    return Document(name, image, others)


def _text(raw: msgspec.Raw | None) -> str | None:
    """Return a member as text: a string's own, the JSON of anything else; None for null."""
    if raw is None or bytes(raw) == b"null":
        return None
    value = _anything.decode(raw)
    return value if isinstance(value, str) else bytes(raw).decode("utf-8")


def _join(members: Mapping[str, msgspec.Raw]) -> bytes:
    parts = [msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in members.items()]
    return b"{" + b",".join(parts) + b"}" if parts else b""
