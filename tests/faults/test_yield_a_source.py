"""yield-a while its API fails: what the chain knows is answered whole, what the API alone knows is 503, at once.

Nothing is a wrong figure: rows that are missing, members under another name and limits are named.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.known_yield_a import RUNNING
from devnet.offchain import pendle
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

POOL = {"chain": "ethereum", "protocol": "yield-a", "pool": RUNNING.market}
WALLET = {"address": known.VITALIK}
ON_CHAIN = {"getYieldsVaults": POOL, "getYieldsPrice": POOL, "getYieldsBalance": POOL | WALLET}
IMPLIED = {"chain": "ethereum", "pool": RUNNING.market} | WALLET
# What a mode's failure names.
NAMED = {
    "slow": "in time",
    "limited": "pendle answered: stand-in: throttled",
    "half": "`$.results` has not as many rows as `$.total` says",
    "changed": "txValueAsset",
}


@asynccontextmanager
async def gateway_of(devnet: Devnet, folder: Path, sources: dict[str, Any]) -> AsyncIterator[RunningGateway]:
    overrides: dict[str, Any] = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    overrides["sources"] |= sources
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield running


async def on_chain(gateway: RunningGateway) -> None:
    """What the chain knows is answered."""
    answers = await asyncio.gather(*(gateway.ask(method, params) for method, params in ON_CHAIN.items()))
    assert all("result" in answer for answer in answers), answers


@pytest.mark.parametrize("mode", pendle.MODES)
async def test_a_failing_api_costs_what_it_alone_knows(devnet: Devnet, tmp_path: Path, mode: str) -> None:
    async with gateway_of(devnet, tmp_path, pendle.settings(devnet.offchain.authority, mode)) as gateway:
        await on_chain(gateway)
        answer = await gateway.ask("getYieldsYieldAImpliedApy", IMPLIED)
        assert answer["error"]["code"] == 503, answer
        assert NAMED[mode] in answer["error"]["message"]
        assert devnet.offchain.authority not in str(answer)
        began = time.monotonic()
        again = await gateway.ask("getYieldsYieldAImpliedApy", IMPLIED)
        assert again["error"]["code"] == 503
        if mode != "slow":
            # A source that failed is left alone for a moment: the failure is answered at once.
            assert time.monotonic() - began < 5
        await on_chain(gateway)


async def test_an_api_that_is_switched_off_is_named(devnet: Devnet, tmp_path: Path) -> None:
    async with gateway_of(devnet, tmp_path, {"pendle": {"endpoints": []}}) as gateway:
        await on_chain(gateway)
        answer = await gateway.ask("getYieldsYieldAImpliedApy", IMPLIED)
        assert answer["error"]["code"] == 503
        assert "pendle transactions is switched off" in answer["error"]["message"]


async def test_the_wrong_market_is_404_whatever_the_api_does(devnet: Devnet, tmp_path: Path) -> None:
    async with gateway_of(devnet, tmp_path, pendle.settings(devnet.offchain.authority, "limited")) as gateway:
        for method, params in ({"getYieldsYieldAImpliedApy": IMPLIED} | ON_CHAIN).items():
            for wrong in (RUNNING.principal, known.VITALIK, known.PROBER, known.GAS_BURNER, known.RETURN_BOMBER):
                answer = await gateway.ask(method, params | {"pool": wrong})
                assert answer["error"]["code"] == 404, (method, wrong, answer)
                assert answer["error"]["data"]["field"] == "pool"
