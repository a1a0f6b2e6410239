"""`waypost usage`: what the keys of a gateway have used, out of its database."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cli.keys import span
from cli.options import add_config, add_network, read_settings, storage_refusal
from cli.terminal import Cell, fail, note, table
from server.access.keys import KeyStore
from server.storage.database import open_database
from server.storage.failures import STORAGE_FAILURES, describe_database
from server.storage.tables import FIGURES
from server.storage.usage_records import HOURS_DAYS, UsageRecords

if TYPE_CHECKING:
    import argparse

    from runtime.settings import Settings
    from server.access.keys import KeyRecord
    from server.storage.usage_records import UsageSum

_LONGEST_SECONDS = 60.0
_KEY = "key:"
# Of the figures those that a table has room for, by their headings.
_COLUMNS = {
    "requests": "requests",
    "items": "items",
    "units": "units",
    "cached": "cache_hits",
    "failed": "errors",
    "upstream": "upstream_requests",
    "sent": "bytes_sent",
    "received": "bytes_received",
    "joined": "joined",
    "folded": "folded",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost usage`."""
    parser.add_argument("--key", metavar="NAME", help="a key's name, number or beginning; or demo, local, gateway")
    parser.add_argument(
        "--since", type=span, default=timedelta(days=7), metavar="TIME", help="such as 24h (default: 7d)"
    )
    parser.add_argument(
        "--by",
        choices=("account", "operation", "chain", "day", "hour"),
        help="what a row is of (default: each key; of one key each operation)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, with errors by reason")
    form.add_argument("--csv", action="store_true", help="print CSV")
    add_config(parser)
    add_network(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the figures; the exit code is 1 when there is no such key or no database."""
    settings = read_settings(arguments)
    by = arguments.by or ("account" if arguments.key is None else "operation")
    try:
        first = datetime.now(UTC) - arguments.since
        sums, names = asyncio.run(_read(settings, by, first, arguments.key))
    except STORAGE_FAILURES as error:
        raise storage_refusal(error, settings) from None
    except LookupError as error:
        return fail(f"{error}; looked in {_database(settings)}", as_json=arguments.json)
    except OverflowError:
        return fail("--since reaches back before time; write one such as 24h, 7d or 52w", as_json=arguments.json)
    rows = [_row(one, by, names) for one in sums]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif arguments.csv:
        print(_csv(rows, by), end="")
    else:
        print(_table(rows, by))
    notes = [f"since {first:%Y-%m-%dT%H}:00Z; of the last seconds nothing is in yet", f"in {_database(settings)}"]
    if by == "hour" and arguments.since > timedelta(days=HOURS_DAYS):
        notes.insert(0, f"hours are kept for {HOURS_DAYS} days; older rows are whole days")
    for text in notes:
        note(text, as_json=arguments.json)
    return 0


async def _read(settings: Settings, by: Any, first: datetime, key: str | None) -> tuple[list[UsageSum], dict[str, str]]:
    """Return the sums, and the names of keys by their accounts. Raises LookupError for a key that there is not."""
    engine = await open_database(settings.storage.url.get_secret_value(), settings.profile)
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            records = await KeyStore(engine).list_keys()
            account = None if key is None else _account(key, records)
            hour = first.replace(minute=0, second=0, microsecond=0)
            begin = hour.replace(hour=0) if by == "day" else hour
            found = await UsageRecords(engine).read(by, begin, datetime.max.replace(tzinfo=UTC), account)
    finally:
        await engine.dispose()
    return found, {f"{_KEY}{record.id}": record.name for record in records}


def _account(key: str, records: list[KeyRecord]) -> str:
    """Return the account of a key by its name, number or beginning, or of what is no key. Raises LookupError."""
    if key in ("demo", "local", "gateway"):
        return key
    number = key.removeprefix(_KEY)
    found = [one for one in records if key in (one.name, one.prefix) or number == str(one.id)]
    if not found:
        raise LookupError(f"no key is called {key}; `waypost keys list` lists them")
    if len(found) > 1:
        raise LookupError(f"several keys are called {key}: give one of the numbers {[one.id for one in found]}")
    return f"{_KEY}{found[0].id}"


def _row(one: UsageSum, by: str, names: dict[str, str]) -> dict[str, Any]:
    group = one.group if isinstance(one.group, str) else f"{one.group:%Y-%m-%dT%H:%M:%SZ}"
    named = {"name": names.get(group, "")} if by == "account" else {}
    return {by: group, **named, **{name: one.figures[name] for name in FIGURES}, "errors": one.errors}


def _printed(row: dict[str, Any]) -> list[Any]:
    return [sum(row[name].values()) if name == "errors" else row[name] for name in _COLUMNS.values()]


def _csv(rows: list[dict[str, Any]], by: str) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    labels = [by, "name"] if by == "account" else [by]
    writer.writerow([*labels, *_COLUMNS.values()])
    writer.writerows([*(row[label] for label in labels), *_printed(row)] for row in rows)
    return written.getvalue()


def _table(rows: list[dict[str, Any]], by: str) -> str:
    if not rows:
        return "nothing was used in that time"
    labels = [f"{row[by]} ({row['name']})" if row.get("name") else row[by] or "-" for row in rows]
    figures = [[f"{figure:,}" for figure in _printed(row)] for row in rows]
    summed = [f"{sum(column):,}" for column in zip(*map(_printed, rows), strict=True)]
    lines = [[label, *of] for label, of in zip(labels, figures, strict=True)]
    lines.append([Cell(text, "bold") for text in ("all", *summed)])
    return table([by, *_COLUMNS], lines, right=range(1, len(_COLUMNS) + 1))


def _database(settings: Settings) -> str:
    url = settings.storage.url.get_secret_value()
    return f"the {settings.profile} database: {describe_database(url)}"
