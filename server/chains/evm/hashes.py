"""Transaction and block hashes as callers write them."""

from __future__ import annotations

import re

from server.errors import InvalidArgument

_HASH = re.compile(r"0x[0-9a-fA-F]{64}")


def parse_hash(text: str, kind: str) -> str:
    """Return a hash of that kind (`block`, `transaction`) in lower case.

    Raises:
        InvalidArgument: not 0x and 64 hex digits; names the field `hash`.
    """
    if not _HASH.fullmatch(text):
        raise InvalidArgument(f"hash: an EVM {kind} hash is 0x and 64 hex digits", field="hash")
    return text.lower()
