"""How files of tests are handed to the processes of pytest-xdist, and taken again from one that died."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadFileScheduling

# Folders whose tests stay in one process: starting the Starknet engine takes longer than most of their files.
TOGETHER = {"tests/server/chains/starknet", "tests/faults/families"}
_TESTS = Path(__file__).parent
# A process runs a test once it knows the one after it, or that there is none.
_KNOWN_AHEAD = 2


@cache
def wants_all_chains(scope: str) -> bool:
    """Return whether tests of the file or folder take all EVM chains of the devnet: they or a conftest name it."""
    path = _TESTS.parent / scope
    files = [path, *(folder / "conftest.py" for folder in (path, *path.parents) if _TESTS in folder.parents)]
    return any("full_devnet" in file.read_text() for file in files if file.is_file())


class FolderOrFile(LoadFileScheduling):  # type: ignore[misc]  # no types
    """Gives a process a whole file, or a whole folder where its tests share what is dear.

    Sixteen EVM nodes start in ten seconds of processor time: half of the processes run the tests that take them all.
    """

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._with_all_chains: set[Any] = set()

    def remove_node(self, node: Any) -> str | None:
        """Return the test that a dead process was running, and hand out again what it had not begun.

        The library would hand out what had passed too, as units without a test: who gets one waits for ever.
        """
        work = self.assigned_work[node]
        begun = next((test for tests in work.values() for test, ended in tests.items() if not ended), None)
        for scope, tests in list(work.items()):
            work[scope] = {test: False for test, ended in tests.items() if not ended and test != begun}
            if not work[scope]:
                del work[scope]
        super().remove_node(node)
        return begun

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        folder = file.rpartition("/")[0]
        return folder if folder in TOGETHER else file

    def _next(self, node: Any) -> str | None:
        """Return what the process does next, None if the others do what is left."""
        first = next(iter(self.workqueue))
        if node in self._with_all_chains:
            return next((scope for scope in self.workqueue if wants_all_chains(scope)), first)
        if len(self._with_all_chains.intersection(self.nodes)) < (self.numnodes + 1) // 2:
            return str(first)
        return next((scope for scope in self.workqueue if not wants_all_chains(scope)), None)

    def _assign_work_unit(self, node: Any) -> None:
        scope = self._next(node)
        if scope is None:
            node.shutdown()
            return
        if wants_all_chains(scope):
            self._with_all_chains.add(node)
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        """Give the process more where it has little left, and as much as it needs to go on."""
        if node not in self.registered_collections:
            # It takes the place of a dead one, and is still collecting.
            return
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < _KNOWN_AHEAD:
            super()._reschedule(node)
