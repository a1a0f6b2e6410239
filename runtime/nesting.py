"""How deeply a JSON text is nested, found before anything parses it.

Parsers recurse: the bound keeps every later step (ours, the server's, a node's) far from its own limit.
"""

from __future__ import annotations

import re

DEEPEST = 64

# One that does not end reaches to the end of the text. If it were none, the search would start anew at every quote in
# it: a body of 80 kB would take seconds.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_EVERYTHING_ELSE = bytes(byte for byte in range(256) if byte not in b"[]{}")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_RUNS = re.compile(rb"\[+|\]+")
_OPEN = ord("[")
_ROUNDS = 4


def nests_too_deeply(text: bytes) -> bool:
    """Return whether arrays and objects in the text are nested more than 64 deep. The text need not be valid JSON."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    brackets = _STRINGS.sub(b"", text).translate(_ONE_KIND, _EVERYTHING_ELSE)
    # Each round takes one level of innermost pairs away at the speed of bytes.replace. Of wide texts, which have the
    # most brackets, little is left for the walk below.
    for _ in range(_ROUNDS):
        brackets = brackets.replace(b"[]", b"")
    depth = _ROUNDS
    for run in _RUNS.finditer(brackets):
        length = run.end() - run.start()
        if brackets[run.start()] != _OPEN:
            depth -= length
        elif (depth := depth + length) > DEEPEST:
            return True
    return False
