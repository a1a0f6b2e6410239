"""The failures of an exchange, in words that name neither host nor URL."""

from __future__ import annotations

from server.upstream.failures import Failure, Kind

HOST_NOT_FOUND = Failure(Kind.UNREACHABLE, "host name not found")
NOT_IN_TIME = Failure(Kind.UNREACHABLE, "no connection in time", is_silence=True)
TLS_FAILURE = Failure(Kind.UNREACHABLE, "TLS failure")
REFUSED = Failure(Kind.UNREACHABLE, "connection refused")
NO_CONNECTION = Failure(Kind.UNREACHABLE, "no connection")
DROPPED = Failure(Kind.DROPPED, "connection dropped")
CUT_OFF = Failure(Kind.NOT_JSON_RPC, "the answer was cut off")
INVALID = Failure(Kind.NOT_JSON_RPC, "not a valid HTTP answer")
TIMED_OUT = Failure(Kind.TIMED_OUT, "no answer in time")


def too_large(limit: int) -> Failure:
    """Return the failure of an answer that is longer than is read."""
    return Failure(Kind.TOO_LARGE, f"an answer of more than {limit} bytes")
