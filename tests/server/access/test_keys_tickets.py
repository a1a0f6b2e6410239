"""Tickets: what they open, how they end, what issuing them costs, what is kept of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select
from waypost_internal.v1.access_pb2 import IssueTicketRequest

from server.access import keys
from server.access.admission import Admission, ConcurrencyLimiter, Policy
from server.access.directory import FRESH_SECONDS, KeyDirectory
from server.access.keys import MOST_TICKETS, KeyStore, digest, is_key_text, is_ticket_text
from server.access.quotas import Quotas
from server.access.service import AccessServicer
from server.access.usage import Usage
from server.errors import InvalidArgument, KeyInvalid, KeyMissing, RateLimited, UpstreamUnavailable
from server.storage.tables import key_tickets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy.ext.asyncio import AsyncEngine

CONTEXT: Any = None
SOON = timedelta(hours=1)


class Service:
    """Issues tickets as one process of the gateway does, and admits with them."""

    def __init__(self, store: KeyStore) -> None:
        self.directory = KeyDirectory(store)
        self.usage = Usage()
        default, demo = Policy("default", 50, 100), Policy("demo", 1, 1)
        self.admission = Admission(
            self.directory, Quotas(), ConcurrencyLimiter(), accepts_local=True, default=default, demo=demo
        )
        self._servicer = AccessServicer(self.admission, dict, self.usage)

    async def issue(self, key: str) -> str:
        answer = await self._servicer.IssueTicket(IssueTicketRequest(api_key=key), CONTEXT)
        assert answer.expires_in == keys.TICKET_LASTS.total_seconds()
        return answer.ticket


@pytest.fixture
async def service(store: KeyStore) -> AsyncIterator[Service]:
    service = Service(store)
    yield service
    await service.directory.close()


async def test_a_ticket_opens_what_its_key_opens(store: KeyStore, service: Service) -> None:
    _, key = await store.create_key("a", 5, 7, operations=["getPrice"], chains=["base"])
    ticket = await service.issue(key)
    assert is_ticket_text(ticket)
    assert not is_key_text(ticket)
    owner = await service.admission.identify(key)
    assert await service.admission.identify(ticket) is owner
    assert service.admission.peek(ticket) is owner
    assert service.admission.still(owner, ticket) is owner


async def test_another_process_knows_it_at_once(store: KeyStore, service: Service) -> None:
    _, key = await store.create_key("a")
    other = Service(store)
    assert await other.admission.identify(key)
    ticket = await service.issue(key)
    assert await other.admission.identify(ticket) == await service.admission.identify(key)
    await other.directory.close()


async def test_it_ends_by_itself(store: KeyStore, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "TICKET_LASTS", timedelta(seconds=0.4))
    _, key = await store.create_key("a")
    directory = service.directory
    ticket = await store.issue_ticket(digest(key))
    owner = await service.admission.identify(ticket)
    await asyncio.sleep(0.45)
    assert directory.peek(ticket) is None
    with pytest.raises(KeyInvalid, match="ticket has expired"):
        await service.admission.identify(ticket)
    with pytest.raises(KeyInvalid, match="ticket has expired"):
        service.admission.still(owner, ticket)
    assert await service.admission.identify(key) == owner


@pytest.mark.parametrize("end", ["revoked", "rotated", "expired"])
async def test_it_ends_with_the_text_that_it_was_issued_for(store: KeyStore, service: Service, end: str) -> None:
    number, key = await store.create_key("a", expires_at=datetime.now(UTC) + timedelta(seconds=1.5))
    ticket = await service.issue(key)
    assert await service.admission.identify(ticket)
    if end == "expired":
        await asyncio.sleep(1.5)
        message = "key expired at"
    else:
        await (store.revoke_key(number) if end == "revoked" else store.rotate_key(number))
        message = "its key was revoked"
    async with asyncio.timeout(2 * FRESH_SECONDS):
        while await opens(service, ticket):
            await service.directory.refresh()
            await asyncio.sleep(0.05)
    with pytest.raises(KeyInvalid, match=message):
        await service.admission.identify(ticket)


async def test_one_of_the_text_before_works_as_long_as_that(store: KeyStore, service: Service) -> None:
    number, old = await store.create_key("a")
    before = await service.issue(old)
    _, new = await store.rotate_key(number, datetime.now(UTC) + SOON)
    after = await service.issue(new)
    owners = [await service.admission.identify(one) for one in (before, after, await service.issue(old))]
    assert [owner.id for owner in owners] == [f"key:{number}"] * 3
    await store.rotate_key(number, replaces=True)
    await service.directory.refresh()
    await asyncio.sleep(1)
    await service.directory.refresh()
    assert (await service.admission.identify(before)).id == f"key:{number}"
    with pytest.raises(KeyInvalid):
        await service.admission.identify(after)


async def test_one_costs_a_unit_and_is_counted(store: KeyStore, service: Service) -> None:
    number, key = await store.create_key("a", rate=0.01, burst=2)
    await service.issue(key)
    await service.issue(key)
    with pytest.raises(RateLimited) as refused:
        await service.issue(key)
    assert refused.value.retry_after_ms
    tally = service.usage.of(f"key:{number}", "", "")
    assert (tally.requests, tally.items, tally.units) == (2, 2, 2)


async def test_what_is_no_key_has_none(store: KeyStore, service: Service, database: AsyncEngine) -> None:
    _, key = await store.create_key("a")
    ticket = await service.issue(key)
    with pytest.raises(KeyMissing):
        await service.issue("")
    for text in ("demo", "x", "wp_" + "a" * 43, "wt_" + "a" * 43):
        with pytest.raises(KeyInvalid):
            await service.issue(text)
    for text in ("local", ticket):
        # A ticket for a ticket would never end.
        with pytest.raises(InvalidArgument, match="use this one as it is"):
            await service.issue(text)
    assert len(await rows(database)) == 1


async def test_what_is_stored_of_it_opens_nothing(store: KeyStore, service: Service, database: AsyncEngine) -> None:
    _, key = await store.create_key("a")
    ticket = await service.issue(key)
    [row] = await rows(database)
    assert (row.hash, row.key_hash) == (digest(ticket), digest(key))
    assert timedelta() < row.expires_at - datetime.now(UTC) <= keys.TICKET_LASTS


async def test_a_key_has_so_many_and_expired_ones_go(
    store: KeyStore, service: Service, database: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, key), (_, other) = await store.create_key("a"), await store.create_key("b")
    others = await service.issue(other)
    tickets = [await store.issue_ticket(digest(key)) for _ in range(MOST_TICKETS + 3)]
    works = [await opens(service, ticket) for ticket in tickets]
    assert works == [False] * 3 + [True] * MOST_TICKETS
    assert await service.admission.identify(others)
    assert len(await rows(database)) == MOST_TICKETS + 1
    later = datetime.now(UTC) + 2 * keys.TICKET_LASTS

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Later:
            return cls.fromtimestamp(later.timestamp(), tz)

    monkeypatch.setattr(keys, "datetime", Later)
    last = await store.issue_ticket(digest(other))
    assert [row.hash for row in await rows(database)] == [digest(last)]


async def test_keys_are_not_read_again_for_a_ticket(
    store: KeyStore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await store.create_key("a")
    assert await service.admission.identify(key)

    async def none(_: object) -> Any:
        raise AssertionError("the keys have not changed")

    monkeypatch.setattr(KeyStore, "live_keys", none)
    assert await service.admission.identify(await service.issue(key))


async def test_without_the_database_none_is_issued_and_those_known_work_on(
    store: KeyStore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await store.create_key("a")
    ticket = await service.issue(key)
    assert await service.admission.identify(ticket)

    async def hang(*_: object) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr("server.access.directory.LONGEST_READ_SECONDS", 0.1)
    monkeypatch.setattr("server.access.directory.LONGEST_WRITE_SECONDS", 0.1)
    monkeypatch.setattr(KeyStore, "version", hang)
    monkeypatch.setattr(KeyStore, "issue_ticket", hang)
    with pytest.raises(UpstreamUnavailable, match="no ticket can be issued") as refused:
        await service.issue(key)
    assert refused.value.retry_after_ms
    assert await service.admission.identify(ticket)
    with pytest.raises(UpstreamUnavailable, match="cannot be checked"):
        await service.admission.identify("wt_" + "a" * 43)


async def opens(service: Service, ticket: str) -> bool:
    try:
        return bool(await service.admission.identify(ticket))
    except KeyInvalid:
        return False


async def rows(database: AsyncEngine) -> list[Any]:
    async with database.connect() as connection:
        return list(await connection.execute(select(key_tickets).order_by(key_tickets.c.id)))
