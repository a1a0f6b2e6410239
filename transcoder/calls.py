"""One gRPC call: every way in which it can fail becomes a `Failure`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from grpc import StatusCode
from grpc.aio import AioRpcError, UsageError

from transcoder.errors import STATUSES, Failure, from_status
from transcoder.exchange import CREDENTIAL, TOLD

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from transcoder.exchange import Exchange


def begin(method: Any, request: Message, timeout: float, exchange: Exchange) -> Any:
    """Send the request and return the call on its way. Raises Failure (503) when the channel is closed."""
    try:
        return method(request, timeout=timeout, metadata=exchange.metadata)
    except UsageError as error:
        raise given_up() from error


async def finish(call: Any) -> Any:
    """Return the call's response message. Raises Failure; CancelledError only when the caller itself is cancelled."""
    try:
        return await call
    except AioRpcError as error:
        raise _failure(error) from error
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise given_up() from None


def _failure(error: AioRpcError) -> Failure:
    failure = from_status(error)
    # A credential that is refused is the operator's mistake: no caller's key is at fault.
    return mismatched() if failure.field == CREDENTIAL else failure


async def headers_of(call: Any) -> dict[str, str]:
    """Return the HTTP headers that the server's trailing metadata stands for: the cache's part, the caller's quota."""
    told = await call.trailing_metadata()
    # Not "told or ()": metadata counts its entries one by one.
    return {} if told is None else {TOLD[name]: value for name, value in told if name in TOLD}


def mismatched() -> Failure:
    """Return the failure of a call whose credential the server does not accept."""
    message = "the gateway is not set up: its transcoder's credential is not its server's; tell the operator"
    return Failure(503, "UPSTREAM_UNAVAILABLE", message)


def given_up() -> Failure:
    """Return the failure of a call that ended although its caller still waits, as when the gateway stops."""
    return Failure(*STATUSES[StatusCode.CANCELLED])
