"""One HTTP request as the server hears of it: its id, its client, and the metadata that carries them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(slots=True)
class Exchange:
    """Identity of one HTTP request. `metadata` goes with every call made for it."""

    request_id: str
    client: str
    credential: str | None = None
    metadata: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.metadata = (("x-request-id", self.request_id), ("x-waypost-client", self.client))
        if self.credential is not None:
            self.metadata += (("x-waypost-credential", self.credential),)

    def admit(self, principal: str) -> None:
        """Let the calls that follow speak for the principal that the server named."""
        self.metadata += (("x-waypost-principal", principal),)


def request_id_from(header: str | None) -> str:
    """Return the caller's own request id where it is well formed, else a fresh one."""
    if header is not None and _REQUEST_ID.fullmatch(header):
        return header
    return os.urandom(10).hex()
