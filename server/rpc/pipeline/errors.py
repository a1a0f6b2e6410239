"""Answers every failure as a gRPC status with rich details. The only place that aborts a call."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from waypost.v1 import raw_pb2

from runtime.logs import get_logger
from server.errors import (
    ArchiveRequired,
    CursorTooOld,
    GatewayError,
    Internal,
    NotFound,
    Pending,
    RangeTooLarge,
    Reverted,
    TooMuchWork,
    UpstreamUnavailable,
    VersionRefused,
)
from server.rpc.pipeline.formats import message_names, subject_path
from server.upstream.node_words import shorten_data

if TYPE_CHECKING:
    from typing import NoReturn

    from google.protobuf.message import Message

    from server.errors import NodeWords
    from server.rpc.pipeline.call import Context, RequestState


DOMAIN = "waypost"
STATUS_DETAILS = "grpc-status-details-bin"
# The delay of RetryInfo, for the retry policies of gRPC's own clients (gRFC A6), which do not read that.
RETRY_PUSHBACK = "grpc-retry-pushback-ms"
_NO_RETRY = "-1"
# Retries are for what passes soon; a longer delay is the caller's to decide about, by RetryInfo.
_LONGEST_PUSHBACK_MS = 10_000
# The same again would fail again, at the same expense.
_NOT_AGAIN = (TooMuchWork,)
# Message and details travel as HTTP/2 headers, of which clients read 8 KiB by default; percent-encoding triples.
MAX_MESSAGE_BYTES = 1500
# The details travel in base64: this and the message stay within the 8 KiB together.
MAX_STATUS_BYTES = 4400
# So many bytes of what a call reverted with travel in the details.
_MAX_REVERT_BYTES = 1024
_SELECTOR_BYTES = 4
# The name of a detail's type, and the lengths around it.
_WRAPPING_BYTES = 64
_URL = "type.googleapis.com/"
# Metadata of calls that are made within this process for a caller over gRPC.
FACE = "x-waypost-face"
# The failures of which `facts_of` has more to state than their reason.
_WITH_FACTS = (Reverted, ArchiveRequired, CursorTooOld, NotFound, RangeTooLarge, VersionRefused)
# Where the request itself is at fault, a stream does not go on with it.
_FINAL = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE})
# Message and cursor have to fit into the headers together.
_MAX_MESSAGE_BESIDE_CURSOR = 500

_log = get_logger("waypost.rpc")


async def answer_failure(name: str, state: RequestState, context: Context, failure: BaseException) -> NoReturn:
    """End the call with the status of the failure; always raises.

    A GatewayError becomes its own status; a CancelledError that the caller did not cause becomes UNAVAILABLE (a socket
    client without deadline would wait for ever); anything else becomes INTERNAL with a text that reveals nothing of the
    exception, which goes to the log under the request id. A call that has ended already, or whose caller left, is left
    as it is.
    """
    if isinstance(failure, GatewayError):
        error = failure
    elif isinstance(failure, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            try:
                raise failure
            finally:
                # Its traceback holds this frame.
                del failure
        error = UpstreamUnavailable(f"{name} was interrupted inside the gateway; try again", retry_after_ms=1000)
    elif isinstance(failure, grpc.aio.AbortError) or not isinstance(failure, Exception):
        try:
            raise failure
        finally:
            del failure
    else:
        _log.error("unexpected failure", operation=name, request_id=state.request_id, exc_info=failure)
        error = Internal(f"internal error; quote the request id {state.request_id} to the operator")
    state.error = error
    trailing = (*state.trailing_metadata(), (STATUS_DETAILS, _serialise(error, state)))
    delay = _pushback(error, context)
    if delay is not None:
        trailing = (*trailing, (RETRY_PUSHBACK, delay))
    most = _MAX_MESSAGE_BESIDE_CURSOR if _cursor_of(error, state) else MAX_MESSAGE_BYTES
    await context.abort(error.status, clip(_worded(error, state)[0], most), trailing)
    raise AssertionError("abort always raises")


def _pushback(failure: GatewayError, context: Context) -> str | None:
    """Return when gRPC's own retries are to come, `-1` for not at all, None where they choose for themselves."""
    if isinstance(failure, _NOT_AGAIN):
        return _NO_RETRY
    delay = failure.retry_after_ms
    if delay is None:
        return None
    remaining = context.time_remaining()
    # Who waits beyond the own deadline learns that it passed, and not why.
    most = _LONGEST_PUSHBACK_MS if remaining is None else min(_LONGEST_PUSHBACK_MS, remaining * 1000)
    return str(delay) if delay < most else _NO_RETRY


