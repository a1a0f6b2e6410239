"""What commands print: tables, in colour on a terminal and plain elsewhere; errors and notes, as JSON on request.

Plain text has no escape sequences and no lines drawn, whatever the locale: it is for pipes, logs and scripts.
`NO_COLOR` and `TERM=dumb` make a terminal's plain too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import TextIO

    from runtime.config_errors import ConfigError

Style = Literal["", "bold", "dim", "good", "doubtful", "bad", "name", "value"]

_CODES: dict[Style, str] = {
    "bold": "1",
    "dim": "2",
    "good": "32",
    "doubtful": "33",
    "bad": "31",
    "name": "36",
    "value": "32",
}
_BETWEEN = "  "
_RULE = "\u2500"
_TOKENS = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*")(?=\s*:)|(?P<value>"(?:[^"\\]|\\.)*")')


class Cell(str):
    """A text of a table with a style of its own, which is not counted into its width."""

    style: Style

    def __new__(cls, text: str, style: Style = "") -> Cell:
        """Return the text with the style."""
        cell = super().__new__(cls, text)
        cell.style = style
        return cell


def is_styled(stream: TextIO | None = None) -> bool:
    """Return whether the stream (standard output by default) is a terminal that shows colours, and may."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in ("dumb", "")


def paint(text: str, style: Style, stream: TextIO | None = None) -> str:
    """Return the text in the style where the stream shows it, else as it is."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text and is_styled(stream) else text


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    details: Sequence[Sequence[str]] = (),
    bare: bool = False,
) -> str:
    """Return rows in columns under their headings, for standard output; a `bare` one has these on a terminal alone.

    `right` are the columns aligned to the right, `details` the lines below each row.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]

    def line(cells: Sequence[str], style: Style = "") -> str:
        padded = (
            " " * (width - len(cell)) * (place in right)
            + paint(str(cell), style or getattr(cell, "style", ""))
            + " " * (width - len(cell)) * (place not in right)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return _BETWEEN.join(padded).rstrip()

    def lines() -> Iterator[str]:
        if not bare or is_styled():
            yield line(headings, "bold")
        if is_styled() and (sys.stdout.encoding or "").lower().startswith("utf"):
            rule = _BETWEEN.join(_RULE * width for width in widths)
            yield paint(rule[: shutil.get_terminal_size().columns], "dim")
        for place, row in enumerate(rows):
            yield line(row)
            for detail in details[place] if details else ():
                yield paint(f"      {detail}", "dim")

    return "\n".join(lines())


def paint_json(text: str, stream: TextIO | None = None) -> str:
    """Return a JSON document with its names and texts in colour where the stream shows them, else as it is."""
    if not is_styled(stream):
        return text
    return _TOKENS.sub(lambda found: paint(found[0], "name" if found["name"] else "value", stream), text)


def fail(message: str, *, as_json: bool, mistakes: Sequence[ConfigError] = ()) -> int:
    """Print why a command failed to standard error, one line or one JSON document, and return its exit code, 1."""
    if as_json:
        error: dict[str, Any] = {"message": message}
        if mistakes:
            error["mistakes"] = [
                {"key": one.key, "value": one.value, "origin": one.origin, "fix": one.fix} for one in mistakes
            ]
        print(json.dumps({"error": error}), file=sys.stderr)
    else:
        print(paint(message, "bad", sys.stderr), file=sys.stderr)
    return 1


def note(text: str, *, as_json: bool) -> None:
    """Print what else there is to know to standard error: a line, or a JSON document on one."""
    print(json.dumps({"note": text}) if as_json else paint(text, "dim", sys.stderr), file=sys.stderr)
