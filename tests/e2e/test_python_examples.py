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
from waypost import AsyncWaypost

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.world import load_world
from examples import whale_watch
from tests.e2e.gateway import KEY
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ETHEREUM = load_world()["ethereum"]
TRANSFER = "transfer(address,uint256)"
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


async def test_whale_watch(gateway: RunningGateway, devnet: Devnet) -> None:
    token = next(token for token in ETHEREUM.tokens if token.symbol == "USDC")
    small, large = (
        {"from": known.VITALIK, "to": token.address, "data": to_hex(encode_call(TRANSFER, [known.ALICE, amount]))}
        for amount in (10**6, 3 * 10**6)
    )
    async with unchanged(devnet, "ethereum") as node, AsyncWaypost(gateway.grpc_target, KEY) as client:
        await node.call("anvil_impersonateAccount", known.VITALIK)
        reading = asyncio.ensure_future(anext(whale_watch.watch(client, "ethereum", token.address, Decimal(2))))
        # The stream begins with the blocks that come once it is open.
        while not reading.done():
            for transaction in (small, large):
                await node.call("eth_sendTransaction", transaction)
            await node.call("evm_mine")
            await asyncio.wait({reading}, timeout=1)
        assert (await reading).split()[1:] == ["3", "USDC", known.VITALIK, "->", known.ALICE]


async def test_price_ticker(gateway: RunningGateway) -> None:
    """What the page's script asks is answered as it reads it, to a page from a file too."""
    page = (EXAMPLES / "price_ticker.html").read_text()
    assert "`${gateway}/v1/stream/watchPrices?${items}`" in page
    assert "`items=${encodeURIComponent(symbol)}`" in page
    url = f"{gateway.http}/{KEY}/v1/stream/watchPrices?items=ETH&items=BTC"
    async with gateway.session.get(url, headers={"Origin": "null"}) as response:
        assert response.headers["Access-Control-Allow-Origin"] in ("*", "null")
        assert response.content_type == "text/event-stream"
        kinds, values = [], []
        while len(values) < 2:
            name, _, value = (await response.content.readline()).decode().rstrip().partition(": ")
            if name == "event":
                kinds.append(value)
            elif name == "data":
                values.append(json.loads(value))
    assert kinds == ["value"] * 2
    assert {value["item"] for value in values} == {0, 1}
    assert all(value["price"]["usd"] > 0 for value in values)


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
