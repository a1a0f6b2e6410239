"""What is wrong with data files, told by file and entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


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
