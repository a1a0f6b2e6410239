"""The distribution as pip installs it: what the wheel holds, and serving from an environment without the tree."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement

from devnet.ports import free_port
from runtime.version import VERSION
from setup import FILES, PARTS
from tests.e2e.commands import ROOT, Waypost, base_of, page_of, post

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.devnet, pytest.mark.slow]

TREE = "waypost_gateway/tree"
ADDRESS = "0x" + "00" * 20
BALANCE = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": {"chain": "ethereum", "address": ADDRESS}}
PUBLISHED = {"jsonrpc": "2.0", "id": 1, "method": "listMarketplaceMethods", "params": {"appId": "vault"}}


def tracked(*paths: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, check=True, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def build(sources: Path, kind: str, target: Path) -> Path:
    """Return the `wheel` or `sdist` that the sources' build backend makes of them."""
    script = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    target.mkdir()
    # With the settings of a user who keeps files to herself: they must not get into what is published.
    command = [sys.executable, "-W", "ignore", "-c", script, str(target)]
    subprocess.run(command, cwd=sources, check=True, capture_output=True, timeout=60, umask=0o077)
    [made] = target.iterdir()
    return made


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean clone, without what working in it leaves."""
    folder = tmp_path_factory.mktemp("sources")
    for line in tracked():
        if line.partition("/")[0] not in {"tests", "bench", "docs"}:
            (folder / line).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / line, folder / line)
    return folder


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(sources, "wheel", tmp_path_factory.mktemp("built") / "wheel")


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, by pip, and the packages of the run lock, as they are installed here."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for line in re.findall(r"^([a-z0-9-]+==[^\\\n]+)", (ROOT / "locks/run.txt").read_text(), re.MULTILINE):
        locked = Requirement(line)
        if locked.marker is not None and not locked.marker.evaluate():
            continue
        found = importlib.metadata.distribution(locked.name)
        assert found.version in locked.specifier, locked
        for file in found.files or ():
            if ".." not in file.parts:
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                (packages / file).symlink_to(file.locate())
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, timeout=60)
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True, timeout=60)
    # All that is declared is locked, but for what pyproject.toml leaves out of the locks.
    assert all("virtualenv" in line for line in checked.stdout.splitlines()), checked.stdout
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def publishing(config: Path) -> Path:
    """The configuration, with a published app beside the built-in ones."""
    config.write_text(f'{config.read_text()}\n[marketplace]\napps = "{ROOT}/tests/apps/good"\n')
    return config


@asynccontextmanager
async def installed(environment: Path, *arguments: str, home: Path, **variables: str) -> AsyncIterator[Waypost]:
    """The installed command, started in a folder that has a package of the tree's names."""
    (home / "cli").mkdir(exist_ok=True)
    (home / "cli/__init__.py").write_text("raise SystemExit('of the folder')")
    environ = {"PATH": os.defpath, "HOME": str(home), "WAYPOST_SERVER_LIMITS__NOTICE": "0s", **variables}
    command = str(environment / "bin/waypost")
    running = Waypost(
        await asyncio.create_subprocess_exec(command, *arguments, cwd=home, env=environ, stdout=PIPE, stderr=PIPE)
    )
    try:
        yield running
    finally:
        if running.process.returncode is None:
            running.process.kill()
        await running.ended()


async def run(environment: Path, *arguments: str, home: Path) -> tuple[int, str, str]:
    """Return exit code and output of the installed command."""
    async with installed(environment, *arguments, home=home) as running:
        return await running.ended(60), running.out, running.err


def test_the_wheel_is_one_package_with_every_file_of_the_tree(wheel: Path) -> None:
    expected = {f"{TREE}/{name}": ROOT / file for file, name in FILES.items()}
    for part, name in PARTS.items():
        for file in tracked(part):
            if not file.endswith(".md"):
                expected[f"{TREE}/{name}{file.removeprefix(part)}"] = ROOT / file
    with zipfile.ZipFile(wheel) as held:
        names = set(held.namelist())
        assert {name for name in names if name.startswith(TREE)} == expected.keys()
        assert all(held.read(name) == file.read_bytes() for name, file in expected.items())
        assert {name.partition("/")[0] for name in names} == {"waypost_gateway", f"waypost_gateway-{VERSION}.dist-info"}


def test_the_source_distribution_gives_the_same_wheel(wheel: Path, sources: Path, tmp_path: Path) -> None:
    archive = build(sources, "sdist", tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    assert build(unpacked, "wheel", tmp_path / "wheel").read_bytes() == wheel.read_bytes()


async def test_an_installation_serves_both_faces_and_writes_to_the_users_folders_alone(
    environment: Path, publishing: Path, home: Path
) -> None:
    before = files(environment)
    assert await run(environment, "--version", home=home) == (0, f"Waypost {VERSION}\n", "")
    made = await run(environment, "keys", "create", "tried", "--config", str(publishing), home=home)
    key = re.search(r"wp_[\w-]+", made[1])
    assert key is not None, made
    arguments = ("serve", "--config", str(publishing), "--http-port", "0", "--grpc-port", "0")
    async with installed(environment, *arguments, home=home) as running:
        base = await base_of(running)
        answer = await post(f"{base.rpartition('/')[0]}/{key[0]}", BALANCE)
        assert answer["result"]["data"]["token"] == "ETH"
        page, contents = await page_of(base.rpartition("/")[0])
        assert 'content="devnet"' in page
        assert contents
        published = await post(base, PUBLISHED)
        assert "svc_vault" in str(published["result"])
        target = (await running.printed(r"gRPC      (\S+)"))[1]
        asked = ("getBalance", "chain=ethereum", f"address={ADDRESS}")
        code, out, err = await run(environment, "call", *asked, "--target", target, "--key", key[0], home=home)
        assert (code, err) == (0, "")
        assert '"ETH"' in out
        running.signal()
        assert await running.ended() == 0
    assert (home / ".local/share/waypost/devnet.db").is_file()
    assert files(environment) == before


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__"}


async def test_workers_of_an_installation_run_its_tree(environment: Path, config: Path, home: Path) -> None:
    ports: dict[str, Any] = {name: str(free_port()) for name in ("--http-port", "--grpc-port")}
    arguments = [part for pair in ports.items() for part in pair]
    serve = ("serve", "--config", str(config), "--workers", "2", *arguments)
    async with installed(environment, *serve, home=home) as running:
        answer = await post(await base_of(running), BALANCE)
        assert answer["result"]["data"]["token"] == "ETH"


async def test_without_its_extra_the_devnet_states_which_one_to_install(environment: Path, home: Path) -> None:
    for command in (("serve", "--network", "devnet"), ("devnet",)):
        code, out, err = await run(environment, *command, home=home)
        assert (code, out) == (1, "")
        assert err.count("\n") == 1
        assert "install `waypost-gateway[devnet]`" in err
