"""One HTTP request as the server hears of it: its id, its client, and the metadata that carries them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

CACHE_CONTROL = "x-waypost-cache-control"
CREDENTIAL = "x-waypost-credential"

# Headers that tell of an answer besides its body, by the server's metadata that holds them.
TOLD = {"x-waypost-cache": "X-Waypost-Cache", "ratelimit": "RateLimit", "ratelimit-policy": "RateLimit-Policy"}

# Directives of RFC 9111, section 5.2.1, by which a caller asks for an answer that comes from a node now.
_FRESH = frozenset({"no-cache", "no-store", "max-age=0"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(slots=True)
class Exchange:
    """Identity of one HTTP request.

    `metadata` goes with every call made for it; `fresh` asks to pass by the cache; `admitted` says that the server has
    charged it, so that its calls need no key.
    """

    request_id: str
    client: str
    credential: str | None = None
    fresh: bool = False
    admitted: bool = field(init=False, default=False)
    metadata: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.metadata = (("x-request-id", self.request_id), ("x-waypost-client", self.client))
        if self.credential is not None:
            self.metadata += ((CREDENTIAL, self.credential),)
        if self.fresh:
            self.metadata += ((CACHE_CONTROL, "no-cache"),)

    def present(self, key: str) -> None:
        """Let the call that follows be admitted by its key."""
        self.metadata += (("x-api-key", key),)

    def admit(self, principal: str) -> None:
        """Let the calls that follow speak for the principal that the server named."""
        self.admitted = True
        self.metadata += (("x-waypost-principal", principal),)


def request_id_from(header: str | None) -> str:
    """Return the caller's own request id where it is well formed, else a fresh one."""
    if header is not None and _REQUEST_ID.fullmatch(header):
        return header
    # Told apart, not kept secret: what is cheap will do.
    return f"{random.getrandbits(80):020x}"


def wants_fresh(header: str | None) -> bool:
    """Return whether a `Cache-Control` header asks for an answer that is not out of a cache."""
    return header is not None and any(word.strip().lower() in _FRESH for word in header.split(","))
