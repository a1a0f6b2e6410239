"""Why an endpoint gave no usable answer, in a short text that names neither host nor URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """The closed set of reasons; the value is the metric label."""

    UNREACHABLE = "unreachable"
    """No connection: refused, unknown host, TLS failure."""

    DROPPED = "dropped"
    """The connection closed before the whole answer was there."""

    TIMED_OUT = "timed_out"
    """Nothing whole within the time of the attempt."""

    HUNG = "hung"
    """Not a byte to any request for seconds: ended before its time."""

    HTTP_STATUS = "http_status"
    """An HTTP status that is no answer."""

    NOT_JSON_RPC = "not_json_rpc"
    """A body that is no JSON-RPC answer: HTML, cut off, wrong shape."""

    WRONG_ID = "wrong_id"
    """An answer to some other request."""

    MISSING = "missing"
    """A batch came back without this item."""

    TOO_LARGE = "too_large"
    """The answer is longer than the gateway reads."""

    LIMITED = "limited"
    """The endpoint throttles us."""

    NODE_ERROR = "node_error"
    """A JSON-RPC error that the chain family counts against the endpoint."""

    CANNOT = "cannot"
    """A JSON-RPC error by which the endpoint states that another one may do better."""

    UNSOUND = "unsound"
    """A result that cannot be the answer to the call: of another shape, or about something else."""

    EXCLUDED = "excluded"
    """The endpoint failed its identity check."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt: its kind and a short text for people ("HTTP 502", "connection refused")."""

    kind: Kind
    words: str
    retry_after: float | None = None
    is_silence: bool = field(default=False, compare=False)
    """Whether no connection came about because nothing at all came back."""


class Trouble(Enum):
    """Why an endpoint, or a whole chain, cannot be read well, in the terms of chain health; the most telling first."""

    WRONG_CHAIN = "wrong chain"
    FORKED = "forked"
    HANGS = "hangs"
    REFUSED = "refused"
    THROTTLED = "throttled"
    FAILS = "fails"
    BEHIND = "behind"
    AHEAD = "ahead"
    NO_ENDPOINT = "no endpoint"


_TROUBLES = {
    Kind.EXCLUDED: Trouble.WRONG_CHAIN,
    Kind.TIMED_OUT: Trouble.HANGS,
    Kind.HUNG: Trouble.HANGS,
    Kind.UNREACHABLE: Trouble.REFUSED,
    Kind.DROPPED: Trouble.REFUSED,
    Kind.LIMITED: Trouble.THROTTLED,
}


def trouble_of(failure: Failure | None) -> Trouble:
    """Return what a failure means for its endpoint; None is an error of the node's own."""
    if failure is None:
        return Trouble.FAILS
    return Trouble.HANGS if failure.is_silence else _TROUBLES.get(failure.kind, Trouble.FAILS)
