"""Writes docs/terminal.svg, the README's terminal: what `python -m scripts.terminal_picture` sees of a real session.

It serves the local chains on the default ports, which must be free, and asks them. Lines that are left out are shown as
one of three dots, long ones are broken; nothing else is changed.
"""

from __future__ import annotations

import html
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).resolve().parents[1]
PICTURE = _ROOT / "docs" / "terminal.svg"
_COLUMNS, _LINE, _MARGIN, _CHARACTER = 100, 19, 18, 8.43
_READY = "Ctrl-C ends it."
_SECONDS = 300
SERVE = "./waypost serve --network devnet"
ASKED = (
    """curl -s localhost:8080/local/v1 -H 'content-type: application/json' -d """
    """'{"jsonrpc":"2.0","id":1,"method":"getBalance","params":{"chain":"ethereum","address":"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"}}'""",
    "./waypost call resolveENS name=vitalik.eth --compact",
)
_STYLE = """
  .screen { fill: #0d1117; stroke: #30363d }
  .said { fill: #c9d1d9 }
  .typed { fill: #7ee787 }
"""


class Line(NamedTuple):
    """A line of the terminal; `typed` where it is a command."""

    text: str
    typed: bool = False


def serve() -> tuple[subprocess.Popen[str], list[Line]]:
    """Return the serving process and what it printed until it served. Raises RuntimeError when it did not."""
    process = subprocess.Popen(
        shlex.split(SERVE), cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    lines, deadline = [], time.monotonic() + _SECONDS
    assert process.stdout is not None
    for text in process.stdout:
        lines.append(Line(text.rstrip()))
        if text.startswith(_READY):
            return process, lines
        if time.monotonic() > deadline:
            break
    process.kill()
    raise RuntimeError("the gateway did not come to serve: " + "\n".join(line.text for line in lines))


def shorten(lines: list[Line]) -> list[Line]:
    """Return the greeting without what it suggests to try, and of the chains' lines the first and the last."""
    chains = [number for number, line in enumerate(lines) if re.search(r"\d/\d+ ", line.text)]
    examples = [number for number, line in enumerate(lines) if line.text.startswith(("Try:", "  curl", "  grpcurl"))]
    left_out = {*chains[1:-1], *examples}
    kept: list[Line] = []
    for number, line in enumerate(lines):
        if number not in left_out:
            kept.append(line)
        elif kept[-1].text != "...":
            kept.append(Line("..."))
    return kept


def broken(line: Line) -> list[Line]:
    """Return a line as a terminal of the width shows it."""
    starts = range(0, max(len(line.text), 1), _COLUMNS)
    return [Line(line.text[start : start + _COLUMNS], line.typed) for start in starts]


def draw(lines: list[Line]) -> str:
    """Return the picture of the lines."""
    shown = [part for line in lines for part in broken(line)]
    width, height = int(_COLUMNS * _CHARACTER + 2 * _MARGIN), len(shown) * _LINE + 2 * _MARGIN
    texts = [
        f'<text class="{"typed" if line.typed else "said"}" x="{_MARGIN}" y="{_MARGIN + (number + 1) * _LINE - 5}" '
        f'xml:space="preserve">{html.escape(line.text)}</text>'
        for number, line in enumerate(shown)
        if line.text
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" role="img">'
    )
    screen = f'<rect class="screen" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    return "\n".join([head, "<title>A session</title>", f"<style>{_STYLE}</style>", screen, *texts, "</svg>", ""])


def main() -> int:
    """Run the session and write the picture."""
    process, lines = serve()
    session = [Line(f"$ {SERVE}", typed=True), *shorten(lines)]
    try:
        for command in ASKED:
            answer = subprocess.run(
                shlex.split(command), cwd=_ROOT, capture_output=True, text=True, check=True, timeout=60
            )
            session += [Line(""), Line(f"$ {command}", typed=True)]
            session += [Line(text) for text in answer.stdout.splitlines()]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    PICTURE.write_text(draw(session))
    return 0


if __name__ == "__main__":
    sys.exit(main())
