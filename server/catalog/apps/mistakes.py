"""What is wrong with an app's files, told by file and entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class AppMistake:
    """One mistake: the file as `<appId>/<file>`, the entry in it (`deployments[0].address`), and what to write."""

    file: str
    entry: str
    fix: str

    def __str__(self) -> str:
        return f"{self.file}: {self.entry}: {self.fix}" if self.entry else f"{self.file}: {self.fix}"


class AppsRefused(Exception):
    """Apps that cannot be published, with every mistake that was found."""

    def __init__(self, mistakes: Sequence[AppMistake]) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)
