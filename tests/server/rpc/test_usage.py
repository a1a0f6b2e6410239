"""getUsage: pages, groups and days, out of a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import usage_pb2

from server.access.admission import LOCAL, Policy, Principal
from server.access.usage import Usage, UsageWriter
from server.errors import InvalidArgument, NotSupported, UpstreamUnavailable
from server.rpc.pipeline.call import REQUEST, RequestState
from server.rpc.usage import UsageServicer
from server.storage.database import open_database
from server.storage.usage_records import UsageRecords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NOW = datetime.now(UTC)


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[UsageRecords]:
    engine = await open_database(f"sqlite:///{tmp_path}/waypost.db")
    yield UsageRecords(engine)
    await engine.dispose()


@pytest.fixture
async def servicer(records: UsageRecords) -> UsageServicer:
    """Twelve hours of two operations of the local key, and as many of a key."""
    usage = Usage()
    now = [NOW - timedelta(hours=13)]
    writer = UsageWriter(usage, records, records._engine, clock=lambda: now[0])
    for hour in range(12):
        for account, operation in (("local", "getPrice"), ("local", "getBalance"), ("key:1", "getPrice")):
            tally = usage.of(account, operation, "base")
            tally.requests, tally.units = 1, hour
            tally.fail("REVERTED")
        now[0] += timedelta(hours=1)
        await writer.write()
    return UsageServicer(records)


async def ask(servicer: UsageServicer, principal: Principal = LOCAL, **fields: Any) -> usage_pb2.GetUsageResponse:
    state = RequestState("r", None, 0.0, {})
    state.principal = principal
    REQUEST.set(state)
    wanted = {"group_by": usage_pb2.USAGE_GROUP_HOUR, "page_size": 100, **fields}
    return await servicer.GetUsage(usage_pb2.GetUsageRequest(**wanted), None)


async def test_pages_join_to_the_whole(servicer: UsageServicer) -> None:
    whole = await ask(servicer)
    assert (len(whole.rows), whole.next_page_token) == (12, "")
    assert [row.figures.units for row in whole.rows] == [2 * hour for hour in range(12)]
    assert whole.total.requests == 24
    assert dict(whole.total.errors) == {"REVERTED": 24}
    rows, token = [], ""
    for _ in range(3):
        page = await ask(servicer, page_size=5, page_token=token)
        rows += page.rows
        token = page.next_page_token
        assert page.total == whole.total
    assert (rows, token) == (list(whole.rows), "")


async def test_groups_are_of_the_caller_alone(servicer: UsageServicer) -> None:
    by = usage_pb2.USAGE_GROUP_OPERATION
    assert [(row.operation, row.figures.requests) for row in (await ask(servicer, group_by=by)).rows] == [
        ("getBalance", 12),
        ("getPrice", 12),
    ]
    key = Principal("key:1", Policy("key", 1, 1))
    assert [row.operation for row in (await ask(servicer, key, group_by=by)).rows] == ["getPrice"]
    chains = await ask(servicer, key, group_by=usage_pb2.USAGE_GROUP_CHAIN)
    assert [(row.chain, row.HasField("operation")) for row in chains.rows] == [("base", False)]
    assert not (await ask(servicer, to_date="2020-01-01", group_by=by)).rows
    with pytest.raises(NotSupported):
        await ask(servicer, Principal("demo:192.0.2.1", Policy("demo", 1, 1)))


async def test_what_cannot_be_asked_names_its_parameter(servicer: UsageServicer, records: UsageRecords) -> None:
    for field, fields in (
        ("from", {"from_date": "2026-02-02", "to_date": "2026-02-01"}),
        ("from", {"from_date": "2020-01-01"}),
        ("cursor", {"page_token": "day:2026-02-02"}),
        ("cursor", {"page_token": "nonsense"}),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await ask(servicer, **fields)
        assert caught.value.field == field
    for first, last in (("0001-01-01", "9999-12-31"), ("", "0001-01-02")):
        await ask(servicer, from_date=first, to_date=last, group_by=usage_pb2.USAGE_GROUP_DAY)
    async with records._engine.begin() as connection:
        await connection.exec_driver_sql("DROP TABLE usage_errors")
    with pytest.raises(UpstreamUnavailable):
        await ask(servicer)
