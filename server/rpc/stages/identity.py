"""Gives the call its request id and its state; settles whether the caller is trusted, and wants the cache."""

from __future__ import annotations

import hmac
import itertools
import re
import secrets
from time import monotonic
from typing import TYPE_CHECKING

from server.rpc.stages.state import RequestState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from server.rpc.stages.state import Method

    Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]

# Unique without asking for randomness at every call.
_PROCESS = secrets.token_hex(6)
_calls = itertools.count(1)
CACHE_CONTROL = "x-waypost-cache-control"
CREDENTIAL = "x-waypost-credential"
# Directives of RFC 9111, section 5.2.1, by which a caller asks for an answer that comes from a node now.
_FRESH = frozenset({"no-cache", "no-store", "max-age=0"})
_acceptable = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch


def state_starter(method: Method, credential: str | None) -> Callable[[Metadata, bool], RequestState]:
    """Return what makes the state of one call of the method, of its metadata and whether it is of this process.

    A caller's `x-request-id` is kept when it is 1 to 64 characters of `[A-Za-z0-9._-]`; otherwise one is made. Trusted
    are callers in this process, and on the private listener those that present `credential`.
    """
    operation = method.operation
    secret = credential.encode() if credential and method.private else None

    def start(received: Metadata, trusted: bool) -> RequestState:
        metadata: dict[str, str | bytes] = {}
        # Not `dict(...)`, nor by unpacking: both make a list of each of gRPC's named tuples first.
        for entry in received:
            metadata[entry[0]] = entry[1]
        given = metadata.get("x-request-id")
        request_id = given if isinstance(given, str) and _acceptable(given) else f"{_PROCESS}-{next(_calls):x}"
        if secret is not None and _matches(metadata, secret):
            trusted = True
        state = RequestState(request_id, operation, monotonic(), metadata, trusted)
        if CACHE_CONTROL in metadata:
            state.cache.bypass = _wants_fresh(metadata[CACHE_CONTROL])
        return state

    return start


def _wants_fresh(directives: str | bytes) -> bool:
    return isinstance(directives, str) and any(word.strip().lower() in _FRESH for word in directives.split(","))


def _matches(metadata: dict[str, Any], credential: bytes) -> bool:
    given = metadata.get(CREDENTIAL)
    return isinstance(given, str) and hmac.compare_digest(given.encode(), credential)
