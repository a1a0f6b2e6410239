"""How many examples a property is tried with: all of them, or a tenth where `make test-fast` sets FAST=1."""

from __future__ import annotations

import os

IS_FAST = os.environ.get("FAST", "") not in ("", "0")


def examples(count: int) -> int:
    """Return how many of the examples are tried, at least three."""
    return max(3, count // 10) if IS_FAST else count
