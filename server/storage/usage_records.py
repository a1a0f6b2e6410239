"""Usage that outlives the process: added up by hour, and by day after 90 days (docs/decisions/0045)."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from sqlalchemy import and_, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from server.storage.tables import FIGURES, usage, usage_errors, usage_writers
from server.storage.transactions import write_in_turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
    from sqlalchemy.sql.dml import Insert

HOURS_DAYS = 90
"""For how many days hours are kept."""

Group = Literal["hour", "day", "operation", "chain", "account"]

_HOUR, _DAY = "hour", "day"
_USED_BY = ("account", "span", "start", "operation", "chain")
# A process that has not written for so long is gone, and with it whatever it could write again.
_GONE_DAYS = 7


class Figures(Protocol):
    """Figures by the names of `FIGURES`, and errors by reason."""

    errors: dict[str, int] | None


class Counted(Protocol):
    """One interval of a process: its number, its hour, figures by account, operation and chain."""

    @property
    def number(self) -> int:
        """Counts from 1 in each process."""
        ...

    @property
    def hour(self) -> datetime:
        """When its hour begins, UTC."""
        ...

    @property
    def tallies(self) -> Mapping[tuple[str, str, str], Any]:
        """`Figures` by account, operation and chain."""
        ...


class UsageSum(NamedTuple):
    """The figures of one group: a moment of hour or day, an operation, a chain or an account."""

    group: datetime | str
    figures: dict[str, int]
    errors: dict[str, int]


class UsageRecords:
    """The usage in the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def write(self, process: str, intervals: Sequence[Counted], now: datetime) -> None:
        """Add the intervals to their hours, in one transaction; those of the process that are written already are not.

        So a write whose outcome is unknown is made again. Raises `sqlalchemy.exc.SQLAlchemyError`, OSError.
        """
        async with write_in_turn(self._engine) as connection:
            mine = usage_writers.c.process == process
            written = (await connection.execute(select(usage_writers.c.interval).where(mine))).scalar_one_or_none()
            new = [one for one in intervals if written is None or one.number > written]
            if not new:
                return
            mark = {"interval": new[-1].number, "written_at": now}
            if written is None:
                await connection.execute(insert(usage_writers).values(process=process, **mark))
            else:
                await connection.execute(update(usage_writers).where(mine).values(**mark))
            figures, errors = _added_up(new)
            # In one order everywhere, and by the thousand: a statement a row, prepared once.
            if figures:
                await connection.execute(_add_to(self._engine, usage, FIGURES), figures)
            if errors:
                await connection.execute(_add_to(self._engine, usage_errors, ("requests",)), errors)

    async def fold(self, now: datetime) -> int:
        """Make days of the hours of whole days that are over for `HOURS_DAYS`; return how many days that were."""
        until = _midnight(now) - timedelta(days=HOURS_DAYS)
        days = 0
        while True:
            async with write_in_turn(self._engine) as connection:
                oldest = select(func.min(usage.c.start)).where(usage.c.span == _HOUR, usage.c.start < until)
                first = (await connection.execute(oldest)).scalar_one_or_none()
                if first is None:
                    gone = now - timedelta(days=_GONE_DAYS)
                    await connection.execute(delete(usage_writers).where(usage_writers.c.written_at < gone))
                    return days
                await self._fold_day(connection, _midnight(first))
            days += 1

    async def _fold_day(self, connection: AsyncConnection, day: datetime) -> None:
        for table, summed in ((usage, FIGURES), (usage_errors, ("requests",))):
            its_hours = and_(table.c.span == _HOUR, table.c.start >= day, table.c.start < day + timedelta(days=1))
            kept = [column for column in table.primary_key if column.name not in ("span", "start")]
            sums = [func.sum(table.c[name]).label(name) for name in summed]
            rows = (await connection.execute(select(*kept, *sums).where(its_hours).group_by(*kept))).all()
            of_day = [
                {**row._mapping, **{name: int(getattr(row, name)) for name in summed}, "span": _DAY, "start": day}
                for row in rows
            ]
            if of_day:
                await connection.execute(_add_to(self._engine, table, summed), of_day)
            await connection.execute(delete(table).where(its_hours))

    async def read(self, group: Group, first: datetime, end: datetime, account: str | None = None) -> list[UsageSum]:
        """Return the sums of an account, None for all, from `first` to before `end`, in the order of their group.

        Days of which hours are no longer kept are one row of hours, at midnight. Raises
        `sqlalchemy.exc.SQLAlchemyError`, OSError.
        """
        sums: dict[Any, UsageSum] = {}
        async with self._engine.connect() as connection:
            for table, names in ((usage, FIGURES), (usage_errors, ("requests", "reason"))):
                within = table.c.start >= first, table.c.start < end
                wanted: list[ColumnElement[bool]] = [table.c.span.in_((_HOUR, _DAY)), *within]
                if account is not None:
                    wanted.append(table.c.account == account)
                by = table.c.start if group in (_HOUR, _DAY) else table.c[group]
                keys = [by] if table is usage else [by, table.c.reason]
                figures = [func.sum(table.c[name]).label(name) for name in names if name != "reason"]
                for row in await connection.execute(select(*keys, *figures).where(*wanted).group_by(*keys)):
                    at = _midnight(row[0]) if group == _DAY else row[0]
                    found = sums.setdefault(at, UsageSum(at, dict.fromkeys(FIGURES, 0), {}))
                    if table is usage:
                        for name in FIGURES:
                            found.figures[name] += int(getattr(row, name))
                    else:
                        found.errors[row.reason] = found.errors.get(row.reason, 0) + int(row.requests)
        return [sums[at] for at in sorted(sums)]


def _added_up(intervals: Iterable[Counted]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of `usage` and of `usage_errors` that the intervals come to."""
    figures: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * len(FIGURES))
    errors: defaultdict[tuple[Any, ...], int] = defaultdict(int)
    for one in intervals:
        for key, tally in one.tallies.items():
            account, *of = key
            row = (account, _HOUR, one.hour, *of)
            sums = figures[row]
            for place, name in enumerate(FIGURES):
                sums[place] += getattr(tally, name)
            for reason, requests in (tally.errors or {}).items():
                errors[(*row, reason)] += requests
    rows = [
        {**dict(zip(_USED_BY, key, strict=True)), **dict(zip(FIGURES, figures[key], strict=True))}
        for key in sorted(figures)
    ]
    failed = [{**dict(zip((*_USED_BY, "reason"), key, strict=True)), "requests": errors[key]} for key in sorted(errors)]
    return rows, failed


def _add_to(engine: AsyncEngine, table: Table, names: Sequence[str]) -> Insert:
    """Return an insert that adds to a row whose key is there already."""
    keys = [column.name for column in table.primary_key]
    if engine.dialect.name == "postgresql":
        of_postgresql = postgresql.insert(table)
        added = {name: table.c[name] + of_postgresql.excluded[name] for name in names}
        return of_postgresql.on_conflict_do_update(index_elements=keys, set_=added)
    of_sqlite = sqlite.insert(table)
    added = {name: table.c[name] + of_sqlite.excluded[name] for name in names}
    return of_sqlite.on_conflict_do_update(index_elements=keys, set_=added)


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
