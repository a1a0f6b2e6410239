"""The devnet's processes end with their launcher, write nothing beside the tree and start fast."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devnet.evm.world import load_world
from devnet.examples import run_lines
from devnet.install import STATE, anvil_binary, installed
from devnet.launcher import RUNNING, Devnet
from devnet.local_chain import FAMILIES
from devnet.status import describe_running
from devnet.watchdog import Watchdog
from runtime.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.devnet
ROOT = STATE.parent


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # an orphan that nobody has collected yet


@pytest.fixture
def launcher(tmp_path: Path, anvil_binary: Path) -> Iterator[subprocess.Popen[str]]:
    """`python -m devnet` with a home directory of its own, up."""
    process = subprocess.Popen(
        [sys.executable, "-m", "devnet", "--chains", "ethereum,base"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("stand-in"):
            break
    yield process
    process.kill()
    process.wait(10)
    process.stdout.close()


def nodes_of(launcher: subprocess.Popen[str]) -> list[int]:
    [note] = RUNNING.glob(f"{launcher.pid}-*.json")
    return [node["pid"] for node in json.loads(note.read_text())["nodes"]]


async def wait_for_end(pids: list[int], within: float = 5.0) -> None:
    for _ in range(round(within / 0.02)):
        if not any(map(is_running, pids)):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"some of the processes {pids} still run")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_nodes_end_with_their_launcher(launcher: subprocess.Popen[str], number: signal.Signals) -> None:
    await check_end(launcher, number)


async def check_end(launcher: subprocess.Popen[str], number: signal.Signals) -> None:
    """Check that its nodes end with it, and that none of them is noted as running any more."""
    pids = nodes_of(launcher)
    assert len(pids) == 2
    assert all(map(is_running, pids))
    launcher.send_signal(number)
    code = await asyncio.to_thread(launcher.wait, 10)
    await wait_for_end(pids)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    assert str(launcher.pid) not in await describe_running()  # which clears away the note of the killed one
    assert not list(RUNNING.glob(f"{launcher.pid}-*"))


@pytest.fixture
def state_before(full_devnet: Devnet) -> set[Path]:
    """What lies in the state folder once all worlds are built."""
    return set(STATE.rglob("*"))


# Other tests may run beside this one, and install what Starknet needs.
MEANWHILE = (RUNNING, *(STATE / name for name in ("starknet", "starknet-judge", "starknet-worlds")))


async def test_its_nodes_end_and_nothing_is_left_on_disk(
    state_before: set[Path], launcher: subprocess.Popen[str], tmp_path: Path
) -> None:
    await check_end(launcher, signal.SIGTERM)
    assert os.listdir(tmp_path) == []
    left = {path for path in STATE.rglob("*") if not any(path.is_relative_to(place) for place in MEANWHILE)}
    assert left <= state_before


async def test_all_chains_start_within_seconds(full_devnet: Devnet) -> None:
    started = time.monotonic()
    async with Devnet.start(mines=False) as devnet:
        # Some three seconds on a quiet machine; a world that is built once more takes a minute.
        assert time.monotonic() - started < 30
        others = {slug for family in FAMILIES if family.is_on for slug in family.chains}
        assert set(devnet.endpoints) == set(load_world()) | others
        assert len(set(devnet.endpoints.values())) == len(devnet.endpoints)


async def test_nodes_end_when_the_context_does() -> None:
    async with Devnet.start(["xlayer"]) as devnet:
        pid = devnet.nodes["xlayer"].pid
        assert pid is not None
        assert "xlayer" in await describe_running()
    assert not is_running(pid)


def test_what_a_start_that_was_given_up_leaves_behind_is_ended() -> None:
    started = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
    left, ended, unknown = started
    with Watchdog() as guard:
        guard.watch(left.pid)
        guard.watch(ended.pid)
        ended.kill()
        ended.wait()
        guard.forget(ended.pid)
    try:
        assert left.wait(10) == -signal.SIGKILL
        assert unknown.poll() is None
    finally:
        unknown.kill()
        unknown.wait()


async def test_an_unknown_chain_is_refused() -> None:
    with pytest.raises(ValueError, match="no chain nowhere; it has ethereum"):
        async with Devnet.start(["nowhere"]):
            pass


def test_installing_twice_changes_nothing(anvil_binary: Path) -> None:
    before = (installed() / "complete").stat().st_mtime_ns
    lines: list[str] = []
    assert installed(lines.append) in anvil_binary_parents()
    assert lines == []
    assert (installed() / "complete").stat().st_mtime_ns == before
    version = subprocess.run([anvil_binary, "--version"], capture_output=True, text=True, check=True).stdout
    assert "1.7.1" in version


def anvil_binary_parents() -> list[Path]:
    return list(anvil_binary().parents)


async def test_a_gateway_can_be_configured_for_it(devnet: Devnet, tmp_path: Path) -> None:
    path = tmp_path / "waypost.toml"
    devnet.write_config(path)
    for settings in (load_settings(path, environ={}), load_settings(environ={}, overrides=devnet.settings_overrides())):
        assert settings.profile == "devnet"
        [endpoint] = settings.chains["arbitrum"].endpoints
        assert endpoint.label == "anvil"
        assert endpoint.url is not None
        assert endpoint.url.get_secret_value().rstrip("/") == devnet.endpoints["arbitrum"]


def test_lines_to_paste_are_whole() -> None:
    *curls, grpcurl = [shlex.split(line) for line in run_lines("http://127.0.0.1:8080/local", 50051)]
    assert len(curls) == 3
    for words in curls:
        assert words[:3] == ["curl", "-s", "http://127.0.0.1:8080/local/v1"]
        assert set(json.loads(words[-1])) == {"jsonrpc", "id", "method", "params"}
    assert grpcurl[-2:] == ["127.0.0.1:50051", "waypost.v1.AccountService/GetBalance"]
    assert "x-api-key: local" in grpcurl
