"""Asking both faces what they refuse, in one shape."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from tests.contract.operations.every import FAMILIES, PUBLISHED, chain_members, message_of, params_of, right

if TYPE_CHECKING:
    from runtime.operations import Operation
    from tests.e2e.gateway import RunningGateway

HANGS = 20.0
"""Seconds after which an answer counts as never coming."""

Told = tuple[int, str, str | None, str]
"""Code, reason, field and message of a refusal."""


async def ask_json(faces: RunningGateway, operation: Operation, params: Any) -> Told | None:
    """Return why JSON-RPC refuses, None where it answers."""
    async with asyncio.timeout(HANGS):
        answer = await faces.ask(PUBLISHED.get(operation.name, operation.name), params)
    if "error" not in answer:
        return None
    error = answer["error"]
    return error["code"], error["data"]["reason"], error["data"].get("field"), error["message"]


async def ask_grpc(faces: RunningGateway, operation: Operation, members: dict[str, Any]) -> Told | None:
    """Return why gRPC refuses, its status as the code that it stands for; None where it answers."""
    try:
        await faces.ask_grpc(operation, message_of(operation, members))
    except grpc.aio.AioRpcError as error:
        details = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
        assert isinstance(details, bytes)
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        for detail in status_pb2.Status.FromString(details).details:
            detail.Unpack(info)
            detail.Unpack(bad)
        field = bad.field_violations[0].field if bad.field_violations else None
        return STATUS_CODES[error.code()], info.reason, field, error.details() or ""
    return None


STATUS_CODES = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.UNIMPLEMENTED: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 503,
}


async def refused(faces: RunningGateway, operation: Operation, members: dict[str, Any]) -> Told:
    """Return why both faces refuse, which they must, and for the same reason."""
    on_grpc = await ask_grpc(faces, operation, members)
    assert on_grpc is not None, f"{operation.name} answers {members}"
    if operation.name not in PUBLISHED:
        assert await ask_json(faces, operation, params_of(operation, members)) == on_grpc
    return on_grpc


def members_for(operation: Operation, slug: str) -> dict[str, Any]:
    """Return the operation's members written right for the chain's family, with that chain."""
    return right(operation, FAMILIES[slug]) | chain_members(operation, slug)
