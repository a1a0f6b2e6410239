"""lend-c's vaults while contracts break, nodes misbehave and the API fails: right figures or an error that states what.

Contracts are broken on the real node, which is set back afterwards; nodes are spoilt by a proxy in front of it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.artifacts import RUNTIMES
from devnet.known_lending_c import MORPHO, RATE_MODEL
from devnet.known_lending_c_vaults import CURRENT, FACTORIES, FIRST, GAUNTLET, SECOND, SECOND_GENERATION, STEAKHOUSE
from devnet.offchain import morpho as stand_in
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway
from tests.faults import simulator as faults
from tests.faults.simulator import FaultyNode
from tests.faults.test_positions import ZEROS, capped, refusing
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
FIRST_POOL = {"chain": "ethereum", "protocol": "lend-c", "pool": STEAKHOUSE}
SECOND_POOL = FIRST_POOL | {"pool": SECOND_GENERATION}
DATA = {"chain": "ethereum", "vaults": [STEAKHOUSE, GAUNTLET]}
# Name -> operation and parameters; those of the first group are read from the chain alone.
OF_CHAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "rate": ("getYieldsLending", FIRST_POOL),
    "balance": ("getYieldsBalance", FIRST_POOL | {"address": known.VITALIK}),
    "price": ("getYieldsPrice", FIRST_POOL),
    "second balance": ("getYieldsBalance", SECOND_POOL | {"address": known.VITALIK}),
}
OF_BOTH = {"second rate": ("getYieldsLending", SECOND_POOL)}
OF_API = {"list": ("getLendCVaults", {"chain": "ethereum"}), "figures": ("getLendCVaultData", DATA)}
ASKED = OF_CHAIN | OF_BOTH | OF_API
NODES = {
    "gas capped below what a vault takes": capped(400_000),
    "no batches": faults.refuse_batches(),
    "answers in another order": faults.shuffled,
    "no multicall": refusing("0x82ad56cb"),
    "cut short once": faults.first(1, faults.cut),
}


class Case:
    """A gateway whose ethereum is a proxy in front of the node."""

    def __init__(self, gateway: RunningGateway, front: FaultyNode, node: Node) -> None:
        self.gateway, self.front, self.node = gateway, front, node

    async def ask(self, name: str) -> dict[str, Any]:
        """Return the whole answer."""
        return await self.gateway.ask(*ASKED[name])

    async def rows(self, name: str) -> Any:
        """Return the rows; the call must succeed."""
        return rows_of(await self.ask(name))

    async def next_block(self) -> None:
        """Have the gateway see another block, so that nothing is answered from memory."""
        await self.node.call("evm_mine")
        await self.gateway.ask("getBlockHeight", {"chain": "ethereum"})


def rows_of(answer: dict[str, Any]) -> Any:
    assert "result" in answer, answer
    data = answer["result"]["data"]
    return [
        {name: value for name, value in row.items() if name not in ("updatedAt", "lastUpdated")}
        for row in data.get("results", data.get("vaults"))
    ]


@asynccontextmanager
async def opened(devnet: Devnet, folder: Path, mode: str | None = None) -> AsyncIterator[Case]:
    node = devnet.nodes["ethereum"]
    front = FaultyNode(node.url)
    await front.start()
    overrides: dict[str, Any] = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    ethereum = overrides["chains"]["ethereum"]
    endpoints = [{**one, "url": front.url} for one in ethereum["endpoints"]]
    overrides["chains"] = {"ethereum": {**ethereum, "endpoints": endpoints}}
    away = {"morpho": {"endpoints": []}}
    overrides["sources"] |= away if mode == "off" else stand_in.settings(devnet.offchain.authority, mode)
    try:
        async with rewound(node), run_gateway(load_settings(environ={}, overrides=overrides)) as gateway:
            yield Case(gateway, front, node)
    finally:
        await front.close()


@pytest_asyncio.fixture(loop_scope="session")
async def case(devnet: Devnet, tmp_path: Path) -> AsyncIterator[Case]:
    async with opened(devnet, tmp_path) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def truth(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every operation answers where nothing is wrong."""
    async with opened(devnet, tmp_path_factory.mktemp("truth")) as sound:
        return {name: await sound.rows(name) for name in ASKED}


