"""Data files -> the address book. Every mistake of every file is reported; files with mistakes are not used."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.catalog.data_file import DataFile
from server.catalog.mistakes import FileMistake, FilesRefused
from server.catalog.protocols.book import CATEGORIES, AddressBook, RegisteredContract, RegisteredProtocol
from server.checksum import checksum_address

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).with_name("data")
ABIS = Path(__file__).with_name("abi")
APPS = Path(__file__).parents[2] / "marketplace" / "apps"

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEY = re.compile(r"[A-Za-z0-9]{1,64}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_APP_ABI = re.compile(r"[a-z0-9]+/[a-z0-9]+")
_ENTRIES = ("name", "neutral", "category", "url", "version", "description", "sources", "without_abi", "contracts")
_CONTRACT_ENTRIES = ("name", "address", "source", "abi")


@cache
def load_address_book() -> AddressBook:
    """Return the address book of the files beside this module."""
    return read_address_book(DATA, ABIS)


def read_address_book(folder: Path, abis: Path) -> AddressBook:
    """Return the address book of a folder: one TOML file per protocol, named by its slug; `abis` holds their ABIs.

    Raises FilesRefused with every mistake.
    """
    mistakes: list[FileMistake] = []
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        mistakes.append(FileMistake(folder.name, "", "there is no file of a protocol in it"))
    files = [DataFile(path, mistakes) for path in paths]
    protocols = [_read_protocol(file, abis) for file in files if file.is_read]
    if mistakes:
        raise FilesRefused(mistakes)
    return AddressBook(protocols)


def _read_protocol(file: DataFile, abis: Path) -> RegisteredProtocol:
    if not _SLUG.fullmatch(file.stem):
        file.report("", "name the file by the protocol's slug: lower-case letters and digits, parted by dashes")
    table = file.table
    file.refuse_others(table, _ENTRIES)
    sources = table.get("sources", {})
    if not isinstance(sources, dict) or not all(isinstance(text, str) and text for text in sources.values()):
        file.report("sources", 'write a table of sources, each a name = "where it is published"')
        sources = {}
    reasons = table.get("without_abi", {})
    if not isinstance(reasons, dict) or not all(isinstance(text, str) and text for text in reasons.values()):
        file.report("without_abi", 'write a table of contract keys, each with the reason = "why there is no ABI"')
        reasons = {}
    contracts = {
        chain: {
            key: _read_contract(file, f"contracts.{chain}.{key}", key, row, sources, reasons, abis)
            for key, row in rows.items()
        }
        for chain, rows in file.tables("contracts").items()
    }
    without = {key for rows in contracts.values() for key, contract in rows.items() if contract.abi is None}
    for key in reasons:
        if key not in without:
            file.report(f"without_abi.{key}", "no contract of this key lacks an ABI: remove it")
    used = {contract.source for rows in contracts.values() for contract in rows.values()}
    for name in sources:
        if sources[name] not in used:
            file.report(f"sources.{name}", "no contract names this source: remove it")
    return RegisteredProtocol(
        slug=file.stem,
        name=file.text(table, "name"),
        neutral=file.text(table, "neutral") if "neutral" in table else None,
        category=file.word(table, "category", CATEGORIES),
        url=file.address_of_page(table, "url"),
        version=file.text(table, "version"),
        description=file.text(table, "description"),
        contracts=contracts,
    )


def _read_contract(
    file: DataFile,
    where: str,
    key: str,
    row: Any,
    sources: Mapping[str, str],
    reasons: Mapping[str, str],
    abis: Path,
) -> RegisteredContract:
    if not _KEY.fullmatch(key):
        file.report(where, "write a contract key of letters and digits")
    if not isinstance(row, dict):
        file.report(where, 'write { name = "...", address = "...", source = "..." }')
        return RegisteredContract("", "", "")
    file.refuse_others(row, _CONTRACT_ENTRIES, where)
    address = row.get("address")
    fix = _address_fix(address)
    if fix is not None:
        file.report(f"{where}.address", fix)
    source = sources.get(file.word(row, "source", tuple(sources) or ("a source that [sources] has",), where), "")
    abi = _read_abi(file, f"{where}.abi", row["abi"], abis) if "abi" in row else None
    if "abi" not in row and key not in reasons:
        file.report(f"{where}.abi", f"name its ABI, or say in [without_abi] why {key} has none")
    why = reasons.get(key) if abi is None else None
    return RegisteredContract(file.text(row, "name", where), str(address), source, abi, why)


def _read_abi(file: DataFile, where: str, name: Any, abis: Path) -> bytes | None:
    is_published = isinstance(name, str) and _APP_ABI.fullmatch(name)
    if not isinstance(name, str) or not (is_published or _KEY.fullmatch(name)):
        file.report(where, "name a file of the ABI folder, or an app and its file (lido/steth), without .json")
        return None
    try:
        return _load_abi((APPS if is_published else abis) / f"{name}.json")
    except OSError:
        file.report(where, f"there is no {name}.json in the {'apps' if is_published else 'ABI'} folder")
    except ValueError as error:
        file.report(where, f"{name}.json {error}")
    return None


@cache
def _load_abi(path: Path) -> bytes:
    """Return an ABI on one line. Raises OSError, and ValueError that says what the file is not."""
    try:
        items = json.loads(path.read_bytes())
    except ValueError:
        raise ValueError("is not JSON") from None
    if not isinstance(items, list) or not all(isinstance(item, dict) and "type" in item for item in items):
        raise ValueError("is not a JSON array of ABI items")
    return json.dumps(items, separators=(",", ":")).encode()


def _address_fix(address: Any) -> str | None:
    """Return what to write instead of an address, None where it is right."""
    if not isinstance(address, str):
        return "write the contract's address"
    if not address.startswith("0x"):
        return None if _BASE58.fullmatch(address) else "write an EVM address, or a Base58 program id"
    try:
        right = checksum_address(address)
    except ValueError as error:
        return str(error)
    return None if address == right else f"write it with its EIP-55 checksum: {right}"
