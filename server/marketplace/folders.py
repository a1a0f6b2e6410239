"""The published apps as folders: one per app, named by its appId.

`app.toml` states what the app is and where it is deployed, JSON files beside it hold the ABIs. Operators add a
directory of such folders by configuration. Every mistake is reported; a folder with mistakes publishes nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.catalog.data_file import LARGEST_FILE, DataFile, FileMistake, FilesRefused, address_fix
from server.contracts.events import NAME
from server.contracts.types import parse_type
from server.marketplace.catalogue import OPERATION_OF, App, Catalogue, Deployment, PublishedMethod, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from runtime.settings import Settings
    from server.marketplace.catalogue import AbiItem, MethodOperation

    Report = Callable[[str, str], None]

PREFIX = "svc"
TABLE = "app.toml"
LONGEST_NAME = 80
KINDS = ("function", "event", "error", "constructor", "fallback", "receive")
MOST_ITEMS = 1000
MOST_PARAMETERS = 256
MOST_INDEXED = 3

_BUILT_IN = Path(__file__).parent / "apps"
_WORD = re.compile(r"[a-z0-9]{1,64}")
_ENTRIES = ("name", "template", "deployments")
_DEPLOYMENT_ENTRIES = ("name", "chain", "address", "abi", "alone")


@dataclass(frozen=True, slots=True)
class _Item:
    """A name that a deployment publishes, with the ABI items behind it."""

    operation: MethodOperation
    items: tuple[AbiItem, ...]


def open_catalogue(settings: Settings, chains: Collection[str]) -> Catalogue:
    """Return the built-in apps with those of `marketplace.apps`; `chains` are the slugs of the EVM chains.

    Raises ConfigError with every mistake in the operator's apps.
    """
    directory = settings.marketplace.apps
    try:
        return load_catalogue(chains, directory)
    except FilesRefused as refused:
        raise refused.of_setting("marketplace.apps", directory) from None


def load_catalogue(chains: Collection[str], directory: Path | None = None) -> Catalogue:
    """Return the built-in apps together with those of an operator's directory.

    `chains` are the slugs of the EVM chains. Raises FilesRefused with every mistake; an operator's appId that is taken
    by a built-in app is one.
    """
    reader = FolderReader(chains)
    folders = sorted(path.parent for path in _BUILT_IN.glob(f"*/{TABLE}"))
    if directory is not None:
        folders += _operators_folders(directory, reader.mistakes)
    apps: dict[str, App] = {}
    methods: dict[str, PublishedMethod] = {}
    for folder in folders:
        read = reader.read(folder)
        if read is None:
            continue
        app, published = read
        if app.app_id in apps:
            fix = "an app of this appId is published already: rename the folder"
            reader.mistakes.append(FileMistake(f"{folder.name}/{TABLE}", "", fix))
            continue
        apps[app.app_id] = app
        for method in published:
            if method.name in methods:
                fix = f"the method {method.name} is published already by {methods[method.name].app.app_id}"
                reader.mistakes.append(FileMistake(f"{folder.name}/{TABLE}", "", fix))
            methods[method.name] = method
    if reader.mistakes:
        raise FilesRefused(reader.mistakes)
    return Catalogue(apps.values(), methods.values(), chains)


class FolderReader:
    """Reads apps; `mistakes` collects what is wrong with them. `chains` are the slugs of the EVM chains."""

    def __init__(self, chains: Collection[str]) -> None:
        self.mistakes: list[FileMistake] = []
        self._chains = chains

    def read(self, folder: Path) -> tuple[App, tuple[PublishedMethod, ...]] | None:
        """Return the folder's app and methods; None when there are mistakes in it."""
        before = len(self.mistakes)
        file = f"{folder.name}/{TABLE}"
        if not _WORD.fullmatch(folder.name):
            self._report(file, "", "an app's folder is named by its appId: lower-case letters and digits")
            return None
        opened = DataFile(folder / TABLE, self.mistakes, file)
        if not opened.is_read:
            return None
        table = opened.table
        opened.refuse_others(table, _ENTRIES)
        name = table.get("name")
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            self._report(file, "name", f"write the app's name, one line of at most {LONGEST_NAME} characters")
        is_template = table.get("template", False)
        if not isinstance(is_template, bool):
            self._report(file, "template", "write true for contracts at any address, else leave it out")
        rows = table.get("deployments")
        if not isinstance(rows, list) or not rows:
            self._report(file, "deployments", "write at least one [[deployments]] table")
            return None
        deployments: list[tuple[Deployment, dict[str, _Item]]] = []
        for position, row in enumerate(rows):
            read = self._deployment(opened, folder, row, f"deployments[{position}]", is_template=is_template is True)
            if read is None:
                continue
            if any((other.chain, other.name) == (read[0].chain, read[0].name) for other, _ in deployments):
                where = f"on {read[0].chain}" if read[0].chain else "of the template"
                fix = f"another deployment {where} has this name: their methods would be the same"
                self._report(file, f"deployments[{position}].name", fix)
            deployments.append(read)
        if len(self.mistakes) > before:
            return None
        app = App(folder.name, table["name"], is_template, tuple(deployment for deployment, _ in deployments))
        return app, tuple(
            PublishedMethod(
                name=name,
                app=app,
                deployment=deployment,
                operation=published.operation,
                abi_item=published.items[0],
                is_overloaded=len({signature(item) for item in published.items}) > 1,
                variants=published.items[1:] if len({signature(item) for item in published.items}) == 1 else (),
            )
            for deployment, by_name in deployments
            for name, published in by_name.items()
        )

    def _deployment(
        self, opened: DataFile, folder: Path, row: Any, where: str, *, is_template: bool
    ) -> tuple[Deployment, dict[str, _Item]] | None:
        file = opened.name
        before = len(self.mistakes)
        if not isinstance(row, dict):
            self._report(file, where, "write a [[deployments]] table")
            return None
        opened.refuse_others(row, _DEPLOYMENT_ENTRIES, where)
        name, chain, address, abi_name = (row.get(key) for key in ("name", "chain", "address", "abi"))
        if not isinstance(name, str) or not _WORD.fullmatch(name):
            self._report(file, f"{where}.name", "write lower-case letters and digits")
        if is_template:
            for key in ("chain", "address"):
                if key in row:
                    self._report(file, f"{where}.{key}", "a template's callers give it: remove it")
        else:
            if chain not in self._chains:
                self._report(file, f"{where}.chain", f"write one of the EVM chains: {', '.join(self._chains)}")
            fix = address_fix(address)
            if fix is not None:
                self._report(file, f"{where}.address", fix)
        if not isinstance(abi_name, str) or "/" in abi_name or not abi_name.endswith(".json"):
            self._report(file, f"{where}.abi", "name a JSON file beside app.toml")
            return None
        items = self._abi(folder / abi_name, f"{folder.name}/{abi_name}")
        if items is None or len(self.mistakes) > before:
            return None
        segments = (PREFIX, folder.name, chain, name) if chain else (PREFIX, folder.name, name)
        by_name = self._methods("_".join(map(str, segments)), items, f"{folder.name}/{abi_name}")
        alone = row.get("alone", [])
        reads = {one.items[0]["name"] for one in by_name.values() if one.operation == "call"}
        if not isinstance(alone, list) or not all(isinstance(one, str) and one in reads for one in alone):
            self._report(file, f"{where}.alone", "write an array of names of view or pure functions in the ABI")
            return None
        deployment = Deployment(
            name=str(name),
            chain=chain,
            address=address,
            methods=tuple(by_name),
            abi=json.dumps(items, separators=(",", ":")).encode(),
            abi_items=tuple(items),
            alone=frozenset(alone),
        )
        return deployment, by_name

    def _methods(self, prefix: str, items: Iterable[AbiItem], file: str) -> dict[str, _Item]:
        found: dict[str, _Item] = {}
        for position, item in enumerate(items):
            operation = _operation(item)
            if operation is None:
                continue
            name = f"{prefix}_{operation}_{item['name']}"
            others = found[name].items if name in found else ()
            same = [other for other in others if signature(other) == signature(item)]
            if any(item["type"] == "function" or indexed_count(other) == indexed_count(item) for other in same):
                self._report(file, f"[{position}]", f"the ABI has {signature(item)} twice: remove one")
            found[name] = _Item(operation, (*others, item))
        if not found:
            self._report(file, "", "the ABI publishes nothing: it has neither functions nor events")
        return found

    def _abi(self, path: Path, file: str) -> list[Any] | None:
        try:
            items = json.loads(self._text(path), parse_constant=_refuse_constant)
        except OSError:
            self._report(file, "", "there is no such file, or it cannot be read")
            return None
        except (ValueError, RecursionError):
            self._report(file, "", f"write a JSON array of ABI items, in UTF-8, of at most {LARGEST_FILE} bytes")
            return None
        if not isinstance(items, list) or not 0 < len(items) <= MOST_ITEMS:
            inside = ": here it is the `abi` inside" if isinstance(items, dict) and "abi" in items else ""
            self._report(file, "", f"write a JSON array of 1 to {MOST_ITEMS} ABI items{inside}")
            return None
        well = True
        for position, item in enumerate(items):

            def report(entry: str, fix: str, at: str = f"[{position}]") -> None:
                self._report(file, f"{at}.{entry}" if entry else at, fix)

            well = check_item(item, report) and well
        return items if well else None

    def _text(self, path: Path) -> str:
        with path.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise ValueError(f"it is larger than {LARGEST_FILE} bytes")
        return content.decode()

    def _report(self, file: str, entry: str, fix: str) -> None:
        mistake = FileMistake(file, entry, fix)
        # Deployments may share an ABI, whose mistakes are reported once.
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _operation(item: AbiItem) -> MethodOperation | None:
    """Return what an ABI item is published as; None for one that is not (an anonymous event has no first topic)."""
    if item["type"] == "function":
        return OPERATION_OF[item["stateMutability"]]
    return "getLogs" if item["type"] == "event" and not item.get("anonymous", False) else None