def describe(failure: GatewayError, state: RequestState) -> status_pb2.Status:
    """Return the failure as `google.rpc.Status`: ErrorInfo, RequestInfo, and where they apply BadRequest, RetryInfo.

    Where the node's own words are handed on, they are a detail of type NodeError.
    What is not there, or not yet, is about the operation's subject where it names no other parameter.
    """
    return status_pb2.Status.FromString(_serialise(failure, state))


def _serialise(failure: GatewayError, state: RequestState) -> bytes:
    """Return `describe` serialised: pieces of a message are joined by joining their bytes."""
    message, field = _worded(failure, state)
    cursor = _cursor_of(failure, state)
    most = _MAX_MESSAGE_BESIDE_CURSOR if cursor else MAX_MESSAGE_BYTES
    constant = (failure.status.value[0], failure.reason, clip(message, most), field, failure.retry_after_ms)
    facts = facts_of(failure) if isinstance(failure, _WITH_FACTS) else None
    if cursor:
        facts = {**(facts or {}), "cursor": cursor}
    status = _of_content(*constant) if facts is None else _compose(*constant, facts)
    status += _detail(error_details_pb2.RequestInfo(request_id=state.request_id))
    if failure.node is not None:
        status += _detail(_node_error(failure.node, MAX_STATUS_BYTES - len(status)))
    return status


def _cursor_of(failure: GatewayError, state: RequestState) -> str:
    """Return where the caller of a stream that ends so goes on; empty where it cannot, and for calls."""
    if failure.cursor is not None:
        return failure.cursor
    return "" if state.stream is None or failure.status in _FINAL else state.stream.cursor


def _worded(failure: GatewayError, state: RequestState) -> tuple[str, str | None]:
    """Return the message of a failure and the parameter that it is about, as the caller's face calls that."""
    message, field = failure.message, failure.field
    if state.operation is None:
        return message, field
    if not field and isinstance(failure, NotFound | Pending):
        field = subject_path(state.operation)
    # The transcoder's calls are trusted, and so are those that a batch over gRPC makes.
    if not field or (state.trusted and FACE not in state.metadata):
        return message, field
    own = message_names(state.operation).get(field, field)
    return own + message[len(field) :] if message.startswith(field) else message, own


@lru_cache(maxsize=256)
def _of_content(code: int, reason: str, message: str, field: str | None, retry_after_ms: int | None) -> bytes:
    return _compose(code, reason, message, field, retry_after_ms, {})


def _compose(
    code: int, reason: str, message: str, field: str | None, retry_after_ms: int | None, facts: dict[str, str]
) -> bytes:
    """Return the serialised status without what is of one call alone."""
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=facts)]
    if field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=field, description=message)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if retry_after_ms is not None:
        delay = Duration()
        delay.FromMilliseconds(retry_after_ms)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    head: bytes = status_pb2.Status(code=code, message=message).SerializeToString()
    return head + b"".join(map(_detail, details))


def _detail(detail: Message) -> bytes:
    packed = AnyMessage(type_url=_URL + detail.DESCRIPTOR.full_name, value=detail.SerializeToString())
    serialised: bytes = status_pb2.Status(details=[packed]).SerializeToString()
    return serialised


def facts_of(failure: GatewayError) -> dict[str, str]:
    """Return what a failure brings besides its reason, as callers read it (docs/decisions/0013): text by name."""
    facts: dict[str, object | None] = {}
    match failure:
        case Reverted(data=bytes(data)):
            facts["data"] = "0x" + data[:_MAX_REVERT_BYTES].hex()
            facts["selector"] = "0x" + data[:_SELECTOR_BYTES].hex() if len(data) >= _SELECTOR_BYTES else None
            facts["dataLength"] = len(data) if len(data) > _MAX_REVERT_BYTES else None
        case ArchiveRequired() | CursorTooOld():
            facts["oldestBlock"] = failure.oldest_block
        case NotFound():
            facts["endpointsAsked"], facts["head"] = failure.endpoints_asked, failure.head
        case RangeTooLarge():
            facts["mostBlocks"] = failure.most_blocks
            if failure.advice is not None:
                facts["rangeHint"], facts["maxBlocks"] = failure.advice
        case VersionRefused():
            facts["maxSupportedTransactionVersion"] = failure.version
    return {name: str(fact) for name, fact in facts.items() if fact is not None}


def _node_error(words: NodeWords, room: int) -> raw_pb2.NodeError:
    """Return what a node answered in about so many bytes: of longer `data` the beginning, as text."""
    error = raw_pb2.NodeError(code=words.code, message=words.message)
    if words.data is not None:
        error.data.json = shorten_data(words.data, room - error.ByteSize() - _WRAPPING_BYTES).decode()
    return error


def clip(message: str, most: int = MAX_MESSAGE_BYTES) -> str:
    """Return the message cut to so many bytes, by default what fits into headers; whole characters only."""
    raw = message.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode()
    return raw[: most - 3].decode("utf-8", "ignore") + "…"
