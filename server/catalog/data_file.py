"""One TOML file of the catalogue while it is read: its tables, and the mistakes found in them by file and entry."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runtime.config_errors import ConfigError
from server.contracts.address import checksum_address

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileMistake:
    """One mistake: the file's name, the entry in it (`contracts.ethereum.pool.address`), and what to write."""

    file: str
    entry: str
    fix: str

    def __str__(self) -> str:
        return f"{self.file}: {self.entry}: {self.fix}" if self.entry else f"{self.file}: {self.fix}"


class FilesRefused(Exception):
    """Data files that cannot be used, with every mistake that was found."""

    def __init__(self, mistakes: Sequence[FileMistake]) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)

    def of_setting(self, key: str, folder: Path | None) -> ConfigError:
        """Return the same as mistakes of the setting that names the operator's folder."""
        first, *others = [ConfigError(key, str(folder), str(mistake)) for mistake in self.mistakes]
        return ConfigError(key, str(folder), first.fix, others=others)


LARGEST_FILE = 1 << 20
LONGEST_TEXT = 500


class DataFile:
    """A TOML file; `is_read` is False and `table` empty where it cannot be read.

    Mistakes go to the list that it is given, with the file's own name where no other is given.
    """

    def __init__(self, path: Path, mistakes: list[FileMistake], name: str = "") -> None:
        self.name = name or path.name
        self.stem = path.stem
        self._mistakes = mistakes
        table = self._read(path)
        self.is_read = table is not None
        self.table: Mapping[str, Any] = table or {}

    def report(self, entry: str, fix: str) -> None:
        """Note a mistake of an entry, `""` for one of the whole file."""
        self._mistakes.append(FileMistake(self.name, entry, fix))

    def refuse_others(self, table: Mapping[str, Any], known: Collection[str], where: str = "") -> None:
        """Report every entry of the table that is none of the known ones."""
        for key in table:
            if key not in known:
                self.report(_join(where, key), f"there is no such entry; the entries are {', '.join(known)}")

    def text(self, table: Mapping[str, Any], key: str, where: str = "") -> str:
        """Return a text of one line; reported, and `""`, where it is missing, blank or no such text."""
        value = table.get(key)
        if isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= LONGEST_TEXT:
            return value
        self.report(_join(where, key), f"write text of one line and at most {LONGEST_TEXT} characters")
        return ""

    def word(self, table: Mapping[str, Any], key: str, words: Collection[str], where: str = "") -> str:
        """Return one of the words; reported, and `""`, where it is none."""
        value = table.get(key)
        if isinstance(value, str) and value in words:
            return value
        self.report(_join(where, key), f"write one of {', '.join(words)}")
        return ""

    def address_of_page(self, table: Mapping[str, Any], key: str, where: str = "") -> str:
        """Return an https address; reported, and `""`, where it is none."""
        value = table.get(key)
        if isinstance(value, str) and _is_https(value):
            return value
        self.report(_join(where, key), "write an address that begins with https://")
        return ""

    def tables(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the tables inside a table of the file; reported, and left out, where one is no table."""
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            self.report(key, f"write tables [{key}.<name>]")
            return {}
        for name, inner in value.items():
            if not isinstance(inner, dict):
                self.report(f"{key}.{name}", "write a table")
        return {name: inner for name, inner in value.items() if isinstance(inner, dict)}

    def _read(self, path: Path) -> Mapping[str, Any] | None:
        try:
            with path.open("rb") as opened:
                content = opened.read(LARGEST_FILE + 1)
            if len(content) > LARGEST_FILE:
                self.report("", f"it is larger than {LARGEST_FILE} bytes")
                return None
            return tomllib.loads(content.decode())
        except OSError as error:
            self.report("", f"it cannot be read ({error.strerror})")
        except UnicodeDecodeError:
            self.report("", "it is not UTF-8 text")
        except tomllib.TOMLDecodeError as error:
            self.report("", f"it is not TOML: {error}")
        except RecursionError:
            self.report("", "it nests too deeply")
        return None


def address_fix(address: Any) -> str | None:
    """Return what to write instead of an EVM contract's address, None where it is right."""
    if not isinstance(address, str):
        return "write the contract's address"
    try:
        right = checksum_address(address)
    except ValueError as error:
        return str(error)
    return None if address == right else f"write it with its EIP-55 checksum: {right}"


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _is_https(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and text.isprintable() and " " not in text
