"""Contracts that do not answer: their row fails alone, over both faces, and is there again once they do."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from devnet import known
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.faults import simulator as faults
from tests.faults.summary.asking import FACES, FRESH, HERE, OWN, Caller, Refusal, catch_up, check, settings
from tests.server.chains.evm.nodes import call_data

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

# A contract that every reading of the row needs. The addresses are those of facts/protocols.yaml.
CONTRACTS = {
    "lend-a-v2": "0x057835Ad21a177dbdd3090bB1CAE03EaCF78Fc6d",
    "lend-a-v3": "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
    "lend-b-v2": "0x5d3a536E4D6DbD6114cc1Ead35777bAB948E3643",
    "lend-b-v3": "0xc3d688B66703497DAA19211EEdff47f25384cdc3",
    "lend-c": "0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb",
    "stake-a": "0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84",
    "pool-a-lend": "0xeA6876DDE9e3467564acBeE1Ed5bac88783205E0",
}
WRAPPED = "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"
"""The rates of stake-a come out of the wrapped token's contract, which asks the other."""
# Runtime code: reverts without data; returns a byte less than a word, all ones.
CODES = {"reverts": "0x60006000fd", "nonsense": "0x7f" + "ff" * 32 + "600052601f6000f3", "no code": "0x"}


@contextlib.asynccontextmanager
async def with_code(node: Node, address: str, code: str) -> AsyncIterator[None]:
    """Other code at an address, in a block of its own, for as long as the block inside runs."""
    was = await node.call("eth_getCode", address, "latest")
    assert was != "0x", f"nothing stands at {address}"
    await node.call("anvil_setCode", address, code)
    await node.call("anvil_mine", "0x1", "0xc")
    try:
        yield
    finally:
        await node.call("anvil_setCode", address, was)
        await node.call("anvil_mine", "0x1", "0xc")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("chain", list(HERE))
async def test_rows_are_those_of_the_operations_of_their_own(judge, open_gateway, site, face, chain):
    async with open_gateway(site.endpoints["ethereum"], polygon=[site.endpoints["polygon"]]) as gateway:
        for wallet in (known.VITALIK, known.ALICE, known.BOB, next(FRESH)):
            await check(judge, await Caller(gateway, face).summary(chain, wallet), chain=chain)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def warm(site: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """A gateway of the module that has all tables, with an endpoint that no test spoils."""
    async with run_gateway_on(
        settings(ethereum=[site.endpoints["ethereum"]]), tmp_path_factory.mktemp("warm")
    ) as gateway:
        await Caller(gateway, FACES[0]).summary()
        yield gateway


@pytest.mark.parametrize("row", OWN)
@pytest.mark.parametrize("what", CODES)
async def test_a_contract_that_does_not_answer_costs_its_row_alone(judge, warm, site, row, what):
    await check_row(judge, warm, site.nodes["ethereum"], row, what)


@pytest.mark.parametrize(("row", "what"), list(zip(OWN, itertools.cycle(CODES), strict=False)))
async def test_so_does_one_whose_tables_are_not_there_yet(judge, open_gateway, site, row, what):
    node = site.nodes["ethereum"]
    async with open_gateway(node.url) as gateway:
        await check_row(judge, gateway, node, row, what)


async def check_row(judge: Caller, gateway: RunningGateway, node: Node, row: str, what: str) -> None:
    """Both faces ask at once: the two wallets share a block, and one of them asks for what the other needs too."""
    address, callers = CONTRACTS[row], [Caller(gateway, face) for face in FACES]
    async with with_code(node, address, CODES[what]):
        await catch_up(callers[0], "ethereum")
        asked = zip(callers, (known.ALICE, known.VITALIK), strict=True)
        for summary in await asyncio.gather(*(caller.summary(address=wallet) for caller, wallet in asked)):
            error = (await check(judge, summary, {row}))[row]
            assert error["code"] == 503
            assert error["reason"] in ("UPSTREAM_UNAVAILABLE", "PRICE_UNAVAILABLE")
            if what == "no code":
                assert (WRAPPED if row == "stake-a" else address) in error["message"]
                assert "no contract is there" in error["message"] or row == "stake-a"
        own = await callers[1].ask(OWN[row], chain="ethereum", address=known.VITALIK)
        assert isinstance(own, Refusal)
        assert (own.code, own.reason, own.message) == (503, error["reason"], error["message"])
    # It recovers by itself.
    await catch_up(callers[0], "ethereum")
    await check(judge, await callers[0].summary())


async def test_tables_that_take_too_long_fail_their_row_and_are_there_the_next_time(judge, open_gateway, front):
    factory = CONTRACTS["pool-a-lend"][2:].lower()
    async with open_gateway(front.url) as gateway:
        callers = [Caller(gateway, face) for face in FACES]
        for row, method in OWN.items():
            if row != "pool-a-lend":
                await callers[0].ask(method, chain="ethereum", address=known.ALICE)

        async def slow(request: faults.Request) -> None:
            # Only the tables of the vaults ask for the vault of a place.
            if factory in request.body.decode() and call_data("vaults(uint256)", 0)[2:10] in request.body.decode():
                await asyncio.sleep(4)
            await faults.honest(request)

        front.fault = slow
        for summary in await asyncio.gather(*(caller.summary() for caller in callers)):
            error = (await check(judge, summary, {"pool-a-lend"}))["pool-a-lend"]
            assert (error["code"], error["reason"]) == (503, "DEADLINE_EXCEEDED")
            assert "3 s" in error["message"]
        await asyncio.sleep(1.5)
        for caller in callers:
            await check(judge, await caller.summary())
