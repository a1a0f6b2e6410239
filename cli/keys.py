"""`waypost keys`: API keys of the gateway whose configuration is given."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from cli.options import add_config, read_settings
from cli.refusals import storage_refusal
from server.access.keys import KeyNotFound, KeyStore
from server.storage.database import open_database

if TYPE_CHECKING:
    import argparse

    from runtime.settings import Settings
    from server.access.keys import KeyRecord

# Names that the gateway itself uses for callers without an own key.
RESERVED = ("demo", "local")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost keys`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a key and print it; it cannot be shown again")
    create.add_argument("name", help="who or what the key is for")
    create.add_argument("--rate", type=float, metavar="UNITS", help="units per second (default: the configured rate)")
    create.add_argument("--burst", type=int, metavar="UNITS", help="units at once (default: the configured burst)")
    listing = actions.add_parser("list", help="list the keys, revoked ones included")
    revoke = actions.add_parser("revoke", help="revoke a key; every process refuses it within 5 seconds")
    revoke.add_argument("key", help="number of the key, the beginning shown by list, or the key itself")
    for action in (create, listing, revoke):
        add_config(action)
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; the exit code is 1 when it was refused."""
    if arguments.action == "create" and arguments.name.strip().lower() in RESERVED:
        print(f"{arguments.name} is the gateway's own name: choose another", file=sys.stderr)
        return 1
    settings = read_settings(arguments)
    try:
        return asyncio.run(_run(arguments, settings))
    except (KeyNotFound, ValueError) as error:
        print(str(error), file=sys.stderr)
        return 1


async def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    try:
        engine = await open_database(settings.storage.url.get_secret_value())
    except (OSError, SQLAlchemyError) as error:
        raise storage_refusal(error) from None
    try:
        store = KeyStore(engine)
        if arguments.action == "create":
            await _create(store, arguments)
        elif arguments.action == "revoke":
            record = await store.revoke_key(arguments.key)
            print(json.dumps(_row(record)) if arguments.json else f"key {record.id} ({record.name}) is revoked")
        else:
            _list(await store.list_keys(), as_json=arguments.json)
    finally:
        await engine.dispose()
    return 0


async def _create(store: KeyStore, arguments: argparse.Namespace) -> None:
    number, key = await store.create_key(arguments.name, arguments.rate, arguments.burst)
    if arguments.json:
        print(json.dumps({"id": number, "name": arguments.name, "key": key}))
    else:
        print(key)
        print(f"key {number} for {arguments.name}; keep it now, it cannot be shown again", file=sys.stderr)


def _list(records: list[KeyRecord], *, as_json: bool) -> None:
    rows = [_row(record) for record in records]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    if not rows:
        print("no keys yet; `waypost keys create NAME` makes one", file=sys.stderr)
        return
    print(f"{'id':>4}  {'key':<12} {'rate':>8} {'burst':>7}  {'created':<20}  {'revoked':<20}  name")
    for row in rows:
        rate, burst = row["rate"] or "default", row["burst"] or "default"
        shown, revoked = row["key"] + "...", row["revoked"] or "-"
        print(f"{row['id']:>4}  {shown:<12} {rate:>8} {burst:>7}  {row['created']}  {revoked:<20}  {row['name']}")


def _row(record: KeyRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "key": record.prefix,
        "rate": record.rate,
        "burst": record.burst,
        "created": f"{record.created_at:%Y-%m-%dT%H:%M:%SZ}",
        "revoked": f"{record.revoked_at:%Y-%m-%dT%H:%M:%SZ}" if record.revoked_at else None,
    }
