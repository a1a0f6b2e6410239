"""SystemService."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import system_pb2, system_pb2_grpc

from runtime.version import VERSION
from server.catalog.calendar import open_calendar
from server.chains.capabilities.blocks import ReadsHealth
from server.errors import InvalidArgument, NotAvailable
from server.upstream.failures import Trouble

if TYPE_CHECKING:
    from runtime.settings import Settings
    from server.catalog.calendar import Announcement, Calendar
    from server.chains.registry import Chain, Chains

_CHAIN_STATES = {
    "ok": system_pb2.CHAIN_STATUS_OK,
    "degraded": system_pb2.CHAIN_STATUS_DEGRADED,
    "down": system_pb2.CHAIN_STATUS_DOWN,
}
_TROUBLES = {
    Trouble.WRONG_CHAIN: system_pb2.CHAIN_TROUBLE_WRONG_CHAIN,
    Trouble.HANGS: system_pb2.CHAIN_TROUBLE_HANGS,
    Trouble.REFUSED: system_pb2.CHAIN_TROUBLE_REFUSED,
    Trouble.THROTTLED: system_pb2.CHAIN_TROUBLE_THROTTLED,
    Trouble.FAILS: system_pb2.CHAIN_TROUBLE_FAILS,
    Trouble.BEHIND: system_pb2.CHAIN_TROUBLE_BEHIND,
    Trouble.FORKED: system_pb2.CHAIN_TROUBLE_FORKED,
    Trouble.AHEAD: system_pb2.CHAIN_TROUBLE_AHEAD,
    Trouble.NO_ENDPOINT: system_pb2.CHAIN_TROUBLE_NO_ENDPOINT,
}
_CHAIN_KINDS = {
    "EVM": system_pb2.CHAIN_KIND_EVM,
    "SVM": system_pb2.CHAIN_KIND_SVM,
    "UTXO": system_pb2.CHAIN_KIND_UTXO,
    "Cairo VM": system_pb2.CHAIN_KIND_CAIRO_VM,
    "Cosmos SDK": system_pb2.CHAIN_KIND_COSMOS_SDK,
}
_KINDS = {system_pb2.CALENDAR_KIND_RELEASE: "release", system_pb2.CALENDAR_KIND_UPGRADE: "upgrade"}
_KIND_NUMBERS = {word: number for number, word in _KINDS.items()}
_TROUBLE = ("degraded", "down")


class SystemServicer(system_pb2_grpc.SystemServiceServicer):
    """State of the gateway and its chains (contract section 4.2). `started_at` carries its zone."""

    def __init__(self, chains: Chains, started_at: datetime, settings: Settings) -> None:
        self._chains = chains
        self._started_at = started_at
        self._calendar = open_calendar(settings, [chain.slug for chain in chains])

    def announce(self, calendar: Calendar) -> None:
        """Answer out of this calendar from now on."""
        self._calendar = calendar

    async def GetHealth(self, request: system_pb2.GetHealthRequest, context: Any) -> system_pb2.GetHealthResponse:
        """Return the gateway's own state and the chains by their last known one; reads no node."""
        by_state: dict[str, list[str]] = {"ok": [], "degraded": [], "down": [], "unknown": []}
        for chain in self._chains:
            by_state[_last_state(chain)].append(chain.slug)
        has_trouble = any(by_state[state] for state in _TROUBLE)
        return system_pb2.GetHealthResponse(
            status=system_pb2.HEALTH_STATUS_DEGRADED if has_trouble else system_pb2.HEALTH_STATUS_OK,
            version=VERSION,
            uptime_seconds=int((datetime.now(UTC) - self._started_at).total_seconds()),
            chains=system_pb2.ChainsByState(**{state: sorted(slugs) for state, slugs in by_state.items()}),
        )

    async def GetChainHealth(
        self, request: system_pb2.GetChainHealthRequest, context: Any
    ) -> system_pb2.GetChainHealthResponse:
        """Read the chain's nodes now; a chain that cannot be read is an answer, not an error."""
        chain = self._chains.get(request.chain)
        health = await chain.capability(ReadsHealth).read_health()
        asked_at = Timestamp()
        asked_at.FromDatetime(health.asked_at)
        return system_pb2.GetChainHealthResponse(
            chain=chain.slug,
            status=_CHAIN_STATES[health.state],
            type=_CHAIN_KINDS[chain.type],
            block_height=health.height,
            timestamp=asked_at,
            latency_ms=None if health.latency is None else round(health.latency * 1000, 3),
            reason=None if health.trouble is None else _TROUBLES[health.trouble],
        )

    async def GetNetworkCalendar(
        self, request: system_pb2.GetNetworkCalendarRequest, context: Any
    ) -> system_pb2.GetNetworkCalendarResponse:
        """Return the announcements that the filters leave, oldest first; reads no node."""
        first = date.fromisoformat(request.from_date) if request.from_date else None
        last = date.fromisoformat(request.to_date) if request.to_date else None
        if first is not None and last is not None and first > last:
            raise InvalidArgument(
                f"from is {first}, after to, which is {last}; write the earlier day first", field="from"
            )
        kind = _KINDS.get(request.kind)
        entries = [_entry(one) for one in self._calendar.select(request.chain or None, kind, first, last)]
        return system_pb2.GetNetworkCalendarResponse(count=len(entries), entries=entries)


def _entry(one: Announcement) -> system_pb2.CalendarEntry:
    entry = system_pb2.CalendarEntry(
        chain=one.chain,
        kind=_KIND_NUMBERS[one.kind],
        name=one.name,
        description=one.description,
        block_height=one.block_height,
        url=one.url,
    )
    if one.at is not None:
        entry.scheduled_at.FromDatetime(one.at)
    return entry


def _last_state(chain: Chain) -> str:
    try:
        return chain.capability(ReadsHealth).last_state() or "unknown"
    except NotAvailable:
        return "unknown"
