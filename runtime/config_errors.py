"""Configuration that is refused: the key, the value and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ConfigError(Exception):
    """A configuration mistake, told so that the operator can mend it without reading code.

    `key` is the dotted key (`http.port`, `chains.ethereum.endpoints[0].url`), `value` the value as it may be shown
    (secrets and URLs hidden), `fix` what to write instead, `origin` where the value came from (a file, an environment
    variable, a command-line option) when that is known. `others` are further mistakes of the same configuration.
    """

    def __init__(
        self, key: str, value: str, fix: str, *, origin: str | None = None, others: Sequence[ConfigError] = ()
    ) -> None:
        super().__init__(key, value, fix)
        self.key = key
        self.value = value
        self.fix = fix
        self.origin = origin
        self.others = tuple(others)

    def __str__(self) -> str:
        stated = f"{self.key} = {self.value}" if self.value else self.key
        return f"{stated} (from {self.origin}): {self.fix}" if self.origin else f"{stated}: {self.fix}"

    def every(self) -> tuple[ConfigError, ...]:
        """Return this mistake and the others found with it."""
        return (self, *self.others)


class Refusal(ValueError):
    """What a settings validator raises: the member it is about, the value as it may be shown, and the fix.

    `member` is relative to the model that raises, empty for the model or field itself; `value` None leaves showing the
    value to the caller, who hides what is secret.
    """

    def __init__(self, fix: str, *, member: str = "", value: str | None = None) -> None:
        super().__init__(fix)
        self.fix = fix
        self.member = member
        self.value = value


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean "x"?)` for the nearest known word, or an empty text."""
    match = nearest(word, known)
    return f' (did you mean "{match}"?)' if match else ""
