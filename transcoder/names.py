"""Names of callers in messages."""

from __future__ import annotations

LONGEST = 80


def clipped(text: str) -> str:
    """Return the text, cut where it is too long to repeat in a message."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
