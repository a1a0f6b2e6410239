"""What carries the calls of one pool to one endpoint, whatever the protocol: a call's policy and its answer.

`Batcher` (JSON-RPC) and `RestConnector` (REST) are the connectors; failover, health and checks rest on `Connector`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Mapping
    from typing import Any

    from runtime.tracing import Asker
    from server.errors import GatewayError
    from server.upstream.failures import Failure, Trouble
    from server.upstream.jsonrpc import Outcome
    from server.upstream.transport import Exchange, Purpose

Call = TypeVar("Call")
SentCall = TypeVar("SentCall", contravariant=True)

Payload: TypeAlias = "Call | tuple[Call, ...]"
"""A call as the pool's connectors take it (never a tuple), or those of a bundle in order."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """What the caller states about a call.

    `heavy`: never shares a batch with cheap calls. `joinable`: identical calls in flight share one answer.
    `caller_made`: the outside caller chose the cost, so slowness does not count against the endpoint; it leaves alone,
    unless it `is_short`: known to cost little, and written so that it spoils no batch. `min_block`:
    endpoints known to be behind this block are asked last. `prefer`: label of the endpoint to ask first. `avoid`:
    labels of endpoints to ask last. `found_invalid`: labels of endpoints that gave no valid answer to this very call,
    to ask after all others, even those that rest.
    `may_be_refused`: an error of unknown meaning may be the call's own, if it is repeated and confirmed.
    `quotes`: the caller gets the node's own error where it refused the call.
    `null_elsewhere`: a `null` result, or NotFound, is asked of others that should have it before it is believed.
    `held`: the call has waited for company already and leaves with the next batch; `is_last`: it is known that none
    comes, and it leaves at once. `names_chain`: the answer names the
    chain that it is of, and its reader checks that.
    """

    heavy: bool = False
    joinable: bool = True
    caller_made: bool = False
    is_short: bool = False
    min_block: int | None = None
    prefer: str | None = None
    avoid: frozenset[str] = frozenset()
    found_invalid: frozenset[str] = frozenset()
    null_elsewhere: bool = False
    held: bool = False
    is_last: bool = False
    may_be_refused: bool = False
    quotes: bool = False
    names_chain: bool = False


PLAIN = CallPolicy()
"""The default policy."""


class Reply(msgspec.Struct, frozen=True):
    """A node's answer: the JSON of `result` in the node's own bytes, the endpoint's label, the seconds it took.

    `refusals` are the errors by which endpoints asked before stated that they cannot, by label. Of a REST
    endpoint `result` is the body and `headers` are those of its answer, names in lower case. A bundle has no `result`
    but `parts`, one for each of its calls. `absences` is how many endpoints, with this `null`, have none.
    `number` is `Endpoint.number`.
    """

    result: bytes
    endpoint: str
    latency: float
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    refusals: Mapping[str, GatewayError] = msgspec.field(default_factory=dict)
    parts: tuple[bytes, ...] = ()
    absences: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one endpoint answered to a probe: either `result` (JSON bytes) or `error` is set; `latency` is in seconds.

    `trouble` goes with an error.
    """

    endpoint: str
    latency: float
    result: bytes | None = None
    error: GatewayError | None = None
    trouble: Trouble | None = None


class Answer(NamedTuple):
    """The outcome of one call, and the exchange that it was part of; of a bundle the results in its calls' order."""

    outcome: Outcome | tuple[bytes, ...]
    exchange: Exchange


class Connector(Protocol[SentCall]):
    """Sends the calls of one endpoint; never raises for a failure of the endpoint.

    What a call is, only its pool and its connector define: bytes of JSON-RPC, or a structured request of REST. It can
    be hashed, and equal calls ask the same.
    """

    def submit(
        self, call: SentCall, timeout: float, *, held: bool = False, is_last: bool = False, asker: Asker | None = None
    ) -> Awaitable[Answer]:
        """Return the answer to a cheap call, which may share its request with others.

        `held` and `is_last` are as in the policy; `asker` is for its span.
        """
        ...

    def submit_alone(
        self,
        payload: SentCall | tuple[SentCall, ...],
        timeout: float,
        purpose: Purpose = "heavy",
        asker: Asker | None = None,
    ) -> Coroutine[Any, Any, Answer]:
        """Return the answer to a call, or to a bundle, that shares its request with no other."""
        ...

    def give_up(self, failure: Failure) -> None:
        """End every call in flight with this failure."""
        ...

    async def close(self) -> None:
        """Cancel what is in flight."""
        ...
