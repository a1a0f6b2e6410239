"""UsageService."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError
from waypost.v1 import usage_pb2, usage_pb2_grpc

from runtime.logs import get_logger
from server.access.admission import DEMO
from server.errors import InvalidArgument, NotSupported, UpstreamUnavailable
from server.rpc.pipeline.call import current
from server.storage.tables import FIGURES
from server.storage.usage_records import HOURS_DAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.storage.usage_records import Group, UsageRecords, UsageSum

_GROUPS: Mapping[usage_pb2.UsageGroup, Group] = {
    usage_pb2.USAGE_GROUP_HOUR: "hour",
    usage_pb2.USAGE_GROUP_DAY: "day",
    usage_pb2.USAGE_GROUP_OPERATION: "operation",
    usage_pb2.USAGE_GROUP_CHAIN: "chain",
}
_USUAL_DAYS = 7
_OWN_NAMES = {"bytes_sent": "upstream_bytes_sent", "bytes_received": "upstream_bytes_received"}

_log = get_logger("waypost.usage")


class UsageServicer(usage_pb2_grpc.UsageServiceServicer):
    """What the key that asks has used; an operation of our own."""

    def __init__(self, records: UsageRecords) -> None:
        self._records = records

    async def GetUsage(self, request: usage_pb2.GetUsageRequest, context: Any) -> usage_pb2.GetUsageResponse:
        """Return the caller's own usage, a page of it; reads the database alone.

        Raises InvalidArgument for days that are none, NotSupported on the demo, UpstreamUnavailable while the database
        is away.
        """
        principal = current().principal
        account = "" if principal is None else principal.label
        if account in ("", DEMO):
            raise NotSupported("the demo has no usage of its own; ask with an API key")
        group = _GROUPS[request.group_by]
        first, last = _days(request, group)
        after = _after(request.page_token, group) if request.page_token else None
        try:
            sums = await self._records.read(group, _midnight(first), _midnight(last + timedelta(days=1)), account)
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            _log.error("usage cannot be read", error=type(error).__name__)
            raise UpstreamUnavailable(
                "usage cannot be read at present, as the gateway's database is away; try again shortly",
                retry_after_ms=2000,
            ) from None
        left = sums if after is None else [one for one in sums if _text(one) > after]
        page = left[: request.page_size]
        return usage_pb2.GetUsageResponse(
            account=account,
            from_date=first.isoformat(),
            to_date=last.isoformat(),
            group_by=request.group_by,
            rows=[_row(one, group) for one in page],
            total=_total(sums),
            next_page_token=f"{group}:{_text(page[-1])}" if len(left) > len(page) else None,
        )


def _days(request: usage_pb2.GetUsageRequest, group: Group) -> tuple[date, date]:
    today = datetime.now(UTC).date()
    last = date.fromisoformat(request.to_date) if request.to_date else today
    first = date.fromisoformat(request.from_date) if request.from_date else None
    if first is None:
        first = date.min if last < date.min + timedelta(days=_USUAL_DAYS) else last - timedelta(days=_USUAL_DAYS - 1)
    if first > last:
        raise InvalidArgument(f"from is {first}, after to, which is {last}; write the earlier day first", field="from")
    # The day after the last one is a day, too.
    last = min(last, date.max - timedelta(days=1))
    kept = today - timedelta(days=HOURS_DAYS)
    if group == "hour" and first < kept:
        advice = f"write {kept} or later, or group by day"
        raise InvalidArgument(f"from is {first}; hours are kept for {HOURS_DAYS} days: {advice}", field="from")
    return min(first, last), last


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _text(one: UsageSum) -> str:
    """Return a group as text, in the order of which the groups are."""
    return one.group if isinstance(one.group, str) else f"{one.group:%Y-%m-%dT%H}"


def _after(cursor: str, group: Group) -> str:
    """Return the group that a cursor stands behind."""
    of, _, after = cursor.partition(":")
    if of != group:
        raise InvalidArgument(
            f"cursor is of another grouping than {group}; give the cursor of the answer before, with the same groupBy",
            field="cursor",
        )
    return after


def _row(one: UsageSum, group: Group) -> usage_pb2.UsageRow:
    row = usage_pb2.UsageRow(figures=_figures(one.figures, one.errors))
    if isinstance(one.group, datetime):
        row.start.FromDatetime(one.group)
    elif group == "operation":
        row.operation = one.group
    else:
        row.chain = one.group
    return row


def _figures(figures: Mapping[str, int], errors: Mapping[str, int]) -> usage_pb2.UsageFigures:
    return usage_pb2.UsageFigures(
        **{_OWN_NAMES.get(name, name): value for name, value in figures.items()},
        errors=errors,
    )


def _total(sums: list[UsageSum]) -> usage_pb2.UsageFigures:
    figures = dict.fromkeys(FIGURES, 0)
    errors: dict[str, int] = {}
    for one in sums:
        for name in FIGURES:
            figures[name] += one.figures[name]
        for reason, requests in one.errors.items():
            errors[reason] = errors.get(reason, 0) + requests
    return _figures(figures, errors)
