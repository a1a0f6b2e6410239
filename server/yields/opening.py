"""The documents of all APIs that yields come from, as the settings configure them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.yields.pendle import open_pendle

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from runtime.settings import Settings
    from server.sources.documents import DocumentSource
    from server.upstream.observer import Observer
    from server.upstream.transport import Session


def open_yield_sources(
    settings: Settings, http: Session, lifetime: AsyncExitStack, *, observer: Observer | None = None
) -> dict[str, DocumentSource]:
    """Return the sources of documents by name, without those that are switched off; closed with `lifetime`."""
    return {
        **open_pendle(settings, http, lifetime, observer=observer),
    }
