"""`waypost keys`: API keys of the gateway whose configuration is given."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

from cli.options import add_config, add_network, read_settings, storage_refusal
from server.access.keys import KeyNotFound, KeyStore
from server.storage.database import open_database, set_aside
from server.storage.failures import STORAGE_FAILURES, describe_database

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
    """Run the action; the exit code is 1 when it was refused."""
    if arguments.action == "create" and arguments.name.strip().lower() in RESERVED:
        print(f"{arguments.name} is the gateway's own name: choose another", file=sys.stderr)
        return 1
    settings = read_settings(arguments)
    try:
        text, notes = asyncio.run(_run(arguments, settings))
    except Uncertain as error:
        mistake = storage_refusal(error.failure, settings)
        unknown = "whether the key is revoked is not known, see `waypost keys list`"
        print(f"config error: {mistake.key} = {mistake.value}: {unknown}: {mistake.fix}", file=sys.stderr)
        return 1
    except STORAGE_FAILURES as error:
        still = "the key is NOT revoked and still works: " if arguments.action == "revoke" else ""
        mistake = storage_refusal(error, settings)
        print(f"config error: {mistake.key} = {mistake.value}: {still}{mistake.fix}", file=sys.stderr)
        return 1
    except (KeyNotFound, ValueError) as error:
        print(f"{error}; looked in {_database(settings)}", file=sys.stderr)
        return 1
    # Printed last: a failing output is no failing database.
    if text and not _print(text, arguments.action):
        return 1
    for note in (*notes, f"in {_database(settings)}"):
        print(note, file=sys.stderr)
    return 0


def _print(text: str, action: str) -> bool:
    """Print the answer; where standard output takes none (a file on a full disk) report what is done all the same."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        done = {"create": "the key is made but lost, revoke it", "revoke": "the key is revoked"}.get(
            action, "it is read"
        )
        print(f"the answer cannot be printed ({error.strerror}): {done}", file=sys.stderr)
        return False
    return True


class Uncertain(Exception):
    """The database went away while a key was being revoked: it may or may not be."""

    def __init__(self, failure: BaseException) -> None:
        super().__init__(str(failure))
        self.failure = failure


async def _run(arguments: argparse.Namespace, settings: Settings) -> tuple[str, list[str]]:
    """Return what is to be printed, and notes for its reader."""
    # On a full disk even a look into the list needs room, by which the key to revoke is found.
    spends_reserve = arguments.action != "create"
    engine = await open_database(
        settings.storage.url.get_secret_value(), settings.profile, spends_reserve=spends_reserve
    )
    notes: list[str] = []
    try:
        store = KeyStore(engine)
        # PostgreSQL itself would wait for another session's lock for ever.
        async with asyncio.timeout(_LONGEST_SECONDS):
            if arguments.action == "create":
                number, key = await store.create_key(arguments.name, arguments.rate, arguments.burst)
                if arguments.json:
                    text = json.dumps({"id": number, "name": arguments.name, "key": key})
                else:
                    text = key
                    notes.append(f"key {number} for {arguments.name}; keep it now, it cannot be shown again")
            elif arguments.action == "revoke":
                record = await store.revoke_key(arguments.key)
                text = json.dumps(_row(record)) if arguments.json else f"key {record.id} ({record.name}) is revoked"
            else:
                text = _list(await store.list_keys(), as_json=arguments.json)
                if not text:
                    notes.append("no keys yet; `waypost keys create NAME` makes one")
        if spends_reserve and not await set_aside(engine):
            notes.append("the space set aside for revocations is used up: free some on that disk")
    except (TimeoutError, DBAPIError) as error:
        went_away = isinstance(error, TimeoutError) or error.connection_invalidated
        if arguments.action == "revoke" and went_away:
            raise Uncertain(error) from None
        raise
    finally:
        await engine.dispose()
    return text, notes


def _database(settings: Settings) -> str:
    """Return which profile's database it is and where it is."""
    return f"the {settings.profile} database: {describe_database(settings.storage.url.get_secret_value())}"


def _list(records: list[KeyRecord], *, as_json: bool) -> str:
    rows = [_row(record) for record in records]
    if as_json:
        return json.dumps(rows, indent=2)
    if not rows:
        return ""
    lines = [f"{'id':>4}  {'key':<12} {'rate':>8} {'burst':>7}  {'created':<20}  {'revoked':<20}  name"]
    for row in rows:
        rate, burst = row["rate"] or "default", row["burst"] or "default"
        shown, revoked = row["key"] + "...", row["revoked"] or "-"
        lines.append(
            f"{row['id']:>4}  {shown:<12} {rate:>8} {burst:>7}  {row['created']}  {revoked:<20}  {row['name']}"
        )
    return "\n".join(lines)


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
