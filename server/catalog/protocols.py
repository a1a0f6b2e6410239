"""The address book: which contracts of which protocols are deployed where.

It is the one place that addresses of protocols come from, read from one data file per protocol. Every mistake of every
file is reported; files with mistakes are not used.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.config_errors import nearest_few
from server.catalog.data_file import DataFile, FileMistake, FilesRefused, address_fix
from server.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

CATEGORIES = ("lending", "dex", "staking", "aggregator", "derivatives")
"""The categories of contract section 4.15, in its order."""


@dataclass(frozen=True, slots=True)
class RegisteredContract:
    """A contract at its address in canonical writing; `source` states where the address is published.

    `abi` is a JSON array, of a pinned package or of the published app that calls the contract; where it is None,
    `why_no_abi` states why (decisions section 5.4).
    """

    name: str
    address: str
    source: str
    abi: bytes | None = None
    why_no_abi: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredProtocol:
    """A protocol with its contracts by chain slug and key.

    `neutral` is the name that other operations use for the product (contract section 2.6), None where none has.
    """

    slug: str
    name: str
    neutral: str | None
    category: str
    url: str
    version: str
    description: str
    contracts: Mapping[str, Mapping[str, RegisteredContract]]


class AddressBook:
    """Every registered protocol by slug, sorted by it."""

    def __init__(self, protocols: Iterable[RegisteredProtocol]) -> None:
        self.protocols = {one.slug: one for one in sorted(protocols, key=lambda one: one.slug)}

    @property
    def chains(self) -> frozenset[str]:
        """The slugs of the chains on which something is registered."""
        return frozenset(chain for one in self.protocols.values() for chain in one.contracts)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that hold a protocol, in the contract's order."""
        used = {one.category for one in self.protocols.values()}
        return tuple(category for category in CATEGORIES if category in used)

    def find_protocol(self, slug: str) -> RegisteredProtocol:
        """Return the protocol of that slug; NotFound (field `slug`), naming the nearest slugs, where there is none."""
        found = self.protocols.get(slug)
        if found is None:
            raise NotFound(f"no protocol has that slug; {self._nearest_protocols(slug)}", field="slug")
        return found

    def find_contracts(self, slug: str, chain: str) -> Mapping[str, RegisteredContract]:
        """Return a protocol's contracts on a chain by key; NotFound where there are none, naming where there are."""
        protocol = self.find_protocol(slug)
        found = protocol.contracts.get(chain)
        if found is None:
            places = f"it has them on {', '.join(protocol.contracts)}" if protocol.contracts else "it has none anywhere"
            raise NotFound(f"{slug} has no registered contracts on {chain}; {places}", field="chain")
        return found

    def find_contract(self, slug: str, chain: str, key: str) -> RegisteredContract:
        """Return one contract; NotFound, naming the nearest keys, where the protocol has none of that key there."""
        contracts = self.find_contracts(slug, chain)
        found = contracts.get(key)
        if found is None:
            advice = _nearest(key, contracts) or f"its contracts there are {', '.join(contracts)}"
            raise NotFound(f"{slug} has no contract of that key on {chain}; {advice}", field="contract")
        return found

    def _nearest_protocols(self, text: str) -> str:
        meant = [one.slug for one in self.protocols.values() if one.neutral == text]
        if meant:
            return f"what is called {text} elsewhere is here {' or '.join(meant)}"
        return _nearest(text, self.protocols) or "getProtocols lists the slugs"


def _nearest(text: str, known: Collection[str]) -> str:
    near = nearest_few(text, known, most=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


DATA = Path(__file__).parent / "data" / "protocols"
ABIS = Path(__file__).parent / "data" / "abis"
APPS = Path(__file__).parents[1] / "marketplace" / "apps"

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEY = re.compile(r"[A-Za-z0-9]{1,64}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_APP_ABI = re.compile(r"[a-z0-9]+/[a-z0-9]+")
_ENTRIES = ("name", "neutral", "category", "url", "version", "description", "sources", "without_abi", "contracts")
_CONTRACT_ENTRIES = ("name", "address", "source", "abi")


@cache
def load_address_book() -> AddressBook:
    """Return the address book that comes with the gateway."""
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
    """Return an ABI on one line. Raises OSError, and ValueError that states what the file is not."""
    try:
        items = json.loads(path.read_bytes())
    except ValueError:
        raise ValueError("is not JSON") from None
    if not isinstance(items, list) or not all(isinstance(item, dict) and "type" in item for item in items):
        raise ValueError("is not a JSON array of ABI items")
    return json.dumps(items, separators=(",", ":")).encode()


def _address_fix(address: Any) -> str | None:
    """Return what to write instead of an address, None where it is right."""
    if isinstance(address, str) and not address.startswith("0x"):
        return None if _BASE58.fullmatch(address) else "write an EVM address, or a Base58 program id"
    return address_fix(address)
