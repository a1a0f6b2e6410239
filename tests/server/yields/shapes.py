"""Documents in other shapes: one member changed, or several at random; the same every time."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

OTHERS = [..., None, "", "NaN", "0.5", True, [], {}, -1, -1e300, 1e300, 10**400, 0.5, ["a"], {"a": 1}]


def put(document: Any, path: Path, value: Any) -> Any:
    """Return the document with another value at a path; `...` takes the member away."""
    changed = copy.deepcopy(document)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def paths(document: Any) -> Iterator[Path]:
    """Yield the path of every member and item."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (key,)
        if isinstance(value, dict | list):
            yield from ((key, *path) for path in paths(value))


def mutated(document: Any, count: int) -> Iterator[bytes]:
    """Yield so many mutations: values of other types and sizes, members renamed, added, twice; documents cut short."""
    pick = random.Random(13)
    places = list(paths(document))
    for _ in range(count):
        changed = document
        for _ in range(pick.randint(1, 2)):
            path = pick.choice(places)
            try:
                changed = _mutate(changed, path, pick)
            except (KeyError, IndexError, TypeError):
                continue  # what stood there is gone
        body = json.dumps(changed).encode()
        if pick.random() < 0.15:
            body = body[: pick.randrange(len(body))]
        yield body


def _mutate(document: Any, path: Path, pick: random.Random) -> Any:
    kind = pick.randrange(4)
    if kind == 0 and isinstance(path[-1], str):
        parent = document
        for step in path[:-1]:
            parent = parent[step]
        return put(put(document, path, ...), (*path[:-1], path[-1] + "2"), parent[path[-1]])
    if kind == 1:
        return put(document, (*path[:-1], "extra" if isinstance(path[-1], str) else path[-1]), pick.choice(OTHERS[1:]))
    return put(document, path, pick.choice(OTHERS))
