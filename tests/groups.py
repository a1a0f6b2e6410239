"""Which tests run in one worker of pytest-xdist (`--dist loadgroup`), and which groups of tests begin first.

A worker starts anew what its tests share for the session (local chains, engines). So files that need what is dear to
start are dealt to a few groups; every other file is a group of its own. xdist hands groups out in the order of their
first tests (`--no-loadscope-reorder`).
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

# Folders whose tests stay in one process: starting the Starknet engine takes longer than most of their files.
TOGETHER = {"tests/contract/starknet", "tests/faults/families"}
# What takes half a minute and more, of which most is waiting for clocks and for gateways in processes of their own.
LONG = {
    "tests/e2e/test_devnet_processes.py",
    "tests/e2e/test_draining.py",
    "tests/e2e/test_serve_command.py",
    "tests/faults/floods/test_grpc_floods.py",
    "tests/faults/test_doors.py",
    "tests/faults/test_hangs.py",
    "tests/faults/test_hung_chains.py",
    "tests/faults/test_key_commands.py",
    "tests/faults/test_leaving.py",
    "tests/faults/test_workers.py",
}
# In how many groups the long ones are, and the files that need what is dear: they begin in this order, before all else.
SHARES = {"long": 3, "full_devnet": 2, "devnet": 4, "postgresql": 2}
# More workers than processors, as many tests wait for a clock or a node.
MORE_THAN_PROCESSORS = 3


def workers() -> int:
    """Return how many workers `-n auto` is."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1) + MORE_THAN_PROCESSORS


def arrange(items: list[pytest.Item]) -> None:
    """Mark each test with its group, and sort tests by group, in the order in which groups are to begin.

    First come the kinds of `SHARES`, then the groups of most cases (`tests.each` says how many are one test).
    """
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[_file(item)].append(item)
    cases = {file: sum(getattr(getattr(one, "function", None), "cases", 1) for one in files[file]) for file in files}
    group_of: dict[str, str] = {}
    kind_of: dict[str, str] = {}
    totals: dict[str, int] = defaultdict(int)
    for file in sorted(files, key=lambda one: (-cases[one], one)):
        kind = _kind(file, files[file])
        names = [f"{kind}-{number}" for number in range(SHARES[kind])] if kind in SHARES else [kind]
        group = min(names, key=lambda name: totals[name])
        group_of[file], kind_of[group] = group, kind
        totals[group] += cases[file]
    ranks = {kind: rank for rank, kind in enumerate(SHARES)}
    order = sorted(kind_of, key=lambda group: (ranks.get(kind_of[group], len(ranks)), -totals[group], group))
    places = {group: place for place, group in enumerate(order)}
    items.sort(key=lambda item: places[group_of[_file(item)]])
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of[_file(item)]))


def plain_name(nodeid: str) -> str:
    """Return a test's name without the group that a worker adds to it, `...::test_x[case]@group`."""
    name, _, _ = nodeid.rpartition("@")
    return name if nodeid.rfind("@") > nodeid.rfind("]") else nodeid


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _kind(file: str, items: Iterable[pytest.Item]) -> str:
    """Return the share that the file belongs to, the folder that stays together, or the file itself."""
    folder = file.rpartition("/")[0]
    if folder in TOGETHER:
        return folder
    if file in LONG:
        return "long"
    needed = set[str]()
    for item in items:
        needed.update(getattr(item, "fixturenames", ()))
        # A database of either kind: the test's name says which.
        needed.update({"postgresql"} if "[postgresql" in item.name else ())
    return next((kind for kind in SHARES if kind in needed), file)
