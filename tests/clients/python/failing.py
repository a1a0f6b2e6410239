"""A gateway for the client's tests: it fails as the gateway does, then answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo, RequestInfo
from google.rpc.status_pb2 import Status
from waypost.v1 import account_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message

BALANCE = account_pb2.GetBalanceResponse(balance="1.5")


def status(code: grpc.StatusCode, reason: str, *details: Message) -> bytes:
    """Return a failure's details as the gateway sends them."""
    packed = []
    for detail in (ErrorInfo(reason=reason, domain="waypost"), RequestInfo(request_id="request-1"), *details):
        packed.append(AnyMessage())
        packed[-1].Pack(detail)
    return Status(code=code.value[0], message="said so", details=packed).SerializeToString()


class Failing(grpc.GenericRpcHandler):
    """Fails the first calls with UNAVAILABLE, then answers; counts all."""

    def __init__(self, failures: int, *trailing: tuple[str, Any]) -> None:
        self.failures, self.trailing, self.calls = failures, trailing, 0

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        self.calls += 1
        if self.calls <= self.failures:
            packed = status(grpc.StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")
            context.set_trailing_metadata((("grpc-status-details-bin", packed), *self.trailing))
            context.abort(grpc.StatusCode.UNAVAILABLE, "said so")
        return BALANCE.SerializeToString()


@contextmanager
def served(handler: grpc.GenericRpcHandler) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
