"""What a version of Waypost asks of its database, frozen: newer schemas are tried with it.

`python -m tests.statements` writes the statements of the version at hand, of both kinds of database, to
`tests/recordings/statements/<revision>-<kind>.json`; a release does so once, before its next revision is begun.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic.runtime.migration import MigrationContext
from sqlalchemy import event
from sqlalchemy.engine import make_url

from server.access.keys import KeyStore
from server.storage.database import open_database
from server.storage.price_records import ObservedPrice, PricedDay, PriceRecords
from server.storage.share_records import ShareRecords, StoredShare
from server.storage.transactions import Lease
from tests.postgresql import run_postgresql

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

FOLDER = Path(__file__).parent / "recordings/statements"
_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_KINDS = {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "moment": (datetime, datetime.isoformat, datetime.fromisoformat),
    "day": (date, date.isoformat, date.fromisoformat),
}


def frozen(revision: str, url: str) -> list[dict[str, Any]]:
    """Return the statements of a revision, for the kind of database of the URL, in order, each with its outcome."""
    file = FOLDER / f"{revision}-{make_url(url).get_backend_name()}.json"
    statements: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return statements


async def replay(connection: AsyncConnection, statements: list[dict[str, Any]]) -> list[Any]:
    """Run statements in order on an AUTOCOMMIT connection; return the rows of each, else how many it changed."""
    outcomes = []
    for statement in statements:
        result = await connection.exec_driver_sql(statement["sql"], _unpacked(statement["parameters"]))
        rows = [list(row) for row in result] if result.returns_rows else None
        outcomes.append(_packed(result.rowcount if rows is None else rows))
    return outcomes


async def _record(engine: AsyncEngine) -> list[dict[str, Any]]:
    """Return every statement that the stores send, in order."""
    sent: list[dict[str, Any]] = []

    def note(connection: Any, cursor: Any, sql: str, parameters: Any, context: Any, many: bool) -> None:
        for single in parameters if many else [parameters]:
            sent.append({"sql": sql, "parameters": _packed(single)})

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    await _drive(engine)
    event.remove(engine.sync_engine, "before_cursor_execute", note)
    return sent


async def _drive(engine: AsyncEngine) -> None:
    """Have every store do what it does: with rows that there are and that there are not."""
    keys = KeyStore(engine)
    await keys.create_key("first")
    second, _ = await keys.create_key("second", 2.5, 7)
    await keys.revoke_key(second)
    await keys.list_keys()
    await keys.version()
    await keys.live_keys()
    await keys.issue_ticket(b"k" * 32)
    await keys.live_tickets()
    prices = PriceRecords(engine)
    observation = ObservedPrice("ETH", "feed", _NOON, Decimal("3000.125"))
    day = PricedDay("ETH", _NOON.date(), "collector", Decimal("3100"), Decimal("3000.5"), _NOON, 1 << 12)
    for hour in range(2):
        later = day._replace(last_at=_NOON + timedelta(hours=hour), hours=1 << (12 + hour))
        await prices.note([observation], [later], [("ETH", _NOON.date(), _NOON)])
    await prices.read("ETH", _NOON.date(), _NOON.date())
    await prices.forget(_NOON, _NOON.date())
    shares = ShareRecords(engine)
    for moment in (_NOON, _NOON + timedelta(minutes=5)):
        await shares.note([StoredShare("base", "0x" + "1" * 40, moment, 10**36 + 1)], _NOON - timedelta(days=30))
    await shares.read("base", "0x" + "1" * 40, _NOON - timedelta(days=1), _NOON + timedelta(days=1))
    lease, other = (Lease(engine, "calendar", holder, clock=lambda: _NOON) for holder in ("a", "b"))
    await lease.hold(60)
    await other.hold(60)
    await lease.hold(60)
    await lease.release()
    await keys.version()


def _packed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(part) for part in value]
    if isinstance(value, memoryview):
        value = bytes(value)
    return next(({kind: pack(value)} for kind, (of, pack, _) in _KINDS.items() if isinstance(value, of)), value)


def _unpacked(parameters: list[Any]) -> tuple[Any, ...]:
    return tuple(
        next(_KINDS[kind][2](text) for kind, text in part.items()) if isinstance(part, dict) else part
        for part in parameters
    )


async def _freeze(url: str, empty: str) -> None:
    engine = await open_database(url)
    statements = await _record(engine)
    async with engine.connect() as connection:
        revision = await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())
    await engine.dispose()
    engine = await open_database(empty)
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        outcomes = await replay(connection, statements)
    await engine.dispose()
    lines = [json.dumps({**sent, "outcome": found}) for sent, found in zip(statements, outcomes, strict=True)]
    kind = make_url(url).get_backend_name()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{revision}-{kind}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, run_postgresql() as server:
        asyncio.run(_freeze(f"sqlite:///{folder}/a.db", f"sqlite:///{folder}/b.db"))
        asyncio.run(_freeze(server.database(), server.database()))
