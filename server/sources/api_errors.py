"""What HTTP errors of off-chain APIs mean for the call (see `ErrorTable`)."""

from __future__ import annotations

from server.errors import NotFound, UpstreamUnavailable
from server.upstream import Classified, Verdict

_THROTTLED = 429
_ABSENT = 404
_BROKEN = 500


class ApiErrors:
    """Errors of APIs that answer with plain HTTP statuses. What they write besides is not passed on."""

    def __init__(self, name: str) -> None:
        self._name = name

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict by status alone: absent, throttled, broken, or refused (a key that is missing, say)."""
        if http_status == _ABSENT:
            return Classified(Verdict.ELSEWHERE, NotFound(f"{self._name} does not have that"))
        if http_status == _THROTTLED:
            return Classified(Verdict.LIMITED, UpstreamUnavailable(f"{self._name} throttles the gateway"))
        if http_status >= _BROKEN:
            return Classified(Verdict.SICK, UpstreamUnavailable(f"{self._name} failed"))
        return Classified(Verdict.SICK, UpstreamUnavailable(f"{self._name} refused the request"))


class WholeApiErrors(ApiErrors):
    """Errors of APIs that are asked at fixed paths alone: what is absent there is the API, not something of it."""

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict by status alone; see `ApiErrors`."""
        if http_status == _ABSENT:
            words = f"{self._name} does not answer at the configured address"
            return Classified(Verdict.SICK, UpstreamUnavailable(words))
        return super().classify(http_status, code, message, data)
