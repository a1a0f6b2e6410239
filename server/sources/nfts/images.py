"""Which images of strangers' documents are handed out (decision page 0028).

Callers put `image` into the `src` of an `<img>`, and some of them elsewhere: what is no address of the web, of IPFS or
of Arweave, and no `data:` URL of a picture that holds no program, is no image.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from server.fetch import parse_data_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.sources.nfts.locations import Gateways

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
