"""A folder -> an app with its methods. Every mistake is reported; a folder with mistakes publishes nothing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.catalog.apps.abi_items import MOST_ITEMS, check_item, indexed_count, signature
from server.catalog.apps.published import OPERATION_OF, App, Deployment, PublishedMethod
from server.catalog.data_file import LARGEST_FILE, DataFile
from server.catalog.mistakes import FileMistake
from server.checksum import checksum_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from server.catalog.apps.published import AbiItem, MethodOperation

PREFIX = "svc"
TABLE = "app.toml"
LONGEST_NAME = 80

_WORD = re.compile(r"[a-z0-9]{1,64}")
_ENTRIES = ("name", "template", "deployments")
_DEPLOYMENT_ENTRIES = ("name", "chain", "address", "abi", "alone")


@dataclass(frozen=True, slots=True)
class _Item:
    """A name that a deployment publishes, with the ABI items behind it."""

    operation: MethodOperation
    items: tuple[AbiItem, ...]


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
                fix = f"another deployment {where} has this name: their methods could not be told apart"
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
            fix = _address_fix(address)
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
        # Deployments may share an ABI, whose mistakes are told once.
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _operation(item: AbiItem) -> MethodOperation | None:
    """Return what an ABI item is published as; None for one that is not (an anonymous event has no first topic)."""
    if item["type"] == "function":
        return OPERATION_OF[item["stateMutability"]]
    return "getLogs" if item["type"] == "event" and not item.get("anonymous", False) else None


def _address_fix(address: Any) -> str | None:
    if not isinstance(address, str):
        return "write the contract's address"
    try:
        right = checksum_address(address)
    except ValueError as error:
        return str(error)
    return None if address == right else f"write it with its EIP-55 checksum: {right}"
