"""What a caller of the pool says about one call, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.errors import GatewayError
    from server.upstream.failures import Trouble


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """What the caller knows about a call.

    `heavy`: never shares a batch with cheap calls. `joinable`: identical calls in flight share one answer.
    `caller_made`: the outside caller chose the cost, so slowness does not count against the endpoint. `min_block`:
    endpoints known to be behind this block are asked last. `prefer`: label of the endpoint to ask first. `avoid`:
    labels of endpoints to ask last. `disbelieved`: labels of endpoints that gave no sound answer to this very call, to
    ask after all others, even those that rest.
    `may_be_refused`: an error of unknown meaning may be the call's own, if it is repeated and confirmed.
    `quotes`: the caller gets what a node said itself where it refused the call.
    `null_elsewhere`: a `null` result, or NotFound, is asked of others that should have it before it is believed.
    `held`: the call has waited for company already and leaves with the next batch. `names_chain`: the answer names the
    chain that it is of, and its reader checks that.
    """

    heavy: bool = False
    joinable: bool = True
    caller_made: bool = False
    min_block: int | None = None
    prefer: str | None = None
    avoid: frozenset[str] = frozenset()
    disbelieved: frozenset[str] = frozenset()
    null_elsewhere: bool = False
    held: bool = False
    may_be_refused: bool = False
    quotes: bool = False
    names_chain: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A node's answer: the JSON of `result` in the node's own bytes, the endpoint's label, the seconds it took.

    `refusals` are the errors by which endpoints that were asked before said that they cannot, by label. Of a REST
    endpoint `result` is the body and `headers` are those of its answer, names in lower case. A bundle has no `result`
    but `parts`, one for each of its calls. `absences` is how many endpoints said, with this `null`, that there is none.
    """

    result: bytes
    endpoint: str
    latency: float
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    refusals: Mapping[str, GatewayError] = field(default_factory=dict, compare=False)
    parts: tuple[bytes, ...] = ()
    absences: int = 0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one endpoint said to a probe: either `result` (JSON bytes) or `error` is set; `latency` is in seconds.

    `trouble` goes with an error.
    """

    endpoint: str
    latency: float
    result: bytes | None = None
    error: GatewayError | None = None
    trouble: Trouble | None = None
