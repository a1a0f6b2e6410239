"""Runs the collected tests in forked processes: `pytest --processes auto`.

Collecting takes as long as hundreds of tests, so it is done once, and every process begins with what it collected.
The tests of a file run in one process, in their order, as do those of a folder of `TOGETHER`. What groups of tests
share for the session (local chains, engines) is started by as few processes as `HOLDERS` says. Tests that are marked
`alone` run at the end, in one process with nothing beside it.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import warnings
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.unraisableexception import collect_unraisable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from multiprocessing.process import BaseProcess

# Folders whose tests stay in one process: starting the Starknet engine takes longer than most of their files.
TOGETHER = {"tests/contract/starknet", "tests/faults/families"}
# What takes half a minute and more begins first, so that no process is left with it at the end. Most of it waits, for
# clocks and for gateways in processes of their own.
LONG = (
    # The first three have local chains, which their processes then have for the others.
    "tests/e2e/test_serve_command.py",
    "tests/faults/test_leaving.py",
    "tests/e2e/test_draining.py",
    "tests/faults/test_hangs.py",
    "tests/faults/test_doors.py",
    "tests/faults/floods/test_grpc_floods.py",
    "tests/faults/test_hung_chains.py",
    "tests/faults/test_key_commands.py",
    "tests/faults/test_workers.py",
    "tests/e2e/test_devnet_processes.py",
)
# What few processes may have: fixtures that are dear for a process's first test (`url` starts PostgreSQL), and what is
# long, beside which the others compute.
HOLDERS = {"full_devnet": 2, "devnet": 4, "url": 2, "long": 3}
# Packages for these are installed while the tests run: so great a part of the others comes before them.
STARKNET = ("starknet", "tests/faults/families")
STARKNET_AFTER = 0.4
# More processes than processors, as many tests wait for a clock or a node.
MORE_THAN_PROCESSORS = 3
# How long a process may take to end, with the nodes that it has started, once it has nothing to do.
ENDING_SECONDS = 60.0

_fork = multiprocessing.get_context("fork")


def add_options(parser: pytest.Parser) -> None:
    """Add `--processes`, a number or `auto`."""
    parser.addoption(
        "--processes", default="0", metavar="N", help="run tests in N forked processes, or `auto`; 0: in this one"
    )


def count(config: pytest.Config) -> int:
    """Return how many processes are asked for, 0 for none beside this one; raises UsageError."""
    asked = str(config.getoption("--processes"))
    if asked == "auto":
        has_affinity = hasattr(os, "sched_getaffinity")
        return (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1) + MORE_THAN_PROCESSORS
    if not asked.isdecimal():
        raise pytest.UsageError(f"--processes {asked}: give a number or `auto`")
    return int(asked)


@dataclass
class Group:
    """Tests that run in one process in this order, as places among the session's items."""

    name: str
    places: list[int] = field(default_factory=list)
    # How many cases its tests have: `tests.each` says how many are one test.
    cases: int = 0
    dear: set[str] = field(default_factory=set)


def groups_of(items: Sequence[pytest.Item], places: Iterable[int]) -> list[Group]:
    """Return the groups of the items at these places, in the order in which they are to begin.

    The long ones first, then those of unit, contract and other tests mixed, in each the groups of many cases first.
    """
    groups: dict[str, Group] = {}
    for place in places:
        item = items[place]
        file = item.nodeid.partition("::")[0]
        folder = file.rpartition("/")[0]
        name = folder if folder in TOGETHER else file
        group = groups.setdefault(name, Group(name))
        group.places.append(place)
        group.cases += getattr(getattr(item, "function", None), "cases", 1)
        group.dear.update(HOLDERS.keys() & set(getattr(item, "fixturenames", ())))
    ranks: dict[str, float] = {}
    kinds: dict[str, list[Group]] = defaultdict(list)
    for group in groups.values():
        if group.name in LONG:
            group.dear.add("long")
            ranks[group.name] = LONG.index(group.name) - len(LONG)
        else:
            kinds["/".join(group.name.split("/")[:2])].append(group)
    for kind in kinds.values():
        kind.sort(key=lambda group: -group.cases)
        for place, group in enumerate(kind):
            is_late = any(part in group.name for part in STARKNET)
            ranks[group.name] = max(place / len(kind), STARKNET_AFTER if is_late else 0)
    return sorted(groups.values(), key=lambda group: ranks[group.name])


