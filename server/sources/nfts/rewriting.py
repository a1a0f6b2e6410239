"""Makes a stranger's document of use to callers: its IPFS and Arweave addresses lead to gateways.

Only texts change, wherever they stand in the document; every other byte stays as its author wrote it. Of ERC-1155
tokens "{id}" in any text is the token's id (EIP-1155, Metadata URI JSON Schema).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from server.sources.nfts.documents import MAX_DOCUMENT_BYTES
from server.sources.nfts.images import show_image
from server.sources.nfts.locations import PLACE, fill_in

if TYPE_CHECKING:
    from server.sources.nfts.documents import Document
    from server.sources.nfts.locations import Gateways

MAX_ADDRESSES = 1000
"""Most addresses of one document that are rewritten besides its image; those after them stay as they are."""

# A text, and what makes it the name of a member. The document is valid JSON, so that texts begin where quotes are.
_TEXT = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*:)?')
_ADDRESS = re.compile(rb'"(?:ipfs|ipns|ar):', re.IGNORECASE)
_PLACE = PLACE.encode()
# A template of EIP-1155's `localization`: whoever uses it fills a language in first.
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
        if names_member or left <= 0 or not _ADDRESS.match(text) or _TEMPLATE in text:
            return match[0]
        left -= 1
        stated = msgspec.json.decode(text, type=str)
        shown = gateways.show(stated)
        return text if shown == stated else msgspec.json.encode(shown)

    others = document.others
    return document._replace(
        image=None if document.image is None else show_image(document.image, gateways),
        others=_TEXT.sub(text_of, others) if _ADDRESS.search(others) else others,
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
