"""What is wrong with a file of the catalogue."""

from __future__ import annotations


class TokenMistake(ValueError):
    """An entry of a token's file is missing, unknown or impossible; the text names file, entry and what to write."""
