"""The programs of `examples/`, run as their readers run them, on the devnet."""

from __future__ import annotations

import asyncio
import json
import sys
import types
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from waypost import Waypost

from devnet import known
from devnet.evm.world import load_world
from examples import whale_watch
from tests.e2e.gateway import KEY

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ETHEREUM = load_world()["ethereum"]
COINS = {"ethereum": "ETH", "base": "ETH", "arbitrum": "ETH", "optimism": "ETH", "polygon": "POL"}


async def run(gateway: RunningGateway, name: str, *arguments: str) -> list[str]:
    """Return the lines that a program prints."""
    command = (str(EXAMPLES / f"{name}.py"), gateway.grpc_target, KEY, *arguments)
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode().splitlines()


async def test_portfolio(gateway: RunningGateway) -> None:
    lines = await run(gateway, "portfolio", known.VITALIK, "ethereum")
    balance = f"{known.NATIVE_AT_HEAD // 10**18}.{known.NATIVE_AT_HEAD % 10**18:018}".rstrip("0")
    assert ["ethereum", "ETH", balance] in [line.split()[:3] for line in lines]
    assert lines[-1].startswith("in US dollars")


async def test_gas_board(gateway: RunningGateway) -> None:
    head, *lines = await run(gateway, "gas_board")
    assert head.split()[0] == "chain"
    assert "ethereum" in {line.split()[0] for line in lines}


async def test_approvals(gateway: RunningGateway) -> None:
    lines = await run(gateway, "approvals", "ethereum", known.ALICE)
    approvals, revocations = lines[::2], lines[1::2]
    assert approvals
    assert all(" may move " in line for line in approvals)
    # approve(address,uint256)
    assert all(" data 0x095ea7b3" in line and line.endswith("0" * 64) for line in revocations)


async def test_batch_of_reads(gateway: RunningGateway, devnet: Devnet) -> None:
    """Five chains of ten accounts; those that the local chains lack are rows that say why."""
    lines = await run(gateway, "batch_of_reads")
    running = devnet.endpoints
    wanted = [
        (chain, f"0x{account:040x}", token if chain in running else "UPSTREAM_UNAVAILABLE:")
        for account in range(1, 11)
        for chain, token in COINS.items()
    ]
    printed = [line.split() for line in lines]
    assert [(chain, wallet, rest[1] if chain in running else rest[0]) for chain, wallet, *rest in printed] == wanted


async def test_whale_watch(gateway: RunningGateway, capsys: pytest.CaptureFixture[str]) -> None:
    def watch(at_least: int) -> int:
        with Waypost(gateway.grpc_target, KEY) as client:
            return whale_watch.watch(client, "ethereum", known.VITALIK, Decimal(at_least), ETHEREUM.height)

    following = await asyncio.to_thread(watch, 0)
    everything = capsys.readouterr().out.splitlines()
    assert following > ETHEREUM.height
    assert any(f"-> {known.VITALIK}" in line for line in everything)
    await asyncio.to_thread(watch, 10**30)
    assert capsys.readouterr().out == ""


async def test_price_history(gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notebook's cells run in their order; what draws is stood in for, as it is no dependency of ours."""
    drawn: list[Any] = []

    class Drawing:
        def __getattr__(self, name: str) -> Any:
            return lambda *given, **_: drawn.append((name, given))

    plots: Any = types.ModuleType("matplotlib.pyplot")
    plots.subplots = lambda **_: (Drawing(), Drawing())
    package: Any = types.ModuleType("matplotlib")
    package.pyplot = plots
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", plots)
    monkeypatch.setenv("WAYPOST", gateway.grpc_target)
    monkeypatch.setenv("KEY", KEY)
    cells = json.loads((EXAMPLES / "price_history.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    await asyncio.to_thread(exec, compile(code, "price_history.ipynb", "exec"), {})
    days, highest = next(given for name, given in drawn if name == "plot")
    assert len(days) == len(highest) > 0
