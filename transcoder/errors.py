"""Failures as JSON-RPC error objects, and the one mapping from gRPC statuses to them (design section 5).

Codes are the contract's HTTP-style numbers; `-32xxx` appears only as the informal `error.data.jsonrpcCode`
(decisions 1.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode
from waypost.v1.raw_pb2 import NodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grpc.aio import AioRpcError


DOMAIN = "waypost"
DETAILS = "grpc-status-details-bin"

# gRPC status -> (code, reason when the status names none, message when the status is not the server's own).
STATUSES: dict[StatusCode, tuple[int, str, str]] = {
    StatusCode.INVALID_ARGUMENT: (400, "INVALID_ARGUMENT", "a parameter is missing or malformed"),
    StatusCode.OUT_OF_RANGE: (400, "INVALID_ARGUMENT", "a parameter is out of range"),
    StatusCode.FAILED_PRECONDITION: (400, "NOT_SUPPORTED", "the chain or its node cannot do what was asked"),
    StatusCode.UNAUTHENTICATED: (401, "KEY_INVALID", "the API key is not accepted"),
    StatusCode.PERMISSION_DENIED: (401, "KEY_INVALID", "the API key is not accepted"),
    StatusCode.NOT_FOUND: (404, "NOT_FOUND", "there is no such resource"),
    StatusCode.UNIMPLEMENTED: (404, "NOT_AVAILABLE", "this build does not answer the operation"),
    StatusCode.UNAVAILABLE: (503, "UPSTREAM_UNAVAILABLE", "the gateway cannot answer right now; try again shortly"),
    StatusCode.DEADLINE_EXCEEDED: (503, "DEADLINE_EXCEEDED", "no answer came in time; try again or ask for less"),
    # It was not cancelled by the caller: a caller that goes away is not answered at all.
    StatusCode.CANCELLED: (503, "UPSTREAM_UNAVAILABLE", "the gateway gave the call up; try again shortly"),
}
OTHERWISE = (500, "INTERNAL", "the gateway failed; report it with the request id")

# RESOURCE_EXHAUSTED is the caller's quota only with our ErrorInfo (decisions 1.11). Without it gRPC itself refused a
# message over its limit, or ran out of something of its own.
QUOTA = (429, "RATE_LIMITED", "too many requests")
TOO_LARGE = (400, "RESPONSE_TOO_LARGE", "the answer is larger than the gateway sends; ask for less")
REQUEST_TOO_LARGE = (400, "BODY_TOO_LARGE", "one request may have 4 MiB; ask for less at once")
EXHAUSTED = STATUSES[StatusCode.UNAVAILABLE]

# The number that JSON-RPC 2.0 itself would use, for clients that know only those.
JSONRPC_CODES = {
    "PARSE_ERROR": -32700,
    "INVALID_REQUEST": -32600,
    "BATCH_TOO_LARGE": -32600,
    "BODY_TOO_LARGE": -32600,
    "METHOD_UNKNOWN": -32601,
    "NOT_AVAILABLE": -32601,
    "INVALID_ARGUMENT": -32602,
    "UNKNOWN_PARAMETER": -32602,
    "CHAIN_UNKNOWN": -32602,
    "CHAIN_UNSUPPORTED": -32602,
    "RANGE_TOO_LARGE": -32602,
    "CURSOR_TOO_OLD": -32602,
    "INTERNAL": -32603,
}


class Failure(Exception):
    """Why one item has no result: the contract's code, a message for the caller, and the stable reason.

    `field` names the parameter at fault (`params[2].hash` in multi-item operations); `retry_after_ms` states when
    trying again makes sense; `facts` are what else the reason brings, by name (a revert: `selector` and `data`);
    `node` is what a node answered itself, where it is handed on.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        field: str | None = None,
        retry_after_ms: int | None = None,
        facts: Mapping[str, str] | None = None,
        node: NodeError | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.field = field
        self.retry_after_ms = retry_after_ms
        self.facts = facts or {}
        self.node = node

    def body(self, identity: bytes, request_id: str) -> bytes:
        """Return the whole response object; `identity` is the request's id as it stood in the body."""
        return b"".join((b'{"jsonrpc":"2.0","error":', self.error(request_id), b',"id":', identity, b"}"))

    def error(self, request_id: str) -> bytes:
        """Return the error object alone."""
        data = self.data(request_id, JSONRPC_CODES.get(self.reason))
        return orjson.dumps({"code": self.code, "message": printable(self.message), "data": data})

    def data(self, request_id: str, number: int | None = None) -> dict[str, Any]:
        """Return the error's `data`, for orjson; `number` is what JSON-RPC 2.0 would use where the code is not that."""
        data: dict[str, Any] = {"reason": self.reason, "requestId": request_id}
        if self.field is not None:
            data["field"] = self.field
        if self.retry_after_ms is not None:
            data["retryAfterMs"] = self.retry_after_ms
        if number is not None:
            data["jsonrpcCode"] = number
        for name, fact in self.facts.items():
            data.setdefault(name, fact)
        if self.node is not None:
            data["node"] = printed_node(self.node)
        return data


