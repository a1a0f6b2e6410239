"""Positions while contracts fail and nodes misbehave: the right answer or an error that names what failed.

Never a wrong figure, never an internal error; in the summary one row is an error and the others answer.

Contracts are broken on the real node, which is set back afterwards; nodes are spoilt by a proxy in front of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.artifacts import RUNTIMES
from devnet.evm.treasury import token_of
from devnet.known_exchanges import VAULTS
from devnet.known_lending import LEND_A_V2, LEND_A_V3
from devnet.known_lending_b import LEND_B_V2, LEND_B_V3, price_feed
from devnet.known_lending_c import MORPHO
from runtime.settings import load_settings
from tests.e2e.devnet_reads import read
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

WALLET = {"chain": "ethereum", "address": known.VITALIK}
LISTING = {"chain": "ethereum"}
POSITIONS: dict[str, dict[str, str]] = {
    "getLendAV3UserPositions": WALLET,
    "getLendAV2UserPositions": WALLET,
    "getLendBV3UserPositions": WALLET,
    "getLendBV2UserPositions": WALLET,
    "getLendCUserPositions": WALLET,
    "getStakeAUserPositions": WALLET,
    "getPoolAPools": LISTING,
    "getPoolALendMarkets": LISTING,
    "getPoolALend": WALLET,
    "getYieldAV2Info": LISTING,
    "getDefiSummary": WALLET,
}
REVERTS = "0x5f5ffd"
ZEROS = "0x60205ff3"  # answers every call with a word of zeros
V3, V2 = LEND_A_V3["ethereum"], LEND_A_V2["ethereum"]


@dataclass
class Case:
    """A gateway whose ethereum is a proxy in front of the node."""

    gateway: RunningGateway
    front: FaultyNode
    node: Node

    async def ask(self, method: str, **members: str) -> Any:
        """Return the data; the call must succeed."""
        answer = await self.gateway.ask(method, POSITIONS[method] | members)
        assert "result" in answer, answer
        return without_moments(answer["result"]["data"])

    async def fails(self, method: str, **members: str) -> Any:
        """Return the error; the call must fail."""
        answer = await self.gateway.ask(method, POSITIONS[method] | members)
        assert "error" in answer, answer
        return answer["error"]

    async def summary(self, **members: str) -> dict[str, Any]:
        """Return the rows of the summary by protocol."""
        return {row["protocol"]: row for row in (await self.ask("getDefiSummary", **members))["protocols"]}

    async def break_contract(self, address: str, code: str) -> None:
        await self.node.call("anvil_setCode", address, code)

    async def next_block(self) -> None:
        """Have the gateway see another block, so that nothing is answered from memory."""
        await self.node.call("evm_mine")
        await self.gateway.ask("getBlockHeight", {"chain": "ethereum"})


def without_moments(data: Any) -> Any:
    return {name: value for name, value in data.items() if name != "timestamp"}


def settings_for(devnet: Devnet, folder: Path, url: str) -> Any:
    overrides: dict[str, Any] = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    ethereum = overrides["chains"]["ethereum"]
    endpoints = [{**one, "url": url} for one in ethereum["endpoints"]]
    overrides["chains"] = overrides["chains"] | {"ethereum": {**ethereum, "endpoints": endpoints}}
    return load_settings(environ={}, overrides=overrides)


@pytest_asyncio.fixture(loop_scope="session")
async def case(devnet: Devnet, tmp_path: Path) -> AsyncIterator[Case]:
    node = devnet.nodes["ethereum"]
    front = FaultyNode(node.url)
    await front.start()
    async with rewound(node), run_gateway(settings_for(devnet, tmp_path, front.url)) as gateway:
        yield Case(gateway, front, node)
    await front.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def truth(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every operation answers where nothing is wrong."""
    settings = settings_for(devnet, tmp_path_factory.mktemp("truth"), devnet.nodes["ethereum"].url)
    found = {}
    async with run_gateway(settings) as gateway:
        for method, params in POSITIONS.items():
            answer = await gateway.ask(method, params)
            found[method] = without_moments(answer["result"]["data"])
    return found


# Nodes


def capped(gas: int) -> faults.Fault:
    """Let no `eth_call` take more gas than this."""

    async def fault(request: faults.Request) -> None:
        parsed = json.loads(request.body)
        for one in parsed if isinstance(parsed, list) else [parsed]:
            if one["method"] == "eth_call":
                one["params"][0]["gas"] = hex(gas)
        faults.write_answer(request, await request.forward(json.dumps(parsed).encode()))

    return fault


def refusing(selector: str) -> faults.Fault:
    """Refuse calls of a function, as a node that will not run Multicall3."""

    async def fault(request: faults.Request) -> None:
        parsed = json.loads(request.body)
        answers = json.loads(await request.forward(request.body))
        calls = parsed if isinstance(parsed, list) else [parsed]
        for call, answer in zip(calls, answers if isinstance(answers, list) else [answers], strict=True):
            if call["method"] == "eth_call" and call["params"][0].get("data", "").startswith(selector):
                answer.pop("result", None)
                answer["error"] = {"code": -32000, "message": "execution reverted"}
        faults.write_answer(request, json.dumps(answers).encode())

    return fault


