"""Calls to the server: operations, admission of callers (decisions 1.1 to 1.3, docs/decisions/0012), readiness.

Whether a key exists is known before anything of a body is read: `Admit` without items returns it, and is not called
again for some seconds. The charge follows the body, by its items: `Admit` makes it for batches, for the demo, and for
what leads to no call; a single request that leads to one is charged by that call itself, which carries the key.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from grpc import StatusCode
from grpc.aio import AioRpcError, UsageError
from waypost_internal.v1 import access_pb2

from transcoder.errors import STATUSES, Failure, from_status
from transcoder.exchange import CREDENTIAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.message import Message

    from transcoder.exchange import Exchange


def begin(method: Any, request: Message, timeout: float, exchange: Exchange) -> Any:
    """Send the request and return the call in progress. Raises Failure (503) when the channel is closed."""
    try:
        return method(request, timeout=timeout, metadata=exchange.metadata)
    except UsageError as error:
        raise given_up() from error


async def finish(call: Any) -> Any:
    """Return the call's response message. Raises Failure; CancelledError only when the caller itself is cancelled."""
    try:
        return await call
    except (AioRpcError, asyncio.CancelledError) as error:
        raise failure_of(error) from error


def failure_of(error: AioRpcError | asyncio.CancelledError) -> Failure:
    """Return the failure that ended a call. Raises the CancelledError of a caller that is cancelled itself."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            try:
                raise error
            finally:
                # Its traceback holds this frame.
                del error
        return given_up()
    failure = from_status(error)
    # A credential that is refused is the operator's mistake: no caller's key is at fault.
    return mismatched() if failure.field == CREDENTIAL else failure


def mismatched() -> Failure:
    """Return the failure of a call whose credential the server does not accept."""
    message = "the gateway is not set up: its transcoder's credential is not its server's; report it to the operator"
    return Failure(503, "UPSTREAM_UNAVAILABLE", message)


def given_up() -> Failure:
    """Return the failure of a call that ended although its caller still waits, as when the gateway stops."""
    return Failure(*STATUSES[StatusCode.CANCELLED])


SERVICE = "/waypost_internal.v1.AccessService/"
TIMEOUT = 5.0

# What a key may look like; anything else must not become gRPC metadata.
KEY = re.compile(r"[A-Za-z0-9_-]{1,128}")

_KNOWN_SECONDS = 5.0
_MOST_KNOWN = 10_000


class Admission:
    """Queries the server about callers, and about itself."""

    def __init__(self, channel: Any) -> None:
        self._admit = channel.unary_unary(
            SERVICE + "Admit",
            request_serializer=access_pb2.AdmitRequest.SerializeToString,
            response_deserializer=access_pb2.AdmitResponse.FromString,
        )
        self._report = channel.unary_unary(
            SERVICE + "Report",
            request_serializer=access_pb2.ReportRequest.SerializeToString,
            response_deserializer=access_pb2.ReportResponse.FromString,
        )
        self._issue_ticket = channel.unary_unary(
            SERVICE + "IssueTicket",
            request_serializer=access_pb2.IssueTicketRequest.SerializeToString,
            response_deserializer=access_pb2.IssueTicketResponse.FromString,
        )
        self.known: dict[str, float] = {}
        """Until when (`monotonic`) it is believed of a key that it exists: a body sent with it may be read.

        Whether it still exists is asked again by whatever charges the request. A flood of wrong ones leaves nothing
        here.
        """
        self._holders: dict[str, str] = {}
        self._readiness = channel.unary_unary(
            SERVICE + "GetReadiness",
            request_serializer=access_pb2.GetReadinessRequest.SerializeToString,
            response_deserializer=access_pb2.GetReadinessResponse.FromString,
        )

    async def find(self, key: str, exchange: Exchange) -> None:
        """Check that the key exists. Raises Failure: 401 where it does not, 503 when the server cannot be reached."""
        answer = await self.admit(key, 0, exchange)
        known, holders = self.known, self._holders
        known.pop(key, None)
        known[key] = monotonic() + _KNOWN_SECONDS
        holders.pop(key, None)
        holders[key] = answer.holder or key
        for kept in (known, holders):
            if len(kept) > _MOST_KNOWN:
                del kept[next(iter(kept))]

    def holder_of(self, key: str) -> str:
        """Return who what is brought with a key counts for: all texts and tickets of a key are one holder."""
        return self._holders.get(key, key)

    def forget(self, key: str) -> None:
        """Check the key again before the next body: it was refused."""
        self.known.pop(key, None)

    async def admit(self, key: str | None, items: int, exchange: Exchange) -> access_pb2.AdmitResponse:
        """Charge the items to a key, or to the demo (None), and return how many are admitted.

        Without items nothing is charged; the answer states what is left.

        Raises Failure: 401 for the key, 503 when the server cannot be reached.
        """
        request = access_pb2.AdmitRequest(
            api_key=key or "", demo=key is None, client_address=exchange.client, items=items
        )
        try:
            answer: access_pb2.AdmitResponse = await finish(begin(self._admit, request, TIMEOUT, exchange))
        except Failure as failure:
            if key is not None and failure.code == 401:
                self.forget(key)
            raise
        return answer

    async def issue_ticket(self, key: str, exchange: Exchange) -> access_pb2.IssueTicketResponse:
        """Return what stands in the key's place for a while; the key is charged one unit.

        Raises Failure: 401 for the key, 400 where it needs none, 429, 503.
        """
        request = access_pb2.IssueTicketRequest(api_key=key)
        answer: access_pb2.IssueTicketResponse = await finish(begin(self._issue_ticket, request, TIMEOUT, exchange))
        return answer

    async def report(self, principal: str, reasons: Iterable[str], exchange: Exchange) -> None:
        """Have items counted that were admitted and led to no call, by the reasons of their failures."""
        items: dict[str, int] = {}
        for reason in reasons:
            items[reason] = items.get(reason, 0) + 1
        if not items:
            return
        request = access_pb2.ReportRequest(principal=principal, items=items)
        # That it cannot be counted is no failure of the caller's.
        with suppress(Failure):
            await finish(begin(self._report, request, TIMEOUT, exchange))

    async def readiness(self, exchange: Exchange) -> access_pb2.GetReadinessResponse:
        """Return whether the server takes requests, with the state of its chains. Raises Failure (503)."""
        request = access_pb2.GetReadinessRequest()
        answer: access_pb2.GetReadinessResponse = await finish(begin(self._readiness, request, TIMEOUT, exchange))
        return answer


def check_key(key: str) -> None:
    """Refuse a path segment that cannot be a key. Raises Failure (401)."""
    if not key:
        raise missing_key()
    if KEY.fullmatch(key) is None:
        raise Failure(401, "KEY_INVALID", "the API key in the path is malformed")


def missing_key() -> Failure:
    """Return the failure for a request without a key."""
    return Failure(401, "KEY_MISSING", "no API key; post to /<API_KEY>/v1, or to /demo/v1 to try it out")


def over_quota(admitted: access_pb2.AdmitResponse) -> Failure:
    """Return the failure of one item that the quota did not admit."""
    rate = f"{admitted.limit} per {admitted.window_seconds} s" if admitted.limit else "the allowed rate"
    message = f"too many requests: policy {admitted.policy} allows {rate}"
    return Failure(429, "RATE_LIMITED", message, retry_after_ms=admitted.retry_after_ms or None)


def quota_headers(admitted: access_pb2.AdmitResponse) -> dict[str, str]:
    """Return `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10); none when unlimited."""
    if not admitted.limit:
        return {}
    policy = '"' + admitted.policy.replace("\\", "").replace('"', "") + '"'
    left = f"{policy};r={admitted.remaining};t={admitted.reset_seconds}"
    return {"RateLimit": left, "RateLimit-Policy": f"{policy};q={admitted.limit};w={admitted.window_seconds}"}