def internal() -> Failure:
    """Return the failure for a defect of the gateway; it reveals nothing about the defect."""
    return Failure(*OTHERWISE)


def from_status(error: AioRpcError) -> Failure:
    """Return the failure that a gRPC status stands for.

    The server's own statuses carry `ErrorInfo` with domain `waypost`: their message goes to the caller word for word.
    The `metadata` of `ErrorInfo` become the failure's facts, a `NodeError` its `node`. Any other status was made by
    gRPC, and its text (which may name hosts) is replaced.
    """
    info, field, retry_after_ms, node = _details(error.trailing_metadata() or ())
    code, reason, message = _row(error.code(), error.details() or "", own=info is not None)
    if info is None:
        return Failure(code, reason, message)
    return Failure(
        code,
        info.reason,
        error.details() or message,
        field=field,
        retry_after_ms=retry_after_ms,
        facts=dict(info.metadata),
        node=node,
    )


def printable(text: str) -> str:
    """Return text that can be encoded: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _row(status: StatusCode, details: str, *, own: bool) -> tuple[int, str, str]:
    if status is StatusCode.RESOURCE_EXHAUSTED:
        if own:
            return QUOTA
        if "larger than max" not in details:
            return EXHAUSTED
        # What the server did not receive was the request; all else is the answer, too long to be sent or received.
        return REQUEST_TOO_LARGE if details.startswith("SERVER: Received") else TOO_LARGE
    return STATUSES.get(status, OTHERWISE)


def printed_node(node: NodeError) -> dict[str, Any]:
    """Return what a node answered as JSON callers read it; for orjson, which prints `data` byte for byte."""
    printed: dict[str, Any] = {"code": node.code if node.HasField("code") else None, "message": printable(node.message)}
    return printed | {"data": orjson.Fragment(node.data.json)} if node.HasField("data") else printed


def _details(
    metadata: Iterable[tuple[str, str | bytes]],
) -> tuple[ErrorInfo | None, str | None, int | None, NodeError | None]:
    packed = next((value for key, value in metadata if key == DETAILS), None)
    info: ErrorInfo | None = None
    field: str | None = None
    retry_after_ms: int | None = None
    node: NodeError | None = None
    if not isinstance(packed, bytes):
        return info, field, retry_after_ms, node
    try:
        for detail in Status.FromString(packed).details:
            if detail.Is(ErrorInfo.DESCRIPTOR):
                unpacked = ErrorInfo.FromString(detail.value)
                info = unpacked if unpacked.domain == DOMAIN else info
            elif detail.Is(BadRequest.DESCRIPTOR):
                violations = BadRequest.FromString(detail.value).field_violations
                field = violations[0].field if violations else field
            elif detail.Is(RetryInfo.DESCRIPTOR):
                delay = RetryInfo.FromString(detail.value).retry_delay
                retry_after_ms = delay.seconds * 1000 + -(-delay.nanos // 1_000_000)
            elif detail.Is(NodeError.DESCRIPTOR):
                node = NodeError.FromString(detail.value)
    except DecodeError:
        pass  # a status without details that we can read still has its code
    return info, field, retry_after_ms, node


LONGEST_NAME = 80


def clipped(text: str) -> str:
    """Return the text, cut where it is too long to repeat in a message."""
    return text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "..."


def seconds(milliseconds: int) -> str:
    """Return a Retry-After value: whole seconds, rounded up."""
    return str(-(-milliseconds // 1000))
