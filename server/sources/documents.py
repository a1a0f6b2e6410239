"""Documents of off-chain APIs: fetched whole, kept in memory, handed to readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable
    from datetime import datetime


class DocumentRequest(NamedTuple):
    """A document by its source and what the source tells its documents apart by."""

    source: str
    key: tuple[Hashable, ...] = ()


class Document(NamedTuple):
    """What a source returned, in the types of its module.

    `read_at` (UTC) is when the source was asked, or the document's own time where it has one. `is_stale` says that its
    lifetime is over and the source fails.
    """

    value: Any
    read_at: datetime
    is_stale: bool = False
