"""Whether a caller may ask (decisions 1.1 to 1.3).

`Admit` answers that for batches, for the demo, and for requests that lead to no call. A single request that leads to
one is admitted by that call itself, which carries the key: one call instead of two (docs/decisions/0012).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from waypost.internal.v1 import access_pb2

from transcoder.calls import begin, finish
from transcoder.errors import Failure

if TYPE_CHECKING:
    from transcoder.exchange import Exchange

SERVICE = "/waypost.internal.v1.AccessService/"
TIMEOUT = 5.0

# What a key may look like; anything else must not become gRPC metadata.
KEY = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Admission:
    """Asks the server about callers, and about itself."""

    def __init__(self, channel: Any) -> None:
        self._admit = channel.unary_unary(
            SERVICE + "Admit",
            request_serializer=access_pb2.AdmitRequest.SerializeToString,
            response_deserializer=access_pb2.AdmitResponse.FromString,
        )
        self._readiness = channel.unary_unary(
            SERVICE + "GetReadiness",
            request_serializer=access_pb2.GetReadinessRequest.SerializeToString,
            response_deserializer=access_pb2.GetReadinessResponse.FromString,
        )

    async def admit(self, key: str | None, items: int, exchange: Exchange) -> access_pb2.AdmitResponse:
        """Charge the items to a key, or to the demo (None), and return how many are admitted.

        Raises Failure: 401 for the key, 503 when the server cannot be asked.
        """
        request = access_pb2.AdmitRequest(
            api_key=key or "", demo=key is None, client_address=exchange.client, items=items
        )
        answer: access_pb2.AdmitResponse = await finish(begin(self._admit, request, TIMEOUT, exchange))
        return answer

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
