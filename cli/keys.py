"""`waypost keys`: API keys of the gateway whose configuration is given."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

from cli.options import add_config, add_json, add_network, read_settings, storage_refusal
from cli.terminal import Cell, fail, note, table
from runtime.config_errors import nearest
from runtime.operations import load_operations, load_watches
from server.access.keys import KeyNotFound, KeyStore
from server.chains.facts import load_facts
from server.storage.database import open_database, set_aside
from server.storage.failures import STORAGE_FAILURES, describe_database

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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
    listing = actions.add_parser("list", help="list the keys, revoked ones included")
    change = actions.add_parser("set", help="change what a key may do; every process follows within 5 seconds")
    rotate = actions.add_parser("rotate", help="give a key a new text and print it; the old one works on for a while")
    ending = rotate.add_mutually_exclusive_group()
    ending.add_argument(
        "--overlap",
        type=lambda given: None if given.strip().lower() == "none" else _moment(given),
        default="24h",
        metavar="TIME",
        help="let the old text work so long, or to a day (or `none`; default: %(default)s)",
    )
    ending.add_argument(
        "--replace",
        action="store_true",
        help="end the text that the last rotation made, which was lost or has leaked; the one before works on",
    )
    revoke = actions.add_parser("revoke", help="revoke a key; every process refuses it within 5 seconds")
    for action in (change, rotate, revoke):
        action.add_argument(
            "key", metavar="NAME|ID", help="name or number of the key, the beginning shown by list, or the key itself"
        )
    change.add_argument("--name", help="who or what the key is for", default=argparse.SUPPRESS)
    for action, unset in ((create, ""), (change, "; the word takes it back")):
        _add_terms(action, unset)
    for action in (create, listing, change, rotate, revoke):
        add_config(action)
        add_network(action)
        add_json(action)


# Terms of a key by the names of their arguments, which are absent where nothing was said.
_TERMS = {
    "name": "name",
    "rate": "rate",
    "burst": "burst",
    "expires": "expires_at",
    "allow": "operations",
    "chains": "chains",
    "notes": "notes",
}


def _add_terms(action: argparse.ArgumentParser, unset: str) -> None:
    """Add the terms of a key; each has a word for none of its own."""

    def add(name: str, kind: Callable[[str], Any], word: str, metavar: str, text: str) -> None:
        def read(given: str) -> Any:
            return None if given.strip().lower() == word else kind(given)

        action.add_argument(
            f"--{name}", type=read, metavar=metavar, default=argparse.SUPPRESS, help=f"{text} (or `{word}`{unset})"
        )

    add("rate", _number(float), "default", "UNITS", "units per second")
    add("burst", _number(int), "default", "UNITS", "units at once")
    add("expires", _moment, "never", "TIME", "end it after so long (30d, 12h) or at a day (2027-01-31, UTC)")
    add("allow", _operations, "all", "NAMES", "the only operations that it may call, such as getBalance,getPrice")
    add("chains", _slugs, "all", "CHAINS", "the only chains that it may read, such as ethereum,base")
    add("notes", str, "none", "TEXT", "what else there is to know about it")


def _number(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            whole = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text} is not {whole} of units") from None

    return read


_SPAN = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def span(text: str) -> timedelta:
    """Return a length of time such as 30d, 12h, 45m or 2w; argparse's error for anything else."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is no length of time; write one such as 45m, 12h, 30d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _moment(text: str) -> datetime:
    """Return the moment after a length of time, or at the beginning of a day (UTC)."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        pass
    else:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    try:
        return datetime.now(UTC) + span(text)
    except OverflowError:
        raise argparse.ArgumentTypeError(f"{text} is too far ahead; write `never` for good") from None
    except argparse.ArgumentTypeError:
        advice = "write a length such as 12h or 30d, or a day such as 2027-01-31"
        raise argparse.ArgumentTypeError(f"{text} is no time; {advice}") from None


def _operations(text: str) -> list[str]:
    """Return operations by their names; one that is given by an alias has its name."""
    everything = (*load_operations(), *load_watches())
    known = {alias: one.name for one in everything for alias in (one.name, *one.aliases)}
    return [known[name] for name in _known(text, known, "operation", "`waypost methods` lists them")]


def _slugs(text: str) -> list[str]:
    return _known(text, load_facts(), "chain", "`waypost check` lists them")


def _known(text: str, known: Collection[str], what: str, where: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise argparse.ArgumentTypeError(f"name at least one {what}, or `all`")
    for name in names:
        if name not in known:
            near = nearest(name, known)
            advice = f"did you mean {near}?" if near else where
            raise argparse.ArgumentTypeError(f"there is no {what} {name}; {advice}")
    return names


def run(arguments: argparse.Namespace) -> int:
    """Run the action; the exit code is 1 when it was refused."""
    if getattr(arguments, "name", "").strip().lower() in RESERVED:
        return fail(f"{arguments.name} is the gateway's own name: choose another", as_json=arguments.json)
    settings = read_settings(arguments)
    try:
        text, notes = asyncio.run(_run(arguments, settings))
    except Uncertain as error:
        mistake = storage_refusal(error.failure, settings)
        unknown = "whether the key is revoked is not known, see `waypost keys list`"
        return fail(f"config error: {mistake.key} = {mistake.value}: {unknown}: {mistake.fix}", as_json=arguments.json)
    except STORAGE_FAILURES as error:
        still = "the key is NOT revoked and still works: " if arguments.action == "revoke" else ""
        mistake = storage_refusal(error, settings)
        return fail(f"config error: {mistake.key} = {mistake.value}: {still}{mistake.fix}", as_json=arguments.json)
    except (KeyNotFound, ValueError) as error:
        return fail(f"{error}; looked in {_database(settings)}", as_json=arguments.json)
    # Printed last: a failing output is no failing database.
    if text and not _print(text, arguments.action, as_json=arguments.json):
        return 1
    for line in (*notes, f"in {_database(settings)}"):
        note(line, as_json=arguments.json)
    return 0


def _print(text: str, action: str, *, as_json: bool) -> bool:
    """Print the answer; where standard output takes none (a file on a full disk) report what is done all the same."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        done = {
            "create": "the key is made but lost, revoke it",
            "rotate": "the key has a new text, which is lost: rotate it again with --replace, or with --overlap none",
            "set": "the key is changed",
            "revoke": "the key is revoked",
        }.get(action, "it is read")
        fail(f"the answer cannot be printed ({error.strerror}): {done}", as_json=as_json)
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
    spends_reserve = arguments.action in ("list", "revoke")
    engine = await open_database(
        settings.storage.url.get_secret_value(), settings.profile, spends_reserve=spends_reserve
    )
    notes: list[str] = []
    try:
        store = KeyStore(engine)
        # PostgreSQL itself would wait for another session's lock for ever.
        async with asyncio.timeout(_LONGEST_SECONDS):
            terms: Any = {term: getattr(arguments, name) for name, term in _TERMS.items() if hasattr(arguments, name)}
            if arguments.action == "create":
                number, key = await store.create_key(**terms)
                text = json.dumps({"id": number, "name": arguments.name, "key": key}) if arguments.json else key
                notes.append(f"key {number} for {arguments.name}; keep it now, it cannot be shown again")
            elif arguments.action == "rotate":
                overlap = None if arguments.replace else arguments.overlap
                record, key = await store.rotate_key(arguments.key, overlap, replaces=arguments.replace)
                row = _row(record)
                text = json.dumps({**row, "key": key}) if arguments.json else key
                until = f"works until {row['previousUntil']}" if row["previousUntil"] else "works no longer"
                made = f"key {record.id} ({record.name}) has a new text; the one before {until}"
                notes.append(f"{made}; keep the new one now, it cannot be shown again")
            elif arguments.action == "set":
                if not terms:
                    raise ValueError("nothing to change: give --name, --rate, --burst, --expires, --allow, ...")
                record = await store.set_key(arguments.key, **terms)
                text = json.dumps(_row(record)) if arguments.json else _list([record], as_json=False)
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
    cells = [
        (
            str(row["id"]),
            Cell(row["key"] + "...", "name"),
            str(row["rate"] or "default"),
            str(row["burst"] or "default"),
            row["created"],
            Cell(row["revoked"] or "-", "bad" if row["revoked"] else ""),
            Cell(row["expires"] or "never", "doubtful" if row["expires"] else ""),
            row["name"],
        )
        for row in rows
    ]
    headings = ("id", "key", "rate", "burst", "created", "revoked", "expires", "name")
    return table(headings, cells, right={0, 2, 3}, details=[_details(row) for row in rows])


def _details(row: dict[str, Any]) -> list[str]:
    details = [
        f"only these {what}: {', '.join(row[what])}" for what in ("operations", "chains") if row[what] is not None
    ]
    if row["previousUntil"]:
        details.append(f"the text before works until {row['previousUntil']}")
    return [*details, row["notes"]] if row["notes"] else details


def _row(record: KeyRecord) -> dict[str, Any]:
    rights = record.rights
    ends = [moment for moment in (record.previous_until, record.expires_at) if moment is not None]
    overlaps = record.previous_until is not None and min(ends) > datetime.now(UTC)
    operations, chains = (None, None) if rights is None else (rights.operations, rights.chains)
    return {
        "id": record.id,
        "name": record.name,
        "key": record.prefix,
        "rate": record.rate,
        "burst": record.burst,
        "created": _time(record.created_at),
        "revoked": _time(record.revoked_at) if record.revoked_at else None,
        "expires": _time(record.expires_at) if record.expires_at else None,
        "previousUntil": _time(min(ends)) if overlaps else None,
        "operations": None if operations is None else sorted(operations),
        "chains": None if chains is None else sorted(chains),
        "notes": record.notes,
    }


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
