"""What keys may do and for how long, and how soon a change is known, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from server.access.admission import Admission, ConcurrencyLimiter, Policy, Principal, decode
from server.access.directory import FRESH_SECONDS, KeyDirectory
from server.access.keys import KeyNotFound, KeyStore, Rights, digest, new_key
from server.access.quotas import Quotas
from server.errors import KeyInvalid, UpstreamUnavailable
from server.storage.database import open_database
from tests.examples import IS_FAST

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from server.access.keys import KeyRecord
    from tests.postgresql import PostgreSql

SOON = timedelta(hours=1)


def admission_of(directory: KeyDirectory) -> Admission:
    default = Policy("default", 10, 20)
    return Admission(directory, Quotas(), ConcurrencyLimiter(), accepts_local=False, default=default, demo=default)


async def test_terms_are_kept_changed_and_taken_back(store: KeyStore) -> None:
    ends = datetime.now(UTC) + SOON
    number, key = await store.create_key(
        "a", 5, 9, expires_at=ends, operations=["getPrice", "getBalance"], chains={"base"}, notes="of team a"
    )
    versions = [await store.version()]
    made = await store.find_key(key)
    assert (made.expires_at, made.notes) == (ends, "of team a")
    assert made.rights == Rights(frozenset({"getPrice", "getBalance"}), frozenset({"base"}))
    for terms in (
        {"rate": 7.0},
        {"operations": None},
        {"chains": None, "notes": None},
        {"expires_at": None, "name": "b"},
    ):
        await store.set_key(number, **terms)  # type: ignore[typeddict-item]  # each is a term
        versions.append(await store.version())
    changed = await store.find_key(number)
    assert (changed.name, changed.rate, changed.burst, changed.expires_at, changed.rights, changed.notes) == (
        *("b", 7.0, 9, None),
        *(None, None),
    )
    await store.rotate_key(number)
    await store.revoke_key(number)
    versions += [await store.version()]
    assert len(set(versions)) == len(versions), "every change is noticed"
    with pytest.raises(ValueError, match="revoked"):
        await store.set_key(number, rate=1.0)


async def test_terms_that_no_key_can_have_change_nothing(store: KeyStore) -> None:
    number, _ = await store.create_key("a")
    before = await store.find_key(number), await store.version()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "in the future"),
        ({"operations": []}, "at least one"),
        ({"chains": ["base,ethereum"]}, "names of letters"),
        ({"notes": "x" * 1001}, "1,000 characters"),
        ({"rate": 0.0, "notes": "kept"}, "rate is from"),
        ({"name": ""}, "1 to 100"),
    ]
    for terms, said in refused:
        with pytest.raises(ValueError, match=said):
            await store.set_key(number, **terms)
    assert (await store.find_key(number), await store.version()) == before


async def test_a_rotated_key_keeps_number_and_terms_and_its_old_text_for_a_while(store: KeyStore) -> None:
    number, first = await store.create_key("a", operations=["getPrice"])
    _, second = await store.rotate_key(number, datetime.now(UTC) + SOON)
    directory = KeyDirectory(store)
    admission = admission_of(directory)
    old, new = await admission.identify(first), await admission.identify(second)
    assert old == new == Principal(f"key:{number}", Policy("default", 10, 20), Rights(frozenset({"getPrice"})))
    _, third = await store.rotate_key(number)
    assert [await directory.find(key) is None for key in (first, second, third)] == [True, True, False]
    assert (await admission.identify(third)).id == f"key:{number}"
    await directory.close()


async def test_of_three_texts_the_operator_states_which_one_ends(store: KeyStore) -> None:
    number, first = await store.create_key("a")
    until = datetime.now(UTC) + SOON
    with pytest.raises(ValueError, match="just rotate it"):
        await store.rotate_key(number, replaces=True)
    with pytest.raises(ValueError, match="in the future"):
        await store.rotate_key(number, datetime.now(UTC))
    record, second = await store.rotate_key("a", until)
    assert record.previous_until == until
    live = await store.live_keys()
    assert (live[digest(first)].expires_at, live[digest(second)].expires_at) == (until, None)
    before = await store.version()
    with pytest.raises(ValueError, match="was rotated already"):
        await store.rotate_key(number, until)
    assert await store.version() == before
    assert await texts(store, first, second) == {first, second}
    record, third = await store.rotate_key(number, replaces=True)
    assert record.previous_until == until
    assert await texts(store, first, second, third) == {first, third}
    record, fourth = await store.rotate_key(first)
    assert record.previous_until is None
    assert await texts(store, first, third, fourth) == {fourth}
    # Once the text before has ended, rotating is as at first.
    await store.rotate_key(number, datetime.now(UTC) + timedelta(seconds=0.05))
    await asyncio.sleep(0.06)
    _, last = await store.rotate_key(number, until)
    assert last in await texts(store, last)


async def texts(store: KeyStore, *keys: str) -> set[str]:
    """Return those of the keys that work."""
    live = await store.live_keys()
    return {key for key in keys if digest(key) in live}


async def test_a_key_is_found_by_its_name_where_one_alone_that_works_has_it(store: KeyStore) -> None:
    first, _ = await store.create_key("a")
    assert (await store.revoke_key("a")).id == first
    assert (await store.revoke_key("a")).id == first
    second, _ = await store.create_key("a")
    assert (await store.find_key("a")).id == second
    third, _ = await store.create_key("a")
    with pytest.raises(KeyNotFound, match=f"give one of the ids {second}, {third}"):
        await store.revoke_key("a")
    # A number is an id, whatever keys are called.
    fourth, _ = await store.create_key(str(first))
    assert (await store.find_key(str(first))).id == first
    assert (await store.find_key(fourth)).name == str(first)


async def test_a_key_ends_when_it_expires(store: KeyStore) -> None:
    _, key = await store.create_key("a", expires_at=datetime.now(UTC) + timedelta(seconds=0.5))
    directory = KeyDirectory(store)
    admission = admission_of(directory)
    assert await admission.identify(key)
    await asyncio.sleep(0.5)
    with pytest.raises(KeyInvalid, match="expired at"):
        admission.peek(key)
    await directory.close()


async def test_a_principal_travels_with_its_rights() -> None:
    for rights in (None, Rights(frozenset({"svc_*", "getPrice"})), Rights(None, frozenset({"base"}))):
        principal = Principal("key:7", Policy("key", 2.5, 9), rights)
        assert decode(principal.encode()) == principal
        assert principal.encode().isascii()
    assert decode("key/2.5/9/key:7") is None


async def test_a_change_is_known_within_five_seconds(store: KeyStore, database: AsyncEngine) -> None:
    """On PostgreSQL at once and without a request, as it is announced; on SQLite by the next looks."""
    number, key = await store.create_key("a")
    ahead = 0.0
    directory = KeyDirectory(store, lambda: monotonic() + ahead)
    directory.listen(database)
    assert await directory.find(key)
    is_told = database.dialect.name == "postgresql"
    if is_told:
        # Its first announcement may come before it listens, and is caught up with then.
        await asyncio.sleep(0.3)
    await store.set_key(number, chains=["base"])

    def rights() -> object:
        found: KeyRecord | None = next(iter(directory._records.values())) if is_told else directory.peek(key)
        return found and found.rights

    ahead = 0.0 if is_told else FRESH_SECONDS
    async with asyncio.timeout(1.5):
        while rights() is None:  # noqa: ASYNC110  # the refresh ends on its own
            await asyncio.sleep(0.02)
    await directory.close()


async def test_while_the_database_is_away_an_unknown_key_is_not_known_to_be_wrong(
    store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await store.create_key("a")
    directory = KeyDirectory(store)
    admission = admission_of(directory)
    assert await admission.identify(key)
    monkeypatch.setattr("server.access.directory.LONGEST_READ_SECONDS", 0.1)

    async def hang(_: object) -> tuple[int, int, int]:
        await asyncio.sleep(60)
        raise AssertionError

    monkeypatch.setattr(KeyStore, "version", hang)
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamUnavailable):
            await admission.identify(new_key())
        assert await directory.find(key)
        with pytest.raises(KeyInvalid):
            await admission.identify("wp_malformed")
        assert await admission.identify(key)
    monkeypatch.undo()
    with pytest.raises(KeyInvalid):
        await admission.identify(new_key())
    await directory.close()


@pytest.mark.skipif(IS_FAST, reason="needs PostgreSQL")
async def test_a_listener_that_is_cut_off_listens_again(
    postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.access.directory._AGAIN_SECONDS", 0.02)
    engine = await open_database(postgresql.database())
    store = KeyStore(engine)
    number, key = await store.create_key("a")
    directory = KeyDirectory(store)
    directory.listen(engine)
    assert await directory.find(key)
    listeners = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"

    async def count(query: str) -> list[int]:
        async with engine.connect() as connection:
            return list((await connection.exec_driver_sql(f"SELECT {query} {listeners}")).scalars())

    async with asyncio.timeout(10):
        while not (first := await count("pid")):  # noqa: ASYNC110  # the server tells nobody
            await asyncio.sleep(0.02)
        await count("pg_terminate_backend(pid)")
        while not (second := await count("pid")) or second == first:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await store.set_key(number, chains=["base"])
        while next(iter(directory._records.values())).rights is None:  # noqa: ASYNC110  # the refresh ends on its own
            await asyncio.sleep(0.02)
        await directory.close()
    assert await count("pid") == []
    await engine.dispose()
