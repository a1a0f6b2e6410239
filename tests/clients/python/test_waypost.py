"""The distribution: what its users' type checker finds, what an import costs, and a wheel in an empty environment."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import waypost
from waypost.target import VERSION

from runtime.version import VERSION as GATEWAY_VERSION
from tests.clients.python.failing import Failing, served

ROOT = Path(__file__).resolve().parents[3]
CLIENT = ROOT / "clients" / "python"
USER = """
import asyncio
from collections.abc import Iterator

from waypost import AsyncWaypost, NotFound, RateLimited, Waypost, WaypostError, error_of
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.evm_pb2 import EvmLog

client = Waypost("localhost:50051", key="local")
answer: GetBalanceResponse = client.accounts.get_balance(chain="ethereum", address="0x1")
balance: str = answer.balance
logs: Iterator[EvmLog] = client.logs.iterate_logs(chain="ethereum")
days = client.usage.get_usage(group_by="day").rows
rows = client.blocks.get_block_by_number(items=[{"chain": "ethereum", "block": 1}]).results
failures: list[WaypostError | None] = [error_of(row) for row in rows]
many = client.execute([GetBalanceRequest(chain="ethereum", address="0x1")])
try:
    client.raw.chain_rpc(chain="ethereum", method="eth_chainId", params=[])
except RateLimited as refused:
    seconds: float | None = refused.retry_after
except NotFound as missing:
    field: str | None = missing.field


async def main() -> str:
    async with AsyncWaypost("localhost:50051") as gateway:
        async for log in gateway.logs.iterate_logs(chain="ethereum"):
            print(log.log_index)
        return (await gateway.accounts.get_balance(chain="ethereum", address="0x1")).balance


asyncio.run(main())
"""
MISTAKES = {
    'client.accounts.get_balance(chain="ethereum")': "address",
    'client.accounts.get_balance(chain="ethereum", address=1)': "int",
    'client.usage.get_usage(group_by="week")': "week",
    "client.account": "account",
    'client.accounts.get_balance(chain="ethereum", address="0x1").worth': "worth",
}
CALL = """
import sys
from waypost import UpstreamUnavailable, Waypost
with Waypost(sys.argv[1]) as client:
    try:
        client.accounts.get_balance(chain="ethereum", address="0x1", timeout=20)
    except UpstreamUnavailable as error:
        print(error.reason, error.request_id)
    print(client.accounts.get_balance(chain="ethereum", address="0x1", timeout=20).balance)
"""


def checked(folder: Path, text: str) -> str:
    """Return what mypy finds in a program, as its writer runs it."""
    program = folder / "program.py"
    program.write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={folder}", str(program)]
    environment = {"MYPYPATH": str(CLIENT), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_users_programs_are_typed_and_mistakes_are_found(tmp_path: Path) -> None:
    found = checked(tmp_path, "\n".join([USER, *MISTAKES]))
    first = USER.count("\n") + 2
    lines = [line for line in found.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in lines] == [str(first + number) for number in range(len(MISTAKES))], found
    assert all(word in line for word, line in zip(MISTAKES.values(), lines, strict=True)), found


def test_the_stubs_do_not_load_the_client() -> None:
    program = "import sys, waypost.v1.common_pb2; print(*(name for name in sys.modules if name.startswith('waypost')))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    options = ["waypost.options", "waypost.options.v1", "waypost.options.v1.options_pb2"]
    assert sorted(loaded) == sorted(["waypost", *options, "waypost.v1", "waypost.v1.common_pb2"])


def test_the_version_is_the_gateways() -> None:
    stated = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]["version"]
    assert stated == VERSION == GATEWAY_VERSION


def test_names_are_found_when_they_are_used_and_others_are_not() -> None:
    assert {"Waypost", "AsyncWaypost", "NotFound", "error_of"} <= set(dir(waypost))
    assert waypost.NotFound.reason == "NOT_FOUND"
    assert issubclass(waypost.NotFound, waypost.WaypostError)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = waypost.Nothing  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    source, environment = tmp_path / "source", tmp_path / "environment"
    listed = subprocess.run(["git", "ls-files", "."], cwd=CLIENT, check=True, capture_output=True, text=True).stdout
    for name in listed.split():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((CLIENT / name).read_bytes())
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, source], check=True)
    [wheel] = tmp_path.glob("waypost-*.whl")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([*pip, "--python", environment, "install", wheel], check=True)
    python = environment / "bin" / "python"
    handler = Failing(5)
    with served(handler) as target:
        command = [str(python), "-I", "-c", CALL, target]
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["UPSTREAM_UNAVAILABLE", "request-1", "1.5"]
    installed = next((environment / "lib").glob("python*/site-packages/waypost"))
    assert (installed / "py.typed").exists()
    assert (installed / "v1" / "account_pb2.pyi").exists()
