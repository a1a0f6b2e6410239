"""A client on a chain's own node and the same client on the gateway: what both answer to one read, side by side.

WAYPOST_FACES (scripts/faces.py) has the addresses and what is certain.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_GIVEN = json.loads(os.environ["WAYPOST_FACES"])
CHAINS: dict[str, dict[str, dict[str, str]]] = _GIVEN["chains"]
KNOWN: dict[str, dict[str, Any]] = _GIVEN["known"]


class Ended(NamedTuple):
    """What a read ended with: a value, or an error's class and what it says."""

    value: Any = None
    error: tuple[str, str] | None = None


def pair(chain: str, make: Callable[[str], Any], interface: str = "http") -> tuple[Any, Any]:
    """Return the client on the node and the client on the gateway, each made of its address."""
    return make(CHAINS[chain]["node"][interface]), make(CHAINS[chain]["gateway"][interface])


def outcome(read: Callable[[Any], Any], client: Any) -> Ended:
    """Return what a read ends with."""
    try:
        return Ended(value=read(client))
    except Exception as error:
        return _failed(error)


async def outcome_of(read: Callable[[Any], Awaitable[Any]], client: Any) -> Ended:
    """Return what a read ends with on an event loop."""
    try:
        return Ended(value=await read(client))
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> Ended:
    # Ids of requests differ from client to client.
    return Ended(error=(type(error).__name__, re.sub(r"'id': \d+", "'id': 0", str(error))))
