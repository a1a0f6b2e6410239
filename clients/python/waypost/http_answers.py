"""What the HTTP face answers, as JSON and as exceptions; and the key kept out of logs. Needs `waypost[jsonrpc]`."""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import TYPE_CHECKING, Any

try:
    import httpx2 as httpx2
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("JSON-RPC needs httpx2: pip install 'waypost[jsonrpc]'") from missing

import grpc
from google.protobuf import descriptor_pool
from waypost.errors import TransportError, WaypostError, class_for
from waypost.json_messages import parse, text_of
from waypost.methods import native_of
from waypost.v1.raw_pb2 import NodeError

if TYPE_CHECKING:
    from google.protobuf.descriptor import MethodDescriptor

UNAVAILABLE = 503
# What proxies answer while no gateway is behind them.
NOT_REACHED = {502, 503, 504}
# Members of `error.data` that are no facts of the reason.
NO_FACTS = {"reason", "requestId", "field", "retryAfterMs", "jsonrpcCode", "node"}
_KEY = re.compile(r"/[^/]+/v1(/.*)?")


class KeylessUrls(logging.Filter):
    """Takes the key out of the URLs that the HTTP library logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; return that it is to be logged."""
        if isinstance(record.args, tuple):
            record.args = tuple(map(_keyless, record.args))
        return True


def _keyless(value: object) -> object:
    if isinstance(value, httpx2.URL) and (found := _KEY.fullmatch(value.path)):
        return str(value.copy_with(raw_path=f"/.../v1{found[1] or ''}".encode()))
    return value


logging.getLogger("httpx2").addFilter(KeylessUrls())


@cache
def described(path: str) -> MethodDescriptor:
    """Return the descriptor of the rpc `/package.Service/Method`."""
    pool: Any = descriptor_pool.Default()  # type: ignore[no-untyped-call]
    service, name = path.strip("/").split("/")
    method: MethodDescriptor = pool.FindServiceByName(service).methods_by_name[name]
    return method


def parsed_of(status: int, content: bytes) -> Any:
    """Return the JSON that a response holds; raises TransportError for what the gateway did not write."""
    try:
        parsed = parse(content)
    except ValueError:
        parsed = None
    if not isinstance(parsed, list | dict) or (isinstance(parsed, dict) and not parsed.keys() & {"result", "error"}):
        error = TransportError(f"HTTP {status} without an answer of the gateway")
        error.status = grpc.StatusCode.UNAVAILABLE if status in NOT_REACHED else None
        raise error
    return parsed


def failure_of(error: dict[str, Any]) -> WaypostError:
    """Return the exception for a JSON-RPC error object."""
    data = error.get("data") or {}
    pause = data.get("retryAfterMs")
    failure = class_for(data.get("reason", ""))(
        error["message"],
        field=data.get("field"),
        retry_after=None if pause is None else pause / 1000,
        request_id=data.get("requestId"),
        facts={name: value for name, value in data.items() if name not in NO_FACTS},
        node=_node(data["node"]) if "node" in data else None,
    )
    failure.is_unavailable = error["code"] == UNAVAILABLE and failure.reason != "DEADLINE_EXCEEDED"
    return failure


def _node(said: dict[str, Any]) -> NodeError:
    data = native_of(text_of(said["data"])) if "data" in said else None
    return NodeError(code=said.get("code"), message=said.get("message"), data=data)


def unreached(failure: Exception) -> WaypostError:
    """Return the exception for a request that no answer came to."""
    if isinstance(failure, httpx2.TimeoutException | TimeoutError):
        return class_for("DEADLINE_EXCEEDED")("the deadline passed before an answer came")
    error = TransportError(f"the gateway was not reached: {type(failure).__name__}")
    error.status = grpc.StatusCode.UNAVAILABLE
    error.is_unavailable = True
    return error
