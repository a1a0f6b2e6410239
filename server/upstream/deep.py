"""JSON too deep for a parser that recurses: call traces nest up to 1024 calls, two levels of JSON each.

Only the brackets are followed, never a value's content: whoever reads a value parses it and finds what is wrong in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A string that does not end reaches to the end of the text. If it were none, the search would start anew at every
# quote in it.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
# Twice of what 1024 calls come to, two levels each: a text of brackets alone is given up early.
_DEEPEST = 4096
_COLON = re.compile(rb"\s*:\s*")


def tokens(text: bytes) -> Iterator[re.Match[bytes]]:
    """Return the strings and brackets of a JSON text in their order."""
    return _TOKEN.finditer(text)


def split_members(text: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object by name, each value in its own bytes, however deep they are.

    Raises:
        ValueError: the text is no object, nests deeper than traces do, or its brackets do not match.
    """
    members: dict[str, bytes] = {}
    open_brackets: list[bytes] = []
    name, start = "", -1
    for token in tokens(text):
        mark = token[0]
        if mark in (b"{", b"["):
            open_brackets.append(mark)
            if len(open_brackets) > _DEEPEST:
                raise ValueError("nested more deeply than any trace")
        elif mark in (b"}", b"]"):
            if not open_brackets or open_brackets.pop() != (b"{" if mark == b"}" else b"["):
                raise ValueError("brackets that do not match")
            if not open_brackets:
                if mark != b"}" or text[token.end() :].strip():
                    raise ValueError("not one object")
                if start >= 0:
                    members[name] = text[start : token.start()].strip()
                return members
        elif len(open_brackets) == 1 and (colon := _COLON.match(text, token.end())):
            if start >= 0:
                members[name] = text[start : token.start()].strip().removesuffix(b",").strip()
            name, start = mark[1:-1].decode(), colon.end()
    raise ValueError("an object that does not end")
