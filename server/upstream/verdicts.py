"""What a node's error means for the call: an answer, a reason to ask elsewhere, or a fault of the endpoint.

The texts and codes by which nodes report it differ by chain family, so each family supplies its own `ErrorTable`;
the pool only acts on the verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from server.errors import GatewayError
    from server.upstream.endpoint import Lack


class Verdict(Enum):
    """What the pool does after an error."""

    ANSWER = "answer"
    """The node answered (a revert, a bad parameter): the error is raised at once and counts against no endpoint."""

    ELSEWHERE = "elsewhere"
    """This endpoint cannot (pruned, method off, behind): the next one is asked; nothing counts against this one."""

    UNCLEAR = "unclear"
    """It is unknown whether the call or the endpoint is at fault: the next one is asked, and if that one answers the
    same call, it counts against this one."""

    SICK = "sick"
    """The endpoint is broken: counts against it, the next one is asked."""

    LIMITED = "limited"
    """The endpoint throttles us: it alone is slowed down, the next one is asked."""


@dataclass(frozen=True, slots=True)
class Classified:
    """One node error, judged.

    `error` is what the caller gets if no endpoint can do better; its message names no URL. `retry_after` is in
    seconds, for `LIMITED`. `lacks` is what the endpoint reported missing, to be kept for a while. `refusal`
    is what the error means if the call is to blame for it: if the endpoint repeats it and another one confirms it.
    """

    verdict: Verdict
    error: GatewayError
    retry_after: float | None = None
    lacks: Lack | None = None
    refusal: GatewayError | None = None


class ErrorTable(Protocol):
    """A chain family's knowledge of its nodes' errors."""

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on one JSON-RPC error object.

        `http_status` is the status it came with, `code` None where the node gave no integer, `message` the node's
        own text ("" where it gave none), `data` the JSON of the `data` member. Unknown errors take the family's safe
        path; nothing is raised.
        """
        ...
