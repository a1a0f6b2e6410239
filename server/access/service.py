"""AccessService: what the transcoder queries about callers. Served to trusted callers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost_internal.v1 import access_pb2, access_pb2_grpc

from runtime.metrics import count_refusal
from server.access.admission import decode, over_quota
from server.access.keys import TICKET_LASTS, is_key_text
from server.access.quotas import Grant
from server.errors import GatewayError, InvalidArgument, RateLimited

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.access.admission import Admission
    from server.access.usage import Usage

MOST_ITEMS = 100
"""Items of one HTTP request: as many as one to a chain's own JSON-RPC may hold (docs/decisions/0072)."""


class AccessServicer(access_pb2_grpc.AccessServiceServicer):
    """Admission of HTTP requests and readiness. `states` returns the state of every chain without asking a node.

    Requests that lead to no call are counted as `usage` here, those that do where they are answered.
    """

    def __init__(self, admission: Admission, states: Callable[[], Mapping[str, str]], usage: Usage) -> None:
        self._admission = admission
        self._states = states
        self._usage = usage
        self.ready = False

    async def Admit(self, request: access_pb2.AdmitRequest, context: Any) -> access_pb2.AdmitResponse:
        """Check the key and charge its quota for the request's items, in one operation; without items only check.

        Raises KeyMissing, KeyInvalid; InvalidArgument for more than 100 items.
        """
        if request.items > MOST_ITEMS:
            raise InvalidArgument(f"items is {request.items}; write at most {MOST_ITEMS}", field="items")
        if request.demo:
            principal = self._admission.demo_client(request.client_address)
        else:
            try:
                principal = await self._admission.identify(request.api_key)
            except GatewayError as refusal:
                count_refusal("jsonrpc", refusal.reason, max(1, request.items))
                raise
        charged = self._admission.quotas.charge(principal, request.items)
        grant = charged if isinstance(charged, Grant) else await charged
        refused = request.items - grant.admitted
        if request.demo and not request.items and not grant.remaining and not principal.policy.unlimited:
            refused = 1
        if refused:
            count_refusal("jsonrpc", RateLimited.reason, refused)
            self._usage.refuse(principal.label, RateLimited.reason, refused, units=0)
        policy = principal.policy
        return access_pb2.AdmitResponse(
            principal=principal.encode(),
            admitted=grant.admitted,
            policy=policy.name,
            limit=policy.limit,
            remaining=grant.remaining,
            window_seconds=policy.window_seconds,
            retry_after_ms=grant.retry_after_ms,
            reset_seconds=grant.reset_seconds,
            holder=principal.id,
        )

    async def IssueTicket(self, request: access_pb2.IssueTicketRequest, context: Any) -> access_pb2.IssueTicketResponse:
        """Charge a key of the store one unit, and return a ticket: what opens for a while what the key opens.

        Raises KeyMissing, KeyInvalid; InvalidArgument for what needs none or is a ticket itself; RateLimited beyond the
        quota; UpstreamUnavailable.
        """
        key = request.api_key
        try:
            principal = await self._admission.identify(key)
            if not is_key_text(key):
                raise InvalidArgument("only keys made by `waypost keys create` have tickets; use this one as it is")
            charged = self._admission.quotas.charge(principal, 1)
            grant = charged if isinstance(charged, Grant) else await charged
            if not grant.admitted:
                raise over_quota(principal, grant)
        except GatewayError as refusal:
            count_refusal("jsonrpc", refusal.reason)
            raise
        self._usage.note(principal.label, 1, units=1)
        ticket = await self._admission.issue_ticket(key)
        return access_pb2.IssueTicketResponse(ticket=ticket, expires_in=int(TICKET_LASTS.total_seconds()))

    async def Report(self, request: access_pb2.ReportRequest, context: Any) -> access_pb2.ReportResponse:
        """Count items that were charged and ended without a call; a principal that is none is not counted."""
        principal = decode(request.principal)
        if principal is not None:
            for reason, items in request.items.items():
                self._usage.refuse(principal.label, reason, items, units=items)
        return access_pb2.ReportResponse()

    async def GetReadiness(
        self, request: access_pb2.GetReadinessRequest, context: Any
    ) -> access_pb2.GetReadinessResponse:
        """Return whether requests are being taken, and what is known of each chain."""
        return access_pb2.GetReadinessResponse(ready=self.ready, chains=self._states())