def _operators_folders(directory: Path, mistakes: list[FileMistake]) -> list[Path]:
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        mistakes.append(FileMistake(directory.name, "", "there is no such directory, or it cannot be read"))
        return []
    return [path for path in entries if path.is_dir() and not path.name.startswith((".", "_"))]


def check_item(item: Any, report: Report) -> bool:
    """Return whether the item is well formed; `report(entry, fix)` receives what is not, entries relative to it."""
    mistakes = list(_item_mistakes(item))
    for entry, fix in mistakes:
        report(entry, fix)
    return not mistakes


def indexed_count(item: Any) -> int:
    """Return how many of an event's inputs are indexed."""
    return sum(1 for parameter in item["inputs"] if parameter["indexed"])


def _item_mistakes(item: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(item, dict):
        yield "", "an ABI item is an object"
        return
    kind = item.get("type")
    if kind not in KINDS:
        yield "type", f"write one of {', '.join(KINDS)}"
        return
    if kind in ("fallback", "receive"):
        return
    if kind != "constructor" and not (isinstance(item.get("name"), str) and NAME.fullmatch(item["name"])):
        yield "name", "write the item's name, a Solidity identifier"
    if kind == "function" and item.get("stateMutability") not in OPERATION_OF:
        yield "stateMutability", f"write one of {', '.join(OPERATION_OF)}"
    if kind == "event" and not isinstance(item.get("anonymous", False), bool):
        yield "anonymous", "write true or false"
    yield from _parameters(item.get("inputs"), "inputs", in_event=kind == "event")
    if kind == "function":
        yield from _parameters(item.get("outputs"), "outputs")
    if kind == "event" and isinstance(item.get("inputs"), list):
        indexed = sum(1 for entry in item["inputs"] if isinstance(entry, dict) and entry.get("indexed") is True)
        most = MOST_INDEXED + bool(item.get("anonymous"))
        if indexed > most:
            yield "inputs", f"at most {most} inputs of an event are indexed"


def _parameters(given: Any, where: str, *, in_event: bool = False) -> Iterator[tuple[str, str]]:
    if not isinstance(given, list) or len(given) > MOST_PARAMETERS:
        yield where, f"write an array of at most {MOST_PARAMETERS} parameters, empty where there are none"
        return
    for position, parameter in enumerate(given):
        entry = f"{where}[{position}]"
        if not isinstance(parameter, dict):
            yield entry, "a parameter is an object"
            continue
        name = parameter.get("name", "")
        if not isinstance(name, str) or (name and not NAME.fullmatch(name)):
            yield f"{entry}.name", "write the parameter's name, a Solidity identifier, empty where it has none"
        try:
            parse_type(parameter)
        except ValueError as error:
            yield f"{entry}.type", f"{error}; write a Solidity type such as uint256, address, bytes32[] or tuple"
        if in_event and not isinstance(parameter.get("indexed"), bool):
            yield f"{entry}.indexed", "say whether the event's input is indexed: true or false"
