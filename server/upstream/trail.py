"""What one call met on its way through the endpoints, and the error that tells it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from server.errors import DeadlineExceeded, GatewayError, UpstreamUnavailable

if TYPE_CHECKING:
    from server.errors import NodeWords
    from server.upstream.carrier import Exchange
    from server.upstream.endpoint import Endpoint
    from server.upstream.health import Setback


class Trail:
    """Collects, per endpoint label, the last failure in short words, and keeps the first error that explains.

    `refusals` are the errors by which endpoints said that they cannot, by label; `blaming` are those that may blame the
    call for it, each as often as it was said.
    """

    def __init__(self, chain: str) -> None:
        self._chain = chain
        self._words: dict[str, str] = {}
        self._explaining: GatewayError | None = None
        self._retry_after: float | None = None
        self._is_time: dict[str, bool] = {}
        self._is_silence = False
        self._suspects: list[tuple[Endpoint, Exchange]] = []
        self._node: NodeWords | None = None
        self.refusals: dict[str, GatewayError] = {}
        self.blaming: dict[str, list[GatewayError]] = {}

    def suspect(self, endpoint: Endpoint, exchange: Exchange) -> None:
        """Remember an endpoint that failed for a reason that may be the call's."""
        self._suspects.append((endpoint, exchange))

    def take_suspects(self) -> list[tuple[Endpoint, Exchange]]:
        """Return the suspects, once."""
        suspects, self._suspects = self._suspects, []
        return suspects

    def note(self, label: str, setback: Setback) -> None:
        """Remember what became of an attempt at the endpoint."""
        self._words[label] = setback.words
        self._is_time[label] = setback.is_silent or setback.is_slow
        self._is_silence = self._is_silence or setback.is_silent
        if setback.refusal is not None:
            refusal = copy.copy(setback.refusal)
            refusal.node = setback.node
            self.blaming.setdefault(label, []).append(refusal)
        error = setback.explaining
        is_explained = self._explaining is not None
        if error is not None:
            self.refusals[label] = error
        # "Unavailable" alone explains nothing: the summary of all endpoints says more.
        if self._explaining is None and type(error) is not UpstreamUnavailable:
            self._explaining = error
        # The words of the node whose error is raised, else of the last that said anything.
        if setback.node is not None and not is_explained:
            self._node = setback.node
        if setback.retry_after is not None and (self._retry_after is None or setback.retry_after < self._retry_after):
            self._retry_after = setback.retry_after

    def exhausted(self) -> GatewayError:
        """Return the error of a call that no endpoint answered."""
        if self._explaining is not None:
            # A copy: whoever raises it holds this trail, and the original is among its own refusals.
            error = copy.copy(self._explaining)
        else:
            retry_after_ms = None if self._retry_after is None else int(self._retry_after * 1000)
            if self._is_silence and all(self._is_time.values()):
                # Nothing was wrong but that the time passed while the caller waited.
                message = f"{self._chain} did not answer in time: {self._summary()}"
                error = DeadlineExceeded(message, retry_after_ms=retry_after_ms)
            else:
                message = f"no endpoint of {self._chain} answered: {self._summary()}"
                error = UpstreamUnavailable(message, retry_after_ms=retry_after_ms)
        error.refusals = dict(self.refusals)
        error.node = self._node
        return error

    def late(self) -> GatewayError:
        """Return the error of a call whose deadline passed."""
        if not self._words:
            return DeadlineExceeded(f"{self._chain} did not answer before the deadline")
        error = DeadlineExceeded(f"{self._chain} did not answer before the deadline: {self._summary()}")
        error.node = self._node
        return error

    def _summary(self) -> str:
        return "; ".join(f"{label}: {words}" for label, words in self._words.items()) or "none is configured"
