"""The documents of all APIs that yields and funding come from, as the settings configure them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.yields.beefy import open_beefy
from server.yields.kong import open_kong
from server.yields.morpho import open_morpho
from server.yields.pendle import open_pendle

if TYPE_CHECKING:
    from server.apis.documents import DocumentSource
    from server.apis.sources import Sources


def open_yield_sources(sources: Sources) -> dict[str, DocumentSource]:
    """Return the sources of documents by name, without those that are switched off."""
    found: dict[str, DocumentSource] = {}
    for opened in (open_beefy, open_kong, open_morpho, open_pendle):
        found |= opened(sources)
    return found
