"""Local nodes for every test that reads a chain. Each worker of pytest-xdist starts its own."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from devnet.install import anvil_binary as installed_anvil
from devnet.launcher import Devnet
from tests import groups
from tests.examples import examples
from tests.postgresql import PostgreSql, run_postgresql

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

# Machines that test are loaded: how long an example took tells nothing about the code.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(100)
)
settings.load_profile("unhurried")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a test that wants to run by itself and does not say why, and names that differ from process to process."""
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
    if config.getoption("loadgroup", False):
        groups.arrange(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take all tests out of later garbage collections: one that a test asked for took half a second."""
    gc.collect()
    gc.freeze()


# The first test of a process that needs the Starknet engine waits until its packages are installed.
_STARKNET = ("starknet", "tests/faults/families/")
_INSTALLING_SECONDS = 600


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take off the group that xdist's workers add to a test's name, so that the name can be given to pytest again."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        report.nodeid = groups.plain_name(report.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many workers `-n auto` is; `-n logical` is one for every processor."""
    if config.option.numprocesses != "auto" or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return groups.workers()


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
