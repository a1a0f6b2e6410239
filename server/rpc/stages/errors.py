"""Stage 3: answers every failure as a gRPC status with rich details. The only place that aborts a call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

from runtime.logs import get_logger
from server.errors import GatewayError, Internal, UpstreamUnavailable
from server.rpc.stages.state import REQUEST

if TYPE_CHECKING:
    from typing import Any

    from google.protobuf.message import Message

    from server.rpc.stages.state import Context, Handler, Method, RequestState

DOMAIN = "waypost"
CACHE_STATUS = "x-waypost-cache"
STATUS_DETAILS = "grpc-status-details-bin"
# Message and details travel as HTTP/2 headers, of which clients read 8 KiB by default; percent-encoding triples.
MAX_MESSAGE_BYTES = 1500

_log = get_logger("waypost.rpc")


class Errors:
    """Turns exceptions into statuses.

    A GatewayError becomes its own status; a CancelledError that the caller did not cause becomes UNAVAILABLE (a socket
    client without deadline would wait for ever); anything else becomes INTERNAL with a text that tells nothing of the
    exception, which goes to the log under the request id.
    """

    def bind(self, method: Method, inner: Handler) -> Handler:
        """Return `inner` with its failures answered."""
        name = method.name

        async def guard(request: Any, context: Context) -> Any:
            state = REQUEST.get()
            try:
                response = await inner(request, context)
            except GatewayError as error:
                failure = error
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                failure = UpstreamUnavailable(
                    f"{name} was interrupted inside the gateway; try again", retry_after_ms=1000
                )
            except grpc.aio.AbortError:
                raise
            except Exception:
                _log.exception("unexpected failure", operation=name, request_id=state.request_id)
                failure = Internal(f"internal error; quote the request id {state.request_id} to the operator")
            else:
                _tell_cache(state)
                context.set_trailing_metadata(tuple(state.trailing))
                return response
            state.error = failure
            _tell_cache(state)
            status = describe(failure, state)
            state.trailing.append((STATUS_DETAILS, status.SerializeToString()))
            return await context.abort(failure.status, status.message, tuple(state.trailing))

        return guard


def _tell_cache(state: RequestState) -> None:
    """Let the caller see where the answer came from, if the cache had any part in it."""
    status = state.cache.status
    if status is not None:
        state.trailing.append((CACHE_STATUS, status))


def describe(failure: GatewayError, state: RequestState) -> status_pb2.Status:
    """Return the failure as `google.rpc.Status`: ErrorInfo, RequestInfo, and where they apply BadRequest, RetryInfo."""
    details: list[Message] = [
        error_details_pb2.ErrorInfo(reason=failure.reason, domain=DOMAIN, metadata=failure.metadata)
    ]
    message = clip(failure.message)
    if failure.field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=failure.field, description=message)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if failure.retry_after_ms is not None:
        delay = Duration()
        delay.FromMilliseconds(failure.retry_after_ms)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    details.append(error_details_pb2.RequestInfo(request_id=state.request_id))
    status = status_pb2.Status(code=failure.status.value[0], message=message)
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def clip(message: str) -> str:
    """Return the message cut to what fits into headers, whole characters only."""
    raw = message.encode("utf-8", "replace")
    if len(raw) <= MAX_MESSAGE_BYTES:
        return raw.decode()
    return raw[: MAX_MESSAGE_BYTES - 3].decode("utf-8", "ignore") + "…"