@pytest.mark.parametrize("fault", NODES)
async def test_a_node_with_ways_of_its_own_changes_no_figure(case: Case, truth: dict[str, Any], fault: str) -> None:
    case.front.fault = NODES[fault]
    for name in OF_CHAIN | OF_BOTH:
        assert await case.rows(name) == truth[name], name


async def test_a_node_that_does_not_answer_costs_what_is_read_from_it(case: Case, truth: dict[str, Any]) -> None:
    case.front.fault = faults.web_page
    for name in OF_CHAIN | OF_BOTH:
        assert (await case.ask(name))["error"]["code"] == 503, name
    for name in OF_API:
        assert [row["address"] for row in await case.rows(name)] == [row["address"] for row in truth[name]]


@pytest.mark.parametrize(
    ("contract", "code"),
    [
        *(("market", code) for code in ("gas_burner", "zeros", "silent")),
        *(("rate model", code) for code in ("zeros", "silent", "revert_bomber")),
        *(("vault", code) for code in ("gas_burner", "zeros", "return_bomber")),
        *(("factory", code) for code in ("zeros", "revert_bomber")),
    ],
)
async def test_a_contract_that_breaks_gives_no_wrong_rate(
    case: Case, truth: dict[str, Any], contract: str, code: str
) -> None:
    """It burns all gas, returns or reverts with a megabyte, answers nothing, or zero to everything."""
    factories = FACTORIES["ethereum"]
    broken = {"market": MORPHO, "rate model": RATE_MODEL["ethereum"], "vault": STEAKHOUSE, "factory": factories[FIRST]}
    await case.rows("rate")
    runtime = ZEROS if code == "zeros" else "0x" + RUNTIMES[code].hex()
    await case.node.call("anvil_setCode", broken[contract], runtime)
    await case.next_block()
    answer = await case.ask("rate")
    if contract == "factory" and code in ("zeros", "return_bomber"):
        assert answer["error"]["code"] == 404, answer  # a word of zeros is no
    elif "result" in answer:
        # A vault or a market that answers zero to everything has nothing; a model of zeros charges its first rate.
        assert code in ("zeros", "return_bomber"), answer
        [row] = rows_of(answer)
        assert row["supplyApy"] != truth["rate"][0]["supplyApy"]
    else:
        assert answer["error"]["code"] == 503, answer


@pytest.mark.parametrize("name", [FIRST, CURRENT, SECOND])
async def test_a_factory_without_code_is_named(case: Case, name: str) -> None:
    await case.node.call("anvil_setCode", FACTORIES["ethereum"][name], "0x")
    await case.next_block()
    error = (await case.ask("price"))["error"]
    assert error["code"] == 503
    assert FACTORIES["ethereum"][name] in error["message"]
    assert "no contract is there" in error["message"]


# Of the API: mode -> what still answers, what comes from the chain instead; all the rest is 503.
DEGRADED = ["off", "limited", "half", "renamed", "partial"]


@pytest.mark.parametrize("mode", DEGRADED)
async def test_without_the_api_the_chain_answers_what_it_knows(
    devnet: Devnet, tmp_path: Path, truth: dict[str, Any], mode: str
) -> None:
    async with opened(devnet, tmp_path, mode) as case:
        for name in OF_CHAIN:
            assert await case.rows(name) == truth[name], name
        for name in ("second rate", "list"):
            error = (await case.ask(name))["error"]
            assert (error["code"], "morpho" in error["message"]) == (503, True), error
            assert error["data"]["reason"] == "UPSTREAM_UNAVAILABLE"
            assert "http" not in error["message"]
        for row, expected in zip(await case.rows("figures"), truth["figures"], strict=True):
            assert (row["source"], row["avgApy"], row["avgNetApy"], row["basis"]) == ("chain", None, None, "spot")
            for member in ("address", "name", "symbol", "chainId", "totalAssets", "totalSupply", "fee"):
                assert row[member] == expected[member]
            assert row["apy"] == pytest.approx(expected["apy"], rel=1e-2)
        await case.next_block()
        case.front.fault = faults.web_page  # and the chain away too
        for name in ASKED:
            assert (await case.ask(name))["error"]["code"] == 503, name