class Queue:
    """Groups that no process has taken; hands out first what a process has the dear fixtures of already."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.left = list(groups)
        self._holders: dict[str, set[int]] = defaultdict(set)

    def take(self, process: int) -> Group | None:
        """Return the next group of the process; None where nothing is left that it may have."""
        allowed = [group for group in self.left if self._may_have(process, group)]
        if not allowed:
            return None
        # Dear ones before others: only few processes may have them.
        chosen = max(allowed, key=lambda group: (self._held(process, group), bool(group.dear)))
        self.left.remove(chosen)
        for name in chosen.dear:
            self._holders[name].add(process)
        return chosen

    def put_back(self, group: Group) -> None:
        """Take back what a process that has ended did not get to."""
        self.left.insert(0, group)

    def forget(self, process: int) -> None:
        """Take the process from the holders: it has ended."""
        for holders in self._holders.values():
            holders.discard(process)

    def _held(self, process: int, group: Group) -> int:
        return sum(process in self._holders[name] for name in group.dear)

    def _may_have(self, process: int, group: Group) -> bool:
        return all(process in self._holders[name] or len(self._holders[name]) < HOLDERS[name] for name in group.dear)


class Reporter:
    """In a test process: sends the reports of its tests to the process that collected."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._connection.send(("start", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._connection.send(
            ("report", self._config.hook.pytest_report_to_serializable(config=self._config, report=report))
        )

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._connection.send(("finish", (nodeid, location)))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        self._connection.send(("warning", (text, when, nodeid, location)))


def work(session: pytest.Session, number: int, connection: Connection, inherited: Iterable[Connection]) -> None:
    """Run what the connection brings, until it brings None; the body of a test process."""
    for one in inherited:
        one.close()
    config = session.config
    _settle(config, number)
    config.pluginmanager.register(Reporter(config, connection), "forked-reporter")
    item: pytest.Item | None = None
    # Where the connection is gone, so is the process that collected: what is left is to end what was started here.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        connection.send(("ready", None))
        while (places := connection.recv()) is not None:
            for place, after in zip(places, [*places[1:], None], strict=True):
                item = session.items[place]
                # Whatever comes after the group shares no more than the session with it.
                following: Any = session if after is None else session.items[after]
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.shouldfail or session.shouldstop or connection.poll():
                    break
            connection.send(("ready", None))
    with suppress(BrokenPipeError, ConnectionResetError):
        if item is not None:
            _end(item, config)
        connection.send(("ended", None))


def _settle(config: pytest.Config, number: int) -> None:
    """Give the process what it must not share: what it prints to, captures in and writes to."""
    config.pluginmanager.unregister(name="terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture.is_globally_capturing():
        capture.stop_global_capturing()
        capture.start_global_capturing()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"process-{number}"
    factory._basetemp.mkdir(mode=0o700)


def _end(item: pytest.Item, config: pytest.Config) -> None:
    """End the session's fixtures; what fails is reported as the last test's, as pytest does."""

    def end() -> None:
        item.session._setupstate.teardown_exact(None)
        gc.collect()
        collect_unraisable(config)

    call = pytest.CallInfo.from_call(end, "teardown")
    if call.excinfo is not None:
        config.hook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, call))


@dataclass
class Worker:
    """A test process as the one that collected sees it."""

    process: BaseProcess
    number: int
    group: Group | None = None
    # Where it is: the test that has begun and not ended, and how many of the group have ended.
    running: tuple[str, tuple[str, int | None, str]] | None = None
    done: int = 0


