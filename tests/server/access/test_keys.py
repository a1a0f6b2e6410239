from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from server.access.keys import KeyNotFound, KeyStore, is_key_text, new_key
from server.storage.tables import keys

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine


def test_keys_are_random_and_fit_into_a_path() -> None:
    made = {new_key() for _ in range(1000)}
    assert len(made) == 1000
    assert all(is_key_text(key) and len(key) == 46 for key in made)


def contents(folder: Path) -> list[bytes]:
    """What the files of an SQLite database hold; PostgreSQL's are its own business."""
    return [file.read_bytes() for file in folder.glob("data/*")]


async def test_only_the_hash_is_stored(store: KeyStore, database: AsyncEngine, tmp_path: Path) -> None:
    number, key = await store.create_key("team a", 5, 10)
    async with database.connect() as connection:
        row = (await connection.execute(select(keys))).one()
    assert (row.id, row.name, row.rate, row.burst) == (number, "team a", 5, 10)
    assert row.hash == sha256(key.encode()).digest()
    assert key.startswith(row.prefix)
    assert len(row.prefix) == 9
    await database.dispose()
    for content in contents(tmp_path):
        assert key.encode() not in content


async def test_times_carry_their_zone(store: KeyStore) -> None:
    number, _ = await store.create_key("a")
    revoked = await store.revoke_key(number)
    now = datetime.now(UTC)
    assert revoked.revoked_at is not None
    for moment in (revoked.created_at, revoked.revoked_at):
        assert moment.tzinfo is UTC
        assert now - timedelta(minutes=1) < moment <= now


async def test_a_time_without_zone_is_refused(database: AsyncEngine) -> None:
    from sqlalchemy.exc import StatementError

    naive = datetime.now(UTC).replace(tzinfo=None)
    row = {"name": "a", "prefix": "wp_a", "hash": b"a" * 32, "created_at": naive}
    with pytest.raises(StatementError, match="zone"):
        async with database.begin() as connection:
            await connection.execute(keys.insert().values(**row))


async def test_list_is_in_order_and_keeps_revoked_keys(store: KeyStore) -> None:
    first, _ = await store.create_key("first")
    second, _ = await store.create_key("second", 1.5, None)
    await store.revoke_key(first)
    listed = await store.list_keys()
    assert [(record.id, record.name, record.rate) for record in listed] == [
        (first, "first", None),
        (second, "second", 1.5),
    ]
    assert listed[0].revoked_at is not None
    assert listed[1].revoked_at is None
    assert set(await store.live_keys()) != set()
    assert [record.name for record in (await store.live_keys()).values()] == ["second"]


async def test_revoke_by_id_prefix_or_the_key_itself(store: KeyStore) -> None:
    made = [await store.create_key(f"key {number}") for number in range(3)]
    prefixes = {record.id: record.prefix for record in await store.list_keys()}
    assert (await store.revoke_key(str(made[0][0]))).id == made[0][0]
    assert (await store.revoke_key(prefixes[made[1][0]])).id == made[1][0]
    assert (await store.revoke_key(made[2][1])).id == made[2][0]
    assert await store.live_keys() == {}


async def test_revoking_twice_keeps_the_first_time(store: KeyStore) -> None:
    number, _ = await store.create_key("a")
    first = await store.revoke_key(number)
    assert await store.revoke_key(number) == first


async def test_what_is_not_there_cannot_be_revoked(store: KeyStore) -> None:
    number, key = await store.create_key("a")
    for text in ("999", "wp_nothin", "", key[:-1], "0", "-1", "²"):
        with pytest.raises(KeyNotFound):
            await store.revoke_key(text)
    assert (await store.list_keys())[0].id == number
    assert (await store.list_keys())[0].revoked_at is None


@pytest.mark.parametrize(
    ("name", "rate", "burst"),
    [
        ("", None, None),
        ("a" * 101, None, None),
        ("a\nb", None, None),
        ("a", 0, None),
        ("a", -1, None),
        ("a", 1e-9, None),
        ("a", 1, 0),
    ],
)
async def test_unfit_keys_are_not_made(store: KeyStore, name: str, rate: float | None, burst: int | None) -> None:
    with pytest.raises(ValueError, match="a key's"):
        await store.create_key(name, rate, burst)
    assert await store.list_keys() == []


async def test_the_version_changes_with_every_key_made_or_revoked(store: KeyStore) -> None:
    seen = [await store.version()]
    number, _ = await store.create_key("a")
    seen.append(await store.version())
    await store.create_key("b")
    seen.append(await store.version())
    await store.revoke_key(number)
    seen.append(await store.version())
    assert len(set(seen)) == 4
