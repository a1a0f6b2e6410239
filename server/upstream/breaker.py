"""The circuit breaker of one endpoint: opens after repeated failures, probes, closes by itself."""

from __future__ import annotations

from enum import Enum

FAILURES_TO_OPEN = 5
"""Failures in a row that open the breaker."""

RATIO_WINDOW = 20
"""Attempts over which the failure ratio is judged."""

_RATIO_TO_OPEN = 0.5
_DOUBT = 1.0
_FIRST_REST = 1.0
_LONGEST_REST = 30.0


class Circuit(Enum):
    """Where the breaker stands: open and half open after failures, hung while the endpoint gives no byte back."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"
    HUNG = "hung"


class Breaker:
    """Counts an endpoint's own failures; times are the pool clock's seconds.

    Open means "asked last", not "never asked": the pool falls back on open endpoints when nothing better is left. The
    rest doubles from 1 s to at most 30 s while probes fail, so an endpoint is never banned for good. Hung is the one
    state in which nothing of a caller is sent: the endpoint's watch sets and ends it.
    """

    def __init__(self) -> None:
        self._row = 0
        self._late = 0
        self._recent = 0
        self._recent_failures = 0.0
        self._rest = _FIRST_REST
        self._retry_at: float | None = None
        self._doubt_until = 0.0
        self._probing = False
        self._is_hung = False
        self.is_slow = False
        """Whether the last failure was that no answer came in time."""
        self.is_closed = True
        """Whether calls may pass: the state is CLOSED."""

    def state(self, now: float) -> Circuit:
        """Return the state at `now`."""
        if self._is_hung:
            return Circuit.HUNG
        if self._retry_at is None:
            return Circuit.CLOSED
        return Circuit.HALF_OPEN if now >= self._retry_at else Circuit.OPEN

    def hang(self) -> None:
        """Let nothing through until `revive`."""
        self._is_hung = True
        self.is_closed = False

    def revive(self) -> None:
        """Note that a hung endpoint gave any answer: its state is as before."""
        self._is_hung = False
        self.is_closed = self._retry_at is None

    def is_doubted(self, now: float) -> bool:
        """Return whether a failure is so recent that others should be asked first: a second per failure in a row."""
        return now < self._doubt_until

    def claim_probe(self, now: float) -> bool:
        """Return True for the one caller that may probe a half-open endpoint now."""
        if self._probing or self.state(now) is not Circuit.HALF_OPEN:
            return False
        self._probing = True
        return True

    def release_probe(self) -> None:
        """Give the probe back, whatever its outcome."""
        self._probing = False

    def succeed(self) -> bool:
        """Count an answer; return True if that closed the breaker."""
        self._row = self._late = 0
        self._doubt_until = 0.0
        self._recent += 1
        self._recent_failures -= self._recent_failures / RATIO_WINDOW
        if self._retry_at is None:
            return False
        self._retry_at = None
        self.is_closed = not self._is_hung
        self._rest = _FIRST_REST
        self._recent = 0
        self._recent_failures = 0.0
        return True

    def delay(self, now: float) -> None:
        """Count an answer that did not come in time, of an endpoint that is watched for hanging.

        It is doubted as after any failure, but slow is not broken: that alone opens nothing.
        """
        self._late = min(self._late + 1, FAILURES_TO_OPEN)
        self._doubt_until = max(self._doubt_until, now + self._late * _DOUBT)
        self.is_slow = True

    def fail(self, now: float, *, is_slow: bool = False) -> bool:
        """Count a failure; return True if that opened the breaker."""
        self.is_slow = is_slow
        self._row += 1
        self._doubt_until = now + min(self._row, FAILURES_TO_OPEN) * _DOUBT
        # A running sum that forgets as a window of that length would, without keeping the window.
        self._recent += 1
        self._recent_failures += 1.0 - self._recent_failures / RATIO_WINDOW
        if self._retry_at is not None:
            if now >= self._retry_at:
                self._rest = min(self._rest * 2, _LONGEST_REST)
                self._retry_at = now + self._rest
            return False
        often = self._recent >= RATIO_WINDOW and self._recent_failures / RATIO_WINDOW >= _RATIO_TO_OPEN
        if self._row < FAILURES_TO_OPEN and not often:
            return False
        self._retry_at = now + self._rest
        self.is_closed = False
        return True
