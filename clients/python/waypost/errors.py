"""Failures as exceptions, a class for each reason; both transports and the rows of an answer raise the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo, RetryInfo
from google.rpc.status_pb2 import Status
from waypost.methods import words_of
from waypost.v1.common_pb2 import Reason
from waypost.v1.raw_pb2 import NodeError

if TYPE_CHECKING:
    from collections.abc import Mapping

DOMAIN = "waypost"
DETAILS = "grpc-status-details-bin"


class WaypostError(Exception):
    """A call or a row of an answer that failed; the subclass says why.

    `reason` is the stable word ("NOT_FOUND"), `field` the parameter at fault, `retry_after` the seconds after which
    trying again makes sense, `request_id` what the operator finds the call by, `facts` what the reason brings besides
    (a revert: "selector", "data"), `node` what the chain's node said itself. Each is None, or empty, where not known.
    """

    reason = ""
    is_unavailable = False

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        facts: Mapping[str, Any] | None = None,
        node: NodeError | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.retry_after = retry_after
        self.request_id = request_id
        self.facts = dict(facts or {})
        self.node = node


class TransportError(WaypostError):
    """What is no answer of the gateway: it was not reached, or something before it refused. `status` is gRPC's."""

    status: grpc.StatusCode | None = None


def class_for(reason: str) -> type[WaypostError]:
    """Return the exception of a reason; of one that this version does not know, a class without a name of its own."""
    from waypost.generated import reasons

    return reasons.BY_REASON.get(reason) or type("WaypostError", (WaypostError,), {"reason": reason})


def error_of(row: Any) -> WaypostError | None:
    """Return why a row of an answer has no value, as an exception to raise or to read; None where it has one."""
    if not row.HasField("error"):
        return None
    words = words_of(Reason.DESCRIPTOR)[1]
    return class_for(words.get(row.error.reason, ""))(row.error.message)


def of_rpc(failure: grpc.RpcError) -> WaypostError:
    """Return the exception for a failed rpc."""
    call: Any = failure
    code, message = call.code(), call.details() or ""
    packed = next((value for key, value in call.trailing_metadata() or () if key == DETAILS), None)
    if isinstance(packed, bytes):
        try:
            return of_status(Status.FromString(packed), code)
        except DecodeError:
            pass  # its code and text are still known
    return of_status(Status(message=message), code)


def of_status(status: Status, code: grpc.StatusCode | None = None) -> WaypostError:
    """Return the exception for a status, which without the gateway's own details is none of its answers."""
    info, facts = None, {}
    given: dict[str, Any] = {}
    for detail in status.details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            found = ErrorInfo.FromString(detail.value)
            if found.domain == DOMAIN:
                info, facts = found.reason, dict(found.metadata)
        elif detail.Is(BadRequest.DESCRIPTOR):
            given["field"] = next((one.field for one in BadRequest.FromString(detail.value).field_violations), None)
        elif detail.Is(RetryInfo.DESCRIPTOR):
            given["retry_after"] = RetryInfo.FromString(detail.value).retry_delay.ToTimedelta().total_seconds()
        elif detail.Is(RequestInfo.DESCRIPTOR):
            given["request_id"] = RequestInfo.FromString(detail.value).request_id
        elif detail.Is(NodeError.DESCRIPTOR):
            given["node"] = NodeError.FromString(detail.value)
    if info is not None:
        return class_for(info)(status.message, facts=facts, **given)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return class_for("DEADLINE_EXCEEDED")(status.message or "the deadline passed before an answer came")
    error = TransportError(status.message or "the call failed without an answer of the gateway", **given)
    error.status = code
    return error
