"""`waypost keys`: API keys of the gateway whose configuration is given."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from cli.options import add_config, add_network, read_settings
from cli.refusals import storage_refusal
from server.access.keys import KeyNotFound, KeyStore
from server.storage.database import open_database
from server.storage.failures import STORAGE_FAILURES, describe_database
from server.storage.reserve import set_aside

if TYPE_CHECKING:
    import argparse

    from runtime.settings import Settings
    from server.access.keys import KeyRecord

# Names that the gateway itself uses for callers without an own key.
RESERVED = ("demo", "local")

_LONGEST_SECONDS = 60.0


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
        add_network(action)
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; the exit code is 1 when it was refused."""
    if arguments.action == "create" and arguments.name.strip().lower() in RESERVED:
        print(f"{arguments.name} is the gateway's own name: choose another", file=sys.stderr)
        return 1
    settings = read_settings(arguments)
    try:
        return asyncio.run(_run(arguments, settings))
    except STORAGE_FAILURES as error:
        still = "the key is NOT revoked and still works: " if arguments.action == "revoke" else ""
        mistake = storage_refusal(error, settings)
        print(f"config error: {mistake.key} = {mistake.value}: {still}{mistake.fix}", file=sys.stderr)
        return 1
    except (KeyNotFound, ValueError) as error:
        print(f"{error}; looked in {_database(settings)}", file=sys.stderr)
        return 1


async def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    # On a full disk even a look into the list needs room, by which the key to revoke is found.
    spends_reserve = arguments.action != "create"
    engine = await open_database(
        settings.storage.url.get_secret_value(), settings.profile, spends_reserve=spends_reserve
    )
    try:
        store = KeyStore(engine)
        # PostgreSQL itself would wait for another session's lock for ever.
        async with asyncio.timeout(_LONGEST_SECONDS):
            if arguments.action == "create":
                await _create(store, arguments, settings)
            elif arguments.action == "revoke":
                record = await store.revoke_key(arguments.key)
                print(json.dumps(_row(record)) if arguments.json else f"key {record.id} ({record.name}) is revoked")
                print(f"in {_database(settings)}", file=sys.stderr)
            else:
                _list(await store.list_keys(), settings, as_json=arguments.json)
        if spends_reserve and not await set_aside(engine):
            print("the space set aside for revocations is used up: free some on that disk", file=sys.stderr)
    finally:
        await engine.dispose()
    return 0


def _database(settings: Settings) -> str:
    """Return whose database it is and where it lies."""
    return f"the {settings.profile} database: {describe_database(settings.storage.url.get_secret_value())}"


async def _create(store: KeyStore, arguments: argparse.Namespace, settings: Settings) -> None:
    number, key = await store.create_key(arguments.name, arguments.rate, arguments.burst)
    if arguments.json:
        print(json.dumps({"id": number, "name": arguments.name, "key": key}))
    else:
        print(key)
        print(f"key {number} for {arguments.name}; keep it now, it cannot be shown again", file=sys.stderr)
    print(f"in {_database(settings)}", file=sys.stderr)


def _list(records: list[KeyRecord], settings: Settings, *, as_json: bool) -> None:
    rows = [_row(record) for record in records]
    print(f"in {_database(settings)}", file=sys.stderr)
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