NODES = {
    "gas capped at 5 million": capped(5_000_000),
    "no batches": faults.refuse_batches(),
    "answers in another order": faults.shuffled,
    "zipped": faults.zipped,
    "no multicall": refusing("0x82ad56cb"),
    "cut short once": faults.first(1, faults.cut),
}


@pytest.mark.parametrize("fault", NODES)
async def test_a_node_with_ways_of_its_own_changes_no_answer(case: Case, truth: dict[str, Any], fault: str) -> None:
    case.front.fault = NODES[fault]
    for method in POSITIONS:
        assert await case.ask(method) == truth[method], method


@pytest.mark.parametrize("fault", [faults.drop, faults.web_page, faults.cut_json, faults.too_many])
async def test_a_node_that_does_not_answer_is_an_error_of_each(case: Case, fault: faults.Fault) -> None:
    case.front.fault = fault
    for method in POSITIONS:
        if method == "getYieldAV2Info":
            await case.ask(method)
            continue
        error = await case.fails(method)
        assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE"), (method, error)


async def test_a_reorganisation_between_two_executions_is_never_a_mix(
    case: Case, devnet: Devnet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The block is replaced after the first execution by one that is years later: all rows are of that one."""
    await case.ask("getDefiSummary")
    time = int((await case.node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
    snapshot = await case.node.call("evm_snapshot")
    await case.node.call("evm_setNextBlockTimestamp", time + 1_000)
    await case.node.call("evm_mine")
    await case.gateway.ask("getBlockHeight", {"chain": "ethereum"})
    left, executions = [True], 0

    async def fault(request: faults.Request) -> None:
        nonlocal executions
        parsed = json.loads(request.body)
        answers = []
        for one in parsed if isinstance(parsed, list) else [parsed]:
            answers.append(json.loads(await request.forward(json.dumps(one).encode())))
            executions += one["method"] == "eth_call"
            if one["method"] == "eth_call" and left:
                left.clear()
                assert await case.node.call("evm_revert", snapshot)
                await case.node.call("evm_setNextBlockTimestamp", time + 90_000_000)
                await case.node.call("evm_mine")
        faults.write_answer(request, json.dumps(answers if isinstance(parsed, list) else answers[0]).encode())

    case.front.fault = fault
    found = await case.gateway.ask("getDefiSummary", WALLET)
    assert executions > 2
    assert not left
    assert "error" not in found, found
    settings = settings_for(devnet, tmp_path_factory.mktemp("after"), case.node.url)
    async with run_gateway(settings) as after:
        whole = (await after.ask("getDefiSummary", WALLET))["result"]["data"]
    assert without_moments(found["result"]["data"]) == without_moments(whole)


# Contracts


async def test_a_feed_that_reverts_leaves_its_own_reserve_without_values(case: Case, truth: dict[str, Any]) -> None:
    """VITALIK's bitcoin is no collateral, so his account has its sums all the same."""
    right = truth["getLendAV3UserPositions"]
    asset = token_of(case.node.chain, "WBTC").address
    await case.ask("getLendAV3UserPositions", address=known.ALICE)
    source = await read(case.node, V3.oracle, "getSourceOfAsset(address)", [asset], "address")
    await case.break_contract(source, REVERTS)
    await case.next_block()
    del case.front.asked[:]
    found = await case.ask("getLendAV3UserPositions")
    assert len([one for one in case.front.asked if "eth_call" in one.methods]) == 2
    for row, before in zip(found["reserves"], right["reserves"], strict=True):
        if row["symbol"] == "WBTC":
            assert (row["balanceUsd"], row["debtUsd"]) == (None, None)
            assert row["balance"] == before["balance"]
        else:
            assert row["balanceUsd"] == pytest.approx(before["balanceUsd"], rel=1e-4)
    assert found["totalCollateralUsd"] == pytest.approx(right["totalCollateralUsd"], rel=1e-4)


@pytest.mark.parametrize(
    ("method", "market", "symbol", "name"),
    [
        ("getLendAV3UserPositions", V3, "WETH", "lend-a version 3"),
        ("getLendAV2UserPositions", V2, "DAI", "lend-a version 2"),
    ],
)
async def test_an_account_without_a_price_names_the_protocol(
    case: Case, truth: dict[str, Any], method: str, market: Any, symbol: str, name: str
) -> None:
    asset = token_of(case.node.chain, symbol).address
    source = await read(case.node, market.oracle, "getSourceOfAsset(address)", [asset], "address")
    await case.break_contract(source, REVERTS)
    error = await case.fails(method)
    assert (error["code"], error["data"]["reason"]) == (503, "PRICE_UNAVAILABLE")
    assert f"{name} on ethereum" in error["message"]
    await only_fails(case, truth, "LendAV3" if market is V3 else "LendAV2", "PRICE_UNAVAILABLE")


async def only_fails(case: Case, truth: dict[str, Any], operation: str, reason: str) -> None:
    """In the summary the row of one operation is an error and the others are what they were."""
    rows = await case.summary()
    for row, before in zip(rows.values(), truth["getDefiSummary"]["protocols"], strict=True):
        failed = f"get{operation}UserPositions" if operation != "PoolALend" else "getPoolALend"
        if row["protocol"] == ROWS[failed]:
            assert row["status"] == "error", row
            assert (row["error"]["code"], row["error"]["reason"]) == (503, reason), row
            assert "data" not in row or row["data"] is None
        else:
            assert (row["protocol"], row["status"]) == (before["protocol"], "ok"), row
            assert row["data"] == before["data"]


ROWS = {
    "getLendAV2UserPositions": "lend-a-v2",
    "getLendAV3UserPositions": "lend-a-v3",
    "getLendBV2UserPositions": "lend-b-v2",
    "getLendBV3UserPositions": "lend-b-v3",
    "getLendCUserPositions": "lend-c",
    "getStakeAUserPositions": "stake-a",
    "getPoolALend": "pool-a-lend",
}


async def test_a_feed_of_lend_b_that_reverts_leaves_it_open_whether_a_loan_can_be_liquidated(
    case: Case, truth: dict[str, Any]
) -> None:
    await case.break_contract(price_feed("DAI", ""), REVERTS)
    found = await case.ask("getLendBV3UserPositions")
    for row, before in zip(found["markets"], truth["getLendBV3UserPositions"]["markets"], strict=True):
        assert row == before | ({"isLiquidatable": None} if row["marketName"] == "cUSDCv3" else {})


async def broken_contracts(case: Case) -> dict[str, tuple[str, str]]:
    """By operation the contract that is broken, and what names it in the error."""
    bitcoin = token_of(case.node.chain, "WBTC").address
    rows = await read(case.node, V3.data_provider, "getReserveTokensAddresses(address)", [bitcoin], "address")
    vault = next(vault.address for vault in VAULTS if vault.chain == "ethereum" and known.VITALIK in vault.supplied)
    return {
        "LendAV3": (rows, rows),
        "LendAV2": (V2.data_provider, V2.data_provider),
        "LendBV3": (LEND_B_V3["ethereum"][1].address,) * 2,
        "LendBV2": (LEND_B_V2[3].address,) * 2,
        "LendC": (MORPHO, MORPHO),
        "PoolALend": (vault, vault),
    }


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        *(
            (operation, "gas_burner")
            for operation in ("LendAV3", "LendAV2", "LendBV3", "LendBV2", "LendC", "PoolALend")
        ),
        *((operation, "zeros") for operation in ("LendAV3", "LendBV3", "LendC", "PoolALend")),
        ("LendAV2", "silent"),
        ("LendBV2", "revert_bomber"),
        ("LendC", "return_bomber"),
    ],
)
async def test_a_contract_that_breaks_is_one_row(case: Case, truth: dict[str, Any], operation: str, code: str) -> None:
    """It burns all gas, returns or reverts with a megabyte, answers nothing, or zero to everything."""
    address, named = (await broken_contracts(case))[operation]
    await case.ask("getDefiSummary")
    await case.break_contract(address, ZEROS if code == "zeros" else "0x" + RUNTIMES[code].hex())
    await case.next_block()
    method = f"get{operation}UserPositions" if operation != "PoolALend" else "getPoolALend"
    answer = await case.gateway.ask(method, WALLET)
    rows = await case.summary()
    for name, row in rows.items():
        if name != ROWS[method]:
            assert row["status"] == "ok", row
    if "result" in answer:
        # A word of zeros is a balance like any other, and what stands after it is not looked at.
        assert code in ("zeros", "return_bomber"), answer
        return
    error = answer["error"]
    assert error["code"] == 503, error
    assert named.lower() in error["message"].lower() or code == "zeros", error
    assert rows[ROWS[method]]["status"] == "error"


@pytest.mark.parametrize(
    ("operation", "address"),
    [
        ("LendAV3", V3.pool),
        ("LendAV2", V2.pool),
        ("LendBV3", LEND_B_V3["ethereum"][5].address),
        ("LendBV2", LEND_B_V2[0].address),
        ("LendC", MORPHO),
        ("StakeA", "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"),
        ("PoolALend", "0xeA6876DDE9e3467564acBeE1Ed5bac88783205E0"),
    ],
)
async def test_a_listed_contract_without_code_is_named(
    case: Case, truth: dict[str, Any], operation: str, address: str
) -> None:
    await case.break_contract(address, "0x")
    method = f"get{operation}UserPositions" if operation != "PoolALend" else "getPoolALend"
    error = await case.fails(method)
    assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
    assert f"{address} on ethereum" in error["message"]
    assert "no contract is there" in error["message"]
    rows = await case.summary()
    assert rows[ROWS[method]]["status"] == "error"
    assert address in rows[ROWS[method]]["error"]["message"]
