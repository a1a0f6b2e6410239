"""Versions of transactions: nodes answer only those that the caller says it takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.errors import GatewayError

HIGHEST_VERSION = 1
"""The highest version in use. Transactions pass as the node's JSON, so that any version would do."""

_MEMBER = "maxSupportedTransactionVersion"
_NAMED = re.compile(r"maxSupportedTransactionVersion\W{1,4}(\d{1,3})|[Tt]ransaction version \((\d{1,3})\)")


def version_metadata(message: str) -> dict[str, str]:
    """Return the version that a node's refusal names, as metadata of the error; empty where it names none."""
    match = _NAMED.search(message)
    return {} if match is None else {_MEMBER: match[1] or match[2]}


def named_version(error: GatewayError) -> int | None:
    """Return the version that the refusal of all nodes, or of one of them, names."""
    for told in (error, *error.refusals.values()):
        if _MEMBER in told.metadata:
            return int(told.metadata[_MEMBER])
    return None
