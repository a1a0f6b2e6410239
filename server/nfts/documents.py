"""The JSON documents of tokens, written by strangers: bounded, checked, and made usable for callers.

Every integer keeps its digits and every member its text, because nothing but name and image is taken out. Of a member
that comes twice the last one counts, as JSON parsers have it.

Callers put `image` into the `src` of an `<img>`, and some of them elsewhere: what is no address of the web, of IPFS or
of Arweave, and no `data:` URL of a picture that holds no program, is no image (decision page 0028).

IPFS and Arweave addresses in a document lead to gateways. Only texts change, wherever they stand in the document; every
other byte stays as its author wrote it. Of ERC-1155 tokens "{id}" in any text is the token's id (EIP-1155, Metadata URI
JSON Schema).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

import msgspec

from runtime.bounds import DEEPEST, nests_too_deeply
from server.fetch import parse_data_url
from server.nfts.locations import PLACE, fill_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.nfts.locations import Gateways

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


MAX_IMAGE_CHARACTERS = 1 << 20
"""Longest `data:` URL that is handed out as an image: half of what a document may have."""

MAX_ADDRESS_CHARACTERS = 8192
"""Longest address that is handed out as an image."""

_ADDRESS = re.compile(r"(?:https?://(?![^/?#]*@)|ipfs://|ipns://|ar://)[^/?#\\\s][^\\\s]*", re.IGNORECASE)
# White space within an address, and what would end an attribute of HTML, as browsers write them.
_ESCAPED = {mark: f"%{ord(mark):02X}" for mark in " \"'<>`"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_PIXELS = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/avif"})
_VECTORS = "image/svg+xml"

_NAMESPACE = "http://www.w3.org/2000/svg"
# Elements that run something, or hold HTML, which may.
_ACTIVE = frozenset({"script", "foreignobject", "handler", "listener", "iframe", "object", "embed", "audio", "video"})
_PICTURES = frozenset({"image", "feimage"})
_LINKS = re.compile(r"#|https?://|ipfs://|ar://|[^:]*\Z", re.IGNORECASE)
_INNER_PICTURE = re.compile(r"data:image/", re.IGNORECASE)
_PROGRAM = re.compile(r"(?<![\w-])(?:(?:java|vb)script:|data:(?!image/))", re.IGNORECASE)
# Browsers read a link without these.
_IGNORED_IN_LINKS = re.compile(r"[\x00-\x1f]+")


def show_image(text: str, gateways: Gateways) -> str | None:
    """Return the image that a document names as callers can use it; None for what is none that may be handed out."""
    text = text.strip()
    if text[:5].lower() == "data:":
        return text if len(text) <= MAX_IMAGE_CHARACTERS and _is_picture(text) else None
    if len(text) > MAX_ADDRESS_CHARACTERS or _CONTROL.search(text):
        return None
    shown = "".join(_ESCAPED.get(mark, mark) for mark in gateways.show(text))
    return shown if _ADDRESS.fullmatch(shown) else None


def _is_picture(text: str) -> bool:
    found = parse_data_url(text)
    if found is None or not any(found.candidates):
        return False
    if found.content_type in _PIXELS:
        return True
    if found.content_type != _VECTORS:
        return False
    judged = [_judge_drawing(content) for content in found.candidates]
    return True in judged and False not in judged


class _ActiveContent(Exception):
    """A drawing holds what could act."""


def _judge_drawing(content: bytes) -> bool | None:
    """Return whether an SVG is nothing but a drawing; None where it is no SVG that a browser would show."""
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def start(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal depth
        namespace, _, element = name.rpartition(" ")
        if depth == 0 and (element != "svg" or namespace not in ("", _NAMESPACE)):
            raise ValueError("no drawing")
        depth += 1
        if element.lower() in _ACTIVE or any(not _is_inert(element.lower(), *each) for each in attributes.items()):
            raise _ActiveContent

    def refuse(*_: object) -> None:
        raise _ActiveContent

    parser.StartElementHandler = start
    # Entities can spell anything; instructions name style sheets that hold programs.
    parser.StartDoctypeDeclHandler = refuse
    parser.ProcessingInstructionHandler = refuse
    try:
        parser.Parse(content, True)
    except _ActiveContent:
        return False
    except (expat.ExpatError, ValueError):
        return None
    return True


def _is_inert(element: str, name: str, value: str) -> bool:
    attribute = name.rpartition(" ")[2].lower()
    stated = _IGNORED_IN_LINKS.sub("", value).strip()
    if attribute.startswith("on") or _PROGRAM.search(stated):
        return False
    if attribute in ("href", "src"):
        if element == "use":
            return stated.startswith("#")
        return bool(_LINKS.match(stated) or (element in _PICTURES and _INNER_PICTURE.match(stated)))
    return True


MAX_ADDRESSES = 1000
"""Most addresses of one document that are rewritten besides its image; those after them stay as they are."""

# A text, and what makes it the name of a member. The document is valid JSON, so that texts begin where quotes are.
_TEXT = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*:)?')
_OF_GATEWAY = re.compile(rb'"(?:ipfs|ipns|ar):', re.IGNORECASE)
_PLACE = PLACE.encode()
# A template of EIP-1155's `localization`: its user fills a language in first.
_TEMPLATE = b"{locale}"


def rewrite(document: Document, gateways: Gateways, token_id: int | None) -> Document:
    """Return the document with its addresses rewritten; `token_id` is that of an ERC-1155 token, else None.

    Its image is None where it is none that may be handed out (`show_image`). The id is filled in nowhere if that made
    the document longer than documents may be.
    """
    if token_id is not None:
        document = _filled(document, token_id)
    left = MAX_ADDRESSES

    def text_of(match: re.Match[bytes]) -> bytes:
        nonlocal left
        text, names_member = match[1], match[2] is not None
        if names_member or left <= 0 or not _OF_GATEWAY.match(text) or _TEMPLATE in text:
            return match[0]
        left -= 1
        stated = msgspec.json.decode(text, type=str)
        shown = gateways.show(stated)
        return text if shown == stated else msgspec.json.encode(shown)

    others = document.others
    return document._replace(
        image=None if document.image is None else show_image(document.image, gateways),
        others=_TEXT.sub(text_of, others) if _OF_GATEWAY.search(others) else others,
    )


def _filled(document: Document, token_id: int) -> Document:
    """Return the document with the id in the place of every "{id}" in a text."""
    texts = [text.encode() for text in (document.name, document.image) if text is not None]
    written = [*texts, document.others]
    places = sum(text.count(_PLACE) for text in written)
    grown = sum(map(len, written)) + places * (len(fill_in(PLACE, token_id)) - len(PLACE))
    if not places or grown > MAX_DOCUMENT_BYTES:
        return document

    def text_of(match: re.Match[bytes]) -> bytes:
        return match[0] if match[2] is not None else fill_in(match[1].decode(), token_id).encode()

    return document._replace(
        name=None if document.name is None else fill_in(document.name, token_id),
        image=None if document.image is None else fill_in(document.image, token_id),
        others=_TEXT.sub(text_of, document.others),
    )