class Crew:
    """Processes that share the groups among them."""

    def __init__(self, session: pytest.Session, queue: Queue) -> None:
        self._session = session
        self._hook = session.config.hook
        self._queue = queue
        self._workers: dict[Connection, Worker] = {}

    def run(self, processes: int, first: int) -> int:
        """Run the groups in so many processes, numbered from `first`; returns the number after the last one's."""
        number = first
        try:
            for _ in range(processes):
                self._start(number)
                number += 1
            while self._workers:
                for ready in wait(list(self._workers)):
                    assert isinstance(ready, Connection)
                    if self._hear(ready):
                        self._start(number)
                        number += 1
        finally:
            for connection, worker in self._workers.items():
                connection.close()
                _join(worker.process)
        return number

    def _start(self, number: int) -> None:
        ours, theirs = _fork.Pipe()
        process = _fork.Process(
            target=work, args=(self._session, number, theirs, [*self._workers, ours]), name=f"tests-{number}"
        )
        process.start()
        theirs.close()
        self._workers[ours] = Worker(process, number)

    def _hear(self, connection: Connection) -> bool:
        """Take one message; returns whether the process is gone that had more to do."""
        worker = self._workers[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, ConnectionResetError):
            kind, content = "gone", None
        config = self._session.config
        if kind == "start":
            worker.running = content
        elif kind == "report":
            report = self._hook.pytest_report_from_serializable(config=config, data=content)
            self._hook.pytest_runtest_logreport(report=report)
            terminal = config.pluginmanager.getplugin("terminalreporter")
            if report.failed and terminal is not None:
                # At once: of a run that is cut off nothing else is left.
                terminal.ensure_newline()
                terminal.write_line(f"{report.nodeid} failed")
        elif kind == "finish":
            worker.running, worker.done = None, worker.done + 1
        elif kind == "warning":
            text, when, nodeid, location = content
            self._hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": _warning(text), "when": when, "nodeid": nodeid, "location": location}
            )
        elif kind == "ready":
            is_over = self._session.shouldfail or self._session.shouldstop
            worker.group, worker.done = None if is_over else self._queue.take(worker.number), 0
            connection.send(None if worker.group is None else worker.group.places)
        else:
            del self._workers[connection]
            connection.close()
            _join(worker.process)
            self._queue.forget(worker.number)
            if kind == "gone":
                self._report_crash(worker)
                return worker.group is not None
        return False

    def _report_crash(self, worker: Worker) -> None:
        """Have the test that ran fail, and those of its group that are left run elsewhere."""
        code = worker.process.exitcode
        text = f"test process {worker.number} ended by itself (exit code {code})"
        nodeid, location = worker.running or (f"process {worker.number}", ("", None, ""))
        report = pytest.TestReport(nodeid, location, {}, "failed", text, "call")
        self._hook.pytest_runtest_logreport(report=report)
        if worker.group is not None:
            worker.group.places = worker.group.places[worker.done + (worker.running is not None) :]
            if worker.group.places:
                self._queue.put_back(worker.group)


def _warning(text: str) -> warnings.WarningMessage:
    return warnings.WarningMessage(text, UserWarning, "", 0)


def _join(process: BaseProcess) -> None:
    process.join(ENDING_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()


def run(session: pytest.Session, processes: int) -> None:
    """Run the session's tests, at the end those that stand alone; raises what pytest's own loop raises."""
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None:
        terminal.showfspath = False  # tests of several files end in turn
    alone = [item.get_closest_marker("alone") is not None for item in session.items]
    number = 0
    for is_alone in (False, True):
        groups = groups_of(session.items, [place for place, one in enumerate(alone) if one == is_alone])
        while groups and not (session.shouldfail or session.shouldstop):
            queue = Queue(groups)
            number = Crew(session, queue).run(1 if is_alone else min(processes, len(groups)), number)
            if len(queue.left) == len(groups):
                raise session.Failed("no test process takes a test")
            # What was left: every process had one dear fixture of a group, none all of them.
            groups = queue.left
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
