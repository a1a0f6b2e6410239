"""Cross-origin answers for browsers; none unless origins are configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXPOSED = "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, X-Waypost-Cache"


class Cors:
    """Decides which response headers a browser's origin gets."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = frozenset(origins)
        self._any = "*" in self._origins
        self.enabled = bool(self._origins)

    def headers(self, request: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that let the request's origin read the answer; empty for an origin not allowed."""
        if not self.enabled:
            return {}
        if self._any:
            return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
        origin = request.get("Origin")
        if origin not in self._origins:
            return {"Vary": "Origin"}
        return {
            "Access-Control-Allow-Origin": str(origin),
            "Access-Control-Expose-Headers": EXPOSED,
            "Vary": "Origin",
        }

    def preflight(self, request: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of the answer to an `OPTIONS` preflight."""
        headers = self.headers(request)
        if "Access-Control-Allow-Origin" in headers:
            headers["Access-Control-Allow-Methods"] = "POST"
            headers["Access-Control-Allow-Headers"] = "Content-Type, X-Request-Id, Cache-Control"
            headers["Access-Control-Max-Age"] = "600"
        return headers
