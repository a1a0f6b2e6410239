"""Makes a stranger's document of use to callers: its IPFS and Arweave addresses lead to gateways.

Only texts change, wherever they stand in the document; every other byte stays as its author wrote it. Of ERC-1155
tokens "{id}" in any text is the token's id (EIP-1155, Metadata URI JSON Schema).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from server.sources.nfts.locations import fill_in

if TYPE_CHECKING:
    from server.sources.nfts.documents import Document
    from server.sources.nfts.locations import Gateways

# A text, and what makes it the name of a member. The document is valid JSON, so that texts begin where quotes are.
_TEXT = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*:)?')
_ADDRESS = re.compile(rb'"(?:ipfs|ipns|ar):', re.IGNORECASE)
_PLACE = re.compile(rb"\{id\}")
# A template of EIP-1155's `localization`: whoever uses it fills a language in first.
_TEMPLATE = b"{locale}"


def rewrite(document: Document, gateways: Gateways, token_id: int | None) -> Document:
    """Return the document with its addresses rewritten; `token_id` is that of an ERC-1155 token, else None."""

    def filled(text: str) -> str:
        return text if token_id is None else fill_in(text, token_id)

    def text_of(match: re.Match[bytes]) -> bytes:
        text, names_member = match[1], match[2] is not None
        if names_member:
            return match[0]
        if token_id is not None and _PLACE.search(text):
            text = msgspec.json.encode(filled(msgspec.json.decode(text, type=str)))
        if _ADDRESS.match(text) and _TEMPLATE not in text:
            stated = msgspec.json.decode(text, type=str)
            shown = gateways.show(stated)
            text = text if shown == stated else msgspec.json.encode(shown)
        return text

    others = document.others
    if _ADDRESS.search(others) or (token_id is not None and _PLACE.search(others)):
        others = _TEXT.sub(text_of, others)
    return document._replace(
        name=None if document.name is None else filled(document.name),
        image=None if document.image is None else gateways.show(filled(document.image)),
        others=others,
    )
