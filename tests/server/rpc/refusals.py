"""Asking both faces what they refuse, in one shape."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2, status_pb2

from runtime.operations import load_operations
from tests.server.rpc.every import FAMILIES, PUBLISHED, chain_members, message_of, page_names, params_of, right

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from runtime.operations import Operation
    from tests.e2e.gateway import RunningGateway

OPERATIONS = {operation.name: operation for operation in load_operations()}
HANGS = 20.0
"""Seconds after which an answer counts as never coming."""

Refusal = tuple[int, str, str | None, str]
"""Code, reason, field and message of a refusal."""


async def ask_json(faces: RunningGateway, operation: Operation, params: Any) -> Refusal | None:
    """Return why JSON-RPC refuses, None where it answers."""
    async with asyncio.timeout(HANGS):
        answer = await faces.ask(PUBLISHED.get(operation.name, operation.name), params)
    if "error" not in answer:
        return None
    error = answer["error"]
    return error["code"], error["data"]["reason"], error["data"].get("field"), error["message"]


async def ask_grpc(faces: RunningGateway, operation: Operation, members: dict[str, Any]) -> Refusal | None:
    """Return why gRPC refuses, its status as the code that it stands for; None where it answers.

    The parameters of pages, which gRPC must call by its own names, are those of JSON here.
    """
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
        message = error.details() or ""
        names = page_names(operation)
        assert field not in names.values(), f"gRPC names {field}"
        if field in names:
            message = names[field] + message.removeprefix(field) if message.startswith(field) else message
            field = names[field]
        return STATUS_CODES[error.code()], info.reason, field, message
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


async def refused(faces: RunningGateway, operation: Operation, members: dict[str, Any]) -> Refusal:
    """Return why both faces refuse, which they must, and for the same reason."""
    on_grpc = await ask_grpc(faces, operation, members)
    assert on_grpc is not None, f"{operation.name} answers {members}"
    if operation.name not in PUBLISHED:
        assert await ask_json(faces, operation, params_of(operation, members)) == on_grpc
    return on_grpc


@dataclass
class BothFaces:
    """Operations asked by their names over both faces of a gateway."""

    faces: RunningGateway

    async def both(self, name: str, **params: Any) -> tuple[Any, Message]:
        """Return what both faces answer."""
        over_json = await self.faces.ask(name, params)
        assert "result" in over_json, over_json
        operation = OPERATIONS[name]
        over_grpc = await self.faces.ask_grpc(operation, ParseDict(params, operation.request()))
        return over_json["result"]["data"], over_grpc

    async def refused(self, name: str, **params: Any) -> Refusal:
        """Return code, reason, field and message by which both faces refuse."""
        over_json = await ask_json(self.faces, OPERATIONS[name], params)
        assert over_json is not None
        over_grpc = await ask_grpc(self.faces, OPERATIONS[name], params)
        assert over_grpc is not None
        assert over_grpc[:3] == over_json[:3]
        return over_json


def members_for(operation: Operation, slug: str) -> dict[str, Any]:
    """Return the operation's members written right for the chain's family, with that chain."""
    return right(operation, FAMILIES[slug]) | chain_members(operation, slug)
