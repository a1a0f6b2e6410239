"""Flat rows -> one nested JSON value, however deep (decisions 2.3).

Call traces go deeper than protobuf, orjson or Python recurse: the text is put together with a stack of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from transcoder.values import Unprintable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARENT = "parent"


def nested(
    rows: Sequence[Any], members: Callable[[Any], dict[str, Any]], children: str, where: str
) -> orjson.Fragment | None:
    """Return the first row with its descendants nested under the name `children`; None without rows.

    Each row but the first names an earlier row as its `parent`; anything else raises Unprintable.
    """
    if not rows:
        return None
    below: list[list[int]] = [[] for _ in rows]
    for index, row in enumerate(rows):
        if row.HasField(PARENT) != (index > 0) or (index and not 0 <= row.parent < index):
            raise Unprintable(f"{where}: row {index} does not follow its parent")
        if index:
            below[row.parent].append(index)
    opening = orjson.dumps(children) + b":["
    parts: list[bytes] = []
    waiting: list[bytes | int] = [0]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, bytes):
            parts.append(entry)
            continue
        own = members(rows[entry])
        own.pop(PARENT, None)
        text = orjson.dumps(own)
        if not below[entry]:
            parts.append(text)
            continue
        parts += [text[:-1], b"," if own else b"", opening]
        waiting.append(b"]}")
        for place, child in enumerate(reversed(below[entry])):
            if place:
                waiting.append(b",")
            waiting.append(child)
    return orjson.Fragment(b"".join(parts))
