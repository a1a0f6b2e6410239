"""The local Starknet chain itself: on demand, the same on every start, with signatures that count."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import aiohttp
import pytest
from eth_hash.auto import keccak

from devnet import known_starknet as known
from devnet.install import STATE
from devnet.launcher import Devnet, _chosen, _left_out
from devnet.starknet.install import installed_engine
from devnet.starknet.node import ask
from devnet.status import describe
from server.chains.starknet.tokens import BALANCE_OF, BALANCE_OF_SNAKE, DECIMALS

pytestmark = pytest.mark.devnet

ROOT = Path(__file__).resolve().parents[2]
BALANCE = {"contract_address": known.STRK, "entry_point_selector": BALANCE_OF, "calldata": [known.BOB]}
FORGERY = """
from devnet import known_starknet as known
from devnet.starknet.engine.execution import Failed
from devnet.starknet.engine.world import build_world, transfer
chain = build_world()
calls = [transfer(int(known.STRK, 16), 5, 1)]
alice = int(known.ALICE, 16)
chain.invoke(alice, known.PRIVATE_KEY, calls)
try:
    chain.invoke(alice, known.PRIVATE_KEY + 1, calls)
except Failed as error:
    print(len(chain.waiting), error)
"""


async def test_it_is_the_same_on_every_start_and_ends_with_its_context() -> None:
    heads, balances = [], []
    for start in range(2):
        # The second start builds the world anew, whatever the first one found.
        for kept in (STATE / "starknet-worlds").glob("*/world.pickle") if start else ():
            kept.unlink()
        lines: list[str] = []
        async with Devnet.start(["starknet"], lines.append) as devnet, aiohttp.ClientSession() as http:
            url = devnet.endpoints["starknet"]
            heads.append(await ask(http, url, "starknet_blockHashAndNumber"))
            balances.append(await ask(http, url, "starknet_call", BALANCE, "latest"))
            [row] = devnet.summary()
            table = await describe(devnet.summary())
        assert any(line.startswith("devnet:  1/1 starknet up after") for line in lines)
        pid = int(str(row["pid"]))
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert any(line.split()[:4] == ["starknet", "engine", "SN_MAIN", "STRK"] for line in table.splitlines())
    assert heads[0] == heads[1]
    assert balances[0] == balances[1]
    assert int(balances[0][0], 16) == known.STRK_SENT + known.STRK_SENT_LATER
    assert heads[0]["block_number"] == known.HEIGHT


@pytest.mark.parametrize(("value", "is_there"), [(None, False), ("0", False), ("1", True)])
def test_it_is_among_all_chains_on_demand(monkeypatch: pytest.MonkeyPatch, value: str | None, is_there: bool) -> None:
    monkeypatch.delenv("WAYPOST_DEVNET_STARKNET", raising=False)
    if value is not None:
        monkeypatch.setenv("WAYPOST_DEVNET_STARKNET", value)
    assert ("starknet" in _chosen(None)[1]) is is_there
    assert (_left_out() == []) is is_there
    assert all("starknet stays down; `--full`" in line for line in _left_out())
    assert "starknet" in _chosen(None, full=True)[1]
    assert _chosen(["solana"], full=True) == ([], ["solana"])
    assert _chosen(["starknet"]) == ([], ["starknet"])


def test_a_wrong_signature_is_refused() -> None:
    command = [str(installed_engine()), "-c", FORGERY]
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    assert ran.stdout.startswith("1 ")
    assert "wrong signature" in ran.stdout


@pytest.mark.parametrize(
    ("selector", "name"), [(BALANCE_OF, "balanceOf"), (BALANCE_OF_SNAKE, "balance_of"), (DECIMALS, "decimals")]
)
def test_selectors_are_those_of_the_names(selector: str, name: str) -> None:
    assert int(selector, 16) == int.from_bytes(keccak(name.encode()), "big") & (1 << 250) - 1
