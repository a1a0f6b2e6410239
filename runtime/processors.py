"""How many processors this process may use: by its affinity, and by the quota of its control groups (Linux)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROCESS = "proc/self/cgroup"
_GROUPS = "sys/fs/cgroup"
_QUOTA = "cpu.max"
# Of the one hierarchy of version 2: `0::/system.slice/waypost.service`.
_VERSION_2 = "0::/"


@cache
def usable_processors() -> int:
    """Return `count_processors()` as it was when this was first called: one process goes by one number all its life."""
    return count_processors()


def count_processors(root: Path = Path("/")) -> int:
    """Return how many processors the process may use, at least 1.

    Those of its affinity (where the system knows none, all that there are), or fewer where the `cpu.max` of a control
    group (version 2) that it is in allows it less time; parts of a processor count as one. What cannot be read bounds
    nothing. `root` is the folder that holds `proc` and `sys`.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [quota for text in _quota_texts(root) if (quota := parse_quota(text)) is not None]
    return max(1, min([available, *quotas]))


def parse_quota(text: str) -> int | None:
    """Return the processors that a `cpu.max` allows, rounded up; None for `max` and for any text of another form.

    The text holds the microseconds of processor time in each period and the period's own: `150000 100000` allows 2.
    """
    given, _, period = text.strip().partition(" ")
    if not all(number.isascii() and number.isdecimal() and int(number) > 0 for number in (given, period)):
        return None
    return -(-int(given) // int(period))


def _quota_texts(root: Path) -> Iterator[str]:
    """Yield the `cpu.max` of the process's group, and of all above it to the root, where a container sees its own."""
    lines = (_read(root / _PROCESS) or "").splitlines()
    named = next((line.removeprefix(_VERSION_2) for line in lines if line.startswith(_VERSION_2)), "")
    group = Path(named.lstrip("/"))
    # Of a group outside of the part that the process sees the path leads out of it.
    inside = () if ".." in group.parts else (group, *group.parents)
    for folder in {root / _GROUPS / one for one in (*inside, Path())}:
        text = _read(folder / _QUOTA)
        if text is not None:
            yield text


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
