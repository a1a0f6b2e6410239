"""What HTTP told: status, headers, body."""

from __future__ import annotations

import email.utils
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

_LONGEST_RETRY = 3600.0


class Headers(Mapping[str, str]):
    """The headers of an answer by their names in lower case; of one that came several times the last.

    Read when somebody looks: most answers are only bodies to whoever asked.
    """

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs

    def __getitem__(self, name: str) -> str:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, str]:
        return {
            name.decode("latin-1").lower(): value.decode("utf-8", "surrogateescape").rstrip(" \t")
            for name, value in self._pairs
        }


class HttpAnswer(NamedTuple):
    """A whole HTTP answer: status, the seconds of `Retry-After` if given, the decoded body, the headers."""

    status: int
    retry_after: float | None
    body: bytes
    headers: Mapping[str, str]


def parse_retry_after(text: str) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3), at most an hour; None for an odd one."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), int(_LONGEST_RETRY)))
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max((at - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_RETRY)
