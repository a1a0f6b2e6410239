"""lend-b's yields while contracts fail and nodes misbehave: the right figures, unknown ones, or what failed by name.

Contracts are broken on the real node and mended afterwards; nodes are spoilt by a proxy in front of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.feeds import aggregator_of, load_feeds
from devnet.known_lending_b import LEND_B_V3, price_feed
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway
from tests.faults import simulator as faults
from tests.faults.simulator import FaultyNode
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

USDC, WETH, USDT, _, USDS, _ = [market.address for market in LEND_B_V3["ethereum"]]
REVERTS = "0x5f5ffd"
ZEROS = "0x60205ff3"  # answers every call with a word of zeros
SILENT = "0x00"
ONES = "0x5f195f5260205ff3"  # answers every call with a word of ones
BROKEN = {"reverts": REVERTS, "zeros": ZEROS, "ones": ONES, "nothing": SILENT, "no code": "0x"}
[ETHER_FEED] = [
    row["address"] for row in load_feeds()["chainlink"] if (row["chain"], row["pair"]) == ("ethereum", "ETH / USD")
]


@dataclass
class Case:
    """A gateway over the node; `found` is the code of what was broken."""

    gateway: RunningGateway
    node: Node
    found: dict[str, str] = field(default_factory=dict)

    async def lending(self, pool: str) -> Any:
        """Return the row of a market."""
        return self._row(await self._ask("getYieldsLending", pool=pool))

    async def balance(self, pool: str, wallet: str = known.ALICE) -> Any:
        """Return what a wallet has in a market."""
        return self._row(await self._ask("getYieldsBalance", pool=pool, address=wallet))["balance"]

    async def fails(self, operation: str, pool: str) -> Any:
        """Return the error; the call must fail."""
        wallet = {"address": known.ALICE} if operation == "getYieldsBalance" else {}
        answer = await self._ask(operation, pool=pool, **wallet)
        assert "error" in answer, answer
        return answer["error"]

    async def next_block(self) -> None:
        """Have the gateway see another block, so that nothing is answered from memory."""
        await self.node.call("evm_mine")
        await self.gateway.ask("getBlockHeight", {"chain": "ethereum"})

    async def put(self, address: str, code: str) -> None:
        self.found.setdefault(address, await self.node.call("eth_getCode", address, "latest"))
        await self.node.call("anvil_setCode", address, code)
        await self.next_block()

    async def mend(self) -> None:
        """Put back what was broken."""
        for address, code in self.found.items():
            await self.node.call("anvil_setCode", address, code)
        self.found.clear()
        await self.next_block()

    async def send(self, to: str, signature: str, *arguments: object) -> None:
        data = to_hex(encode_call(signature, arguments))
        await self.node.call("eth_sendTransaction", {"from": known.DEVELOPER, "to": to, "data": data})
        await self.next_block()

    async def _ask(self, operation: str, **members: str) -> Any:
        return await self.gateway.ask(operation, {"chain": "ethereum", "protocol": "lend-b", **members})

    @staticmethod
    def _row(answer: Any) -> Any:
        assert "result" in answer, answer
        [row] = answer["result"]["data"]["results"]
        return row


def settings_for(devnet: Devnet, folder: Path, *urls: str) -> Any:
    overrides: dict[str, Any] = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    ethereum = overrides["chains"]["ethereum"]
    [first] = ethereum["endpoints"]
    endpoints = [{**first, "label": f"node{place}", "url": url} for place, url in enumerate(urls)]
    overrides["chains"] = overrides["chains"] | {"ethereum": {**ethereum, "endpoints": endpoints}}
    return load_settings(environ={}, overrides=overrides)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Case]:
    node = devnet.nodes["ethereum"]
    settings = settings_for(devnet, tmp_path_factory.mktemp("faults"), node.url)
    async with rewound(node), run_gateway(settings) as gateway:
        yield Case(gateway, node)


@pytest_asyncio.fixture(loop_scope="session")
async def case(running: Case) -> AsyncIterator[Case]:
    yield running
    await running.mend()


# Contracts


@pytest.mark.parametrize("broken", BROKEN)
async def test_without_the_feed_of_a_market_its_values_are_null_and_its_rates_are_not(case: Case, broken: str) -> None:
    sound = await case.lending(USDC)
    await case.put(price_feed("USDC", ""), BROKEN[broken])
    row = await case.lending(USDC)
    assert row["tvl"] is None
    assert row["supplyApy"] == pytest.approx(sound["supplyApy"])
    balance = await case.balance(USDC)
    assert balance["USD"] is None
    assert balance["USDC"] > 0
    # Those of other assets have their own.
    assert (await case.lending(USDT))["tvl"] > 0


async def test_a_price_of_zero_is_none(case: Case) -> None:
    await case.send(price_feed("USDS", ""), "updateAnswer(int256)", 0)
    assert (await case.lending(USDS))["tvl"] is None
    assert (await case.balance(USDS, known.VITALIK))["USD"] is None


@pytest.mark.parametrize("broken", [*BROKEN, "years old", "zero"])
async def test_without_the_feed_of_ether_the_gateways_own_price_counts(case: Case, broken: str) -> None:
    sound = await case.lending(WETH)
    if broken in BROKEN:
        await case.put(ETHER_FEED, BROKEN[broken])
    else:
        answer, told_at = (0, 1_900_000_000) if broken == "zero" else (2_000 * 10**8, 1_600_000_000)
        aggregator = aggregator_of({"address": ETHER_FEED})
        await case.send(aggregator, "updateRoundData(uint80,int256,uint256,uint256)", 99, answer, told_at, told_at)
    row = await case.lending(WETH)
    # Of ether without its feed on this chain other sources are asked.
    assert row["tvl"] == pytest.approx(sound["tvl"], rel=0.02)
    assert row["supplyApy"] == pytest.approx(sound["supplyApy"], rel=1e-6)
    assert (await case.balance(WETH))["USD"] > 0


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_market_that_does_not_answer_is_named_and_the_others_answer(case: Case, broken: str) -> None:
    await case.lending(USDC)
    await case.put(USDC, BROKEN[broken])
    for operation in ("getYieldsLending", "getYieldsBalance"):
        error = await case.fails(operation, USDC)
        assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE"), error
        assert "ethereum" in error["message"]
    assert (await case.lending(USDT))["tvl"] > 0


async def test_a_market_that_answers_again_is_answered(case: Case) -> None:
    code = await case.node.call("eth_getCode", USDC, "latest")
    await case.put(USDC, REVERTS)
    await case.fails("getYieldsLending", USDC)
    await case.put(USDC, code)
    assert (await case.lending(USDC))["tvl"] > 0


# Nodes


@pytest.mark.parametrize("fault", [faults.drop, faults.cut_json, faults.too_many])
async def test_a_node_that_fails_is_passed_over(
    case: Case, devnet: Devnet, tmp_path: Path, fault: faults.Fault
) -> None:
    """Tables, a market and a balance are read while the first of two nodes answers nothing."""
    front = FaultyNode(case.node.url)
    await front.start()
    front.fault = fault
    sound = await case.lending(WETH)
    async with run_gateway(settings_for(devnet, tmp_path, front.url, case.node.url)) as gateway:
        found = Case(gateway, case.node)
        row, balance = await found.lending(WETH), await found.balance(WETH)
    await front.close()
    assert row["supplyApy"] == pytest.approx(sound["supplyApy"], rel=1e-6)
    assert row["tvl"] == pytest.approx(sound["tvl"], rel=1e-6)
    assert balance["WETH"] > 0
