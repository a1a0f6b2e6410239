"""Local nodes for every test that reads a chain. Each worker of pytest-xdist starts its own."""

from __future__ import annotations

import gc
import inspect
import logging
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from devnet.install import anvil_binary as installed_anvil
from devnet.launcher import Devnet
from runtime.logs import QUIET
from tests.distribution import FolderOrFile
from tests.examples import examples
from tests.postgresql import PostgreSql, run_postgresql

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

# Machines that test are loaded: how long an example took tells nothing about the code.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(50)
)
settings.load_profile("unhurried")


# pytest keeps log records, which kills a process that deallocates a server of grpc.aio (runtime/logs.py).
logging.getLogger("grpc._cython.cygrpc").setLevel(QUIET["grpc._cython.cygrpc"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker begin with other files: what one has compiled by then, the others only read."""
    worker = getattr(session.config, "workerinput", None)
    paths = [Path(one).resolve() for one in session.config.args]
    if worker is not None and all(path.exists() for path in paths):
        files = sorted(
            {str(file) for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))}
        )
        first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
        session.config.args[:] = files[first:] + files[:first]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that wants to run by itself and does not say why, one that starts nodes and does not say so, and
    names that differ from process to process."""
    unmarked = {item.path for item in items if item.get_closest_marker("devnet") is None and starts_nodes(item)}
    if unmarked:
        files = " ".join(sorted(str(path.relative_to(items[0].config.rootpath)) for path in unmarked))
        raise pytest.UsageError(f"nodes are started in files without `pytestmark = pytest.mark.devnet`: {files}")
    for item in items:
        if any(part in item.nodeid for part in _STARKNET) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_INSTALLING_SECONDS))
        if " at 0x" in item.name:
            raise pytest.UsageError(f"{item.nodeid}: name the case by what is the same in every process")
        for mark in item.iter_markers("alone"):
            if "mark.alone(" not in item.path.read_text():
                raise pytest.UsageError(f"{item.nodeid}: mark it in its own file, where `make test` looks for the mark")
            if not (mark.args and isinstance(mark.args[0], str) and mark.args[0]):
                raise pytest.UsageError(f"{item.nodeid}: alone needs its reason: @pytest.mark.alone('why')")
    items.sort(key=_turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take all tests out of later garbage collections: one that a test asked for took half a second."""
    gc.collect()
    gc.freeze()


def _turn(item: pytest.Item) -> tuple[int, str]:
    """Return when a file's tests begin: what takes longest first, so that no process is left with it at the end.

    What needs Starknet comes once its packages are likely to be installed, and before the many short files without
    nodes, which fill what time is left.
    """
    file = item.nodeid.partition("::")[0]
    if file in LONG:
        return 0, file
    if any(part in file for part in _STARKNET):
        return 2, file
    return (1 if item.get_closest_marker("devnet") is not None else 3), file


# Fixtures that start nodes, and what others and tests start nodes of their own by. `make test-fast` leaves files out
# that hold the mark.
_NODES = {"devnet", "full_devnet", "anvil_binary"}
_STARTERS = {"Devnet", "Anvil", "CosmosChains", "StarknetNode", "Ledger", "run_vendor"}


def starts_nodes(item: pytest.Item) -> bool:
    """Whether a test asks for a fixture that starts nodes, or names what starts them, itself or in a fixture."""
    if not isinstance(item, pytest.Function):
        return False
    if not _NODES.isdisjoint(item.fixturenames):
        return True
    fixtures = (definitions[-1].func for definitions in item._fixtureinfo.name2fixturedefs.values())
    return any(_names_a_starter(inspect.unwrap(function)) for function in (item.function, *fixtures))


@cache
def _names_a_starter(function: Callable[..., object]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and any(name in code.co_names and name in function.__globals__ for name in _STARTERS)


# The first test of a process that needs the Starknet engine waits until its packages are installed.
_STARKNET = ("starknet", "tests/faults/families/", "tests/e2e/test_one_table.py")
_INSTALLING_SECONDS = 600


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
_MORE_THAN_PROCESSORS = 3


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FolderOrFile | None:
    """Return what hands tests out under `--dist loadfile`."""
    return FolderOrFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many processes `-n auto` is: more than processors, as many tests wait for a clock or a node."""
    if config.option.numprocesses != "auto" or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    has_affinity = hasattr(os, "sched_getaffinity")
    return (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1) + _MORE_THAN_PROCESSORS


@pytest.fixture(scope="session", autouse=True)
def usual_recursion_limit() -> None:
    """Set back what py_ecc (which web3 brings into tests, and only there) raises a hundredfold when it is imported."""
    sys.setrecursionlimit(1000)


@pytest.fixture(scope="session", autouse=True)
def parts_built_once() -> Iterator[None]:
    """What every gateway of this process builds alike is built once."""
    from tests import built_once  # the whole server, which the process that only hands tests out does without

    with pytest.MonkeyPatch.context() as patch:
        yield from built_once.share(patch)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSql]:
    """A PostgreSQL server of the session; every test makes databases of its own on it."""
    with run_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def anvil_binary() -> Path:
    """The anvil executable, installed on first use."""
    return installed_anvil()


@pytest.fixture(scope="session")
async def devnet() -> AsyncIterator[Devnet]:
    """Chains with their world: ethereum, arbitrum (its contracts see another block number), polygon, and one each of
    Cosmos, Solana and Bitcoin.

    Nothing moves by itself: blocks are made by `await devnet.mine(slug, blocks)`. The session's tests share it.
    """
    async with Devnet.start(
        ("ethereum", "arbitrum", "polygon", "cosmoshub", "solana", "bitcoin"), mines=False
    ) as running:
        yield running


@pytest.fixture(scope="session")
async def full_devnet() -> AsyncIterator[Devnet]:
    """All 16 EVM chains, otherwise as `devnet`."""
    async with Devnet.start(mines=False) as running:
        yield running
