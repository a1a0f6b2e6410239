"""What gas costs: by the node's own figures, and by the way that each chain's policy prefers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.evm.gas import WAYS, sample_transfer
from server.chains.facts import load_facts
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import GatewayError, UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.changed import nodes
from tests.server.chains.evm.nodes import BOB, Answers, Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

pytestmark = pytest.mark.devnet

GWEI = 10**9
LACKING = dict.fromkeys(("eth_feeHistory", "eth_maxPriorityFeePerGas"))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tipped(session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    """A node whose last blocks paid 1, 2 and 5 gwei in tips, with empty ones between."""
    node = await Anvil.start(session, "--chain-id", "1", "--number", "20000000", "--base-fee", str(7 * GWEI))
    for tip in (1, 2, 5):
        await node.send(BOB, value=1, maxFeePerGas=hex(50 * GWEI), maxPriorityFeePerGas=hex(tip * GWEI))
        await node.call("anvil_mine", "0x1")
    yield node
    node.stop()


@asynccontextmanager
async def driver_of(slug: str, url: str) -> AsyncIterator[Any]:
    settings = {"profile": "devnet", "chains": {slug: {"endpoints": [{"label": "local", "url": url}]}}}
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(settings), http)
        yield Operations(chains.get(slug))
        await chains.close()


@asynccontextmanager
async def fronted(node: Anvil, slug: str, results: dict[str, Any]) -> AsyncIterator[Any]:
    front = Answers(node.url, node.session, {"eth_chainId": load_facts()[slug].hex_id, **results})
    await front.start()
    async with driver_of(slug, front.url) as driver:
        yield driver
    await front.stop()


async def base_fee(node: Anvil) -> int:
    return int((await node.block("latest"))["baseFeePerGas"], 16)


async def test_the_base_fee_is_the_newest_blocks_and_the_tip_a_median_of_used_blocks(tipped: Anvil):
    async with driver_of("ethereum", tipped.url) as driver:
        price = await driver.read_gas_price(ReadView())
    assert price.base_fee == await base_fee(tipped)
    assert (price.priority_fee, price.l1_fee) == (2 * GWEI, None)


@pytest.mark.parametrize(
    ("slug", "results", "tip"),
    [
        ("ethereum", {"eth_feeHistory": None, "eth_maxPriorityFeePerGas": "0x3b9aca00"}, GWEI),
        ("ethereum", {"eth_feeHistory": {"baseFeePerGas": ["0x1", "0x2"], "gasUsedRatio": [0]}}, None),
        ("ethereum", {"eth_feeHistory": "nonsense", "eth_maxPriorityFeePerGas": "0x7"}, 7),
        ("hyperliquid", {"eth_maxPriorityFeePerGas": "0x0"}, 0),
        ("monad", {"eth_maxPriorityFeePerGas": hex(2 * GWEI)}, 2 * GWEI),
        ("arbitrum", {"eth_maxPriorityFeePerGas": hex(9 * GWEI)}, 0),
        ("linea", {"linea_estimateGas": {"gasLimit": "0x5208", "priorityFeePerGas": "0x64"}}, 100),
        ("linea", {"linea_estimateGas": None}, 2 * GWEI),
    ],
)
async def test_each_chain_has_its_way_to_the_tip(tipped: Anvil, slug: str, results: dict[str, Any], tip: int | None):
    async with fronted(tipped, slug, results) as driver:
        price = await driver.read_gas_price(ReadView())
    if tip is None:
        tip = int(await tipped.call("eth_maxPriorityFeePerGas"), 16)
    assert price.priority_fee == tip


async def test_where_a_whole_gas_price_is_wanted_the_tip_is_the_rest(tipped: Anvil):
    base = await base_fee(tipped)
    for slug, results in (("bsc", {}), ("ethereum", LACKING)):
        async with fronted(tipped, slug, {**results, "eth_gasPrice": hex(base + 123)}) as driver:
            price = await driver.read_gas_price(ReadView())
        assert (price.base_fee, price.priority_fee) == (base, 123)


async def test_a_chain_without_a_base_fee_has_a_gas_price_alone(tipped: Anvil):
    results = {**LACKING, "eth_gasPrice": hex(3 * GWEI), "eth_getBlockByNumber": {"number": "0x1"}}
    async with fronted(tipped, "ethereum", results) as driver:
        price = await driver.read_gas_price(ReadView())
    assert (price.base_fee, price.priority_fee) == (0, 3 * GWEI)


async def test_defaults_of_the_fee_history_are_not_taken_for_the_base_fee(tipped: Anvil):
    defaults = {"baseFeePerGas": ["0x1"] * 11, "gasUsedRatio": [0.5] * 10, "reward": [["0x1"]] * 10}
    async with fronted(tipped, "monad", {"eth_feeHistory": defaults}) as driver:
        assert (await driver.read_gas_price(ReadView())).base_fee == await base_fee(tipped)


@pytest.mark.parametrize("said", ["0x", [], {"baseFeePerGas": ["0x", "0x"]}, {"reward": [[7]], "gasUsedRatio": [1]}])
async def test_one_endpoint_that_garbles_the_fees_costs_no_caller_an_error(tipped: Anvil, tally: Any, said: Any):
    async with nodes(tally, tipped, tipped.session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.read_gas_price(ReadView())
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        wrong = ("eth_feeHistory", "eth_getBlockByNumber", "eth_maxPriorityFeePerGas", "eth_gasPrice")
        favourite.changes = dict.fromkeys(wrong, lambda _: said)
        assert await driver.read_gas_price(ReadView()) == truth
        assert "eth_feeHistory" in favourite.asked
        for front in fronts.values():
            front.changes = dict.fromkeys(wrong, lambda _: said)
        with pytest.raises(UpstreamUnavailable):
            await driver.read_gas_price(ReadView())


async def test_what_is_no_block_has_no_base_fee(tipped: Anvil):
    async with fronted(tipped, "ethereum", {**LACKING, "eth_gasPrice": "0x1", "eth_getBlockByNumber": {}}) as driver:
        with pytest.raises(GatewayError):
            await driver.read_gas_price(ReadView())


async def test_a_node_that_tells_nothing_is_an_error(tipped: Anvil):
    results = {**LACKING, "eth_gasPrice": None, "eth_getBlockByNumber": None}
    async with fronted(tipped, "ethereum", results) as driver:
        with pytest.raises(GatewayError):
            await driver.read_gas_price(ReadView())


async def test_a_layer_1_contract_that_is_not_there_tells_no_fee(tipped: Anvil):
    async with fronted(tipped, "scroll", {}) as driver:
        price = await driver.read_gas_price(ReadView())
    assert (price.priority_fee, price.l1_fee) == (2 * GWEI, None)


def test_every_policy_names_ways_that_exist():
    for facts in load_facts().values():
        assert {*facts.gas.base, *facts.gas.priority} <= set(WAYS)


@pytest.mark.parametrize("signed", [False, True])
def test_the_sample_transfer_is_a_transaction(signed: bool):
    import rlp

    raw = sample_transfer(534352, signed=signed)
    fields = rlp.decode(raw[1:])
    assert raw[0] == 2
    assert int.from_bytes(fields[0], "big") == 534352
    assert (int.from_bytes(fields[4], "big"), len(fields[5]), fields[7], fields[8]) == (21_000, 20, b"", [])
    assert [len(field) for field in fields[9:]] == ([1, 32, 32] if signed else [])
