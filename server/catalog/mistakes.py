"""What is wrong with data files, told by file and entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.config_errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
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
