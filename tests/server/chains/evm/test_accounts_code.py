"""Contract code with a proof of its block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from eth_hash.auto import keccak

from server.chains.evm.chain import EvmChain
from server.chains.evm.reads.unbatched import NO_CODE, code_proof_program, parse_code_proof
from server.chains.facts import load_facts
from server.chains.view import ReadView
from server.errors import InvalidArgument, NotFound, NotSupported
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, ARB_SYS, DELEGATED, NOBODY, OWNER, PROBER, USDC

if TYPE_CHECKING:
    from server.chains.registry import Chains

pytestmark = pytest.mark.devnet

CHANGING = "0x00000000000000000000000000000000000000C1"


async def test_code_and_its_block_are_one_request(driver, ethereum, requests):
    with requests([2]):
        code = await driver.read_code(USDC.lower(), ReadView())
    assert "0x" + code.code.hex() == await ethereum.call("eth_getCode", USDC, "latest")
    assert (code.address, code.block, code.delegated_to) == (USDC, await ethereum.height(), None)


async def test_code_leaves_in_the_same_request_as_other_reads(driver, requests):
    with requests([4]):
        await asyncio.gather(
            driver.read_code(USDC, ReadView()),
            driver.read_balance(ALICE, ReadView()),
            driver.read_token_balance(ALICE, USDC, ReadView()),
        )


@pytest.mark.parametrize("address", [ALICE, NOBODY, "0x" + "0" * 40])
async def test_accounts_without_code(driver, address, requests):
    with requests([2]):
        assert (await driver.read_code(address, ReadView())).code == b""


async def test_a_delegation_names_its_target(driver):
    code = await driver.read_code(DELEGATED, ReadView())
    assert (len(code.code), code.delegated_to) == (23, PROBER)


async def test_the_largest_contract(driver, ethereum):
    largest = "0x00000000000000000000000000000000000000c0"
    await ethereum.call("anvil_setCode", largest, "0x" + "5b" * 24576)
    assert len((await driver.read_code(largest, ReadView())).code) == 24576


async def test_historical_code(driver, ethereum, requests):
    with requests([1]):
        code = await driver.read_code(USDC, ReadView(block=ethereum.blocks["built"]))
    assert code.block == ethereum.blocks["built"]
    assert code.code


async def test_code_beyond_the_head(driver, ethereum):
    with pytest.raises(NotFound):
        await driver.read_code(USDC, ReadView(block=await ethereum.height() + 1))


async def test_code_on_arbitrum_names_the_chains_own_block(chains: Chains, arbitrum, requests):
    driver = Operations(chains.get("arbitrum"))
    with requests([2]):
        code = await driver.read_code(ARB_SYS, ReadView())
    assert code.block == await arbitrum.height()


async def test_code_where_multicall_is_missing_is_still_one_request(chains: Chains, bare, requests):
    with requests([2]):
        assert (await Operations(chains.get("base")).read_code(OWNER, ReadView())).block == await bare.height()


async def test_historical_code_where_history_is_unproved(chains: Chains, hyperliquid):
    node, _ = hyperliquid
    driver = Operations(chains.get("hyperliquid"))
    with pytest.raises(NotSupported, match="latest state"):
        await driver.read_code(USDC, ReadView(block=await node.height() - 1))
    code = await driver.read_code(USDC, ReadView(block=await node.height()))
    assert code.code


async def test_code_that_changes_between_the_two_reads_is_read_again_at_the_proofs_block(driver, ethereum, requests):
    """A node that answers code and proof from different heads: replayed by a pool that ages the first answer."""
    await ethereum.call("anvil_setCode", CHANGING, "0x6001")
    await ethereum.call("anvil_mine", "0x1")
    old = await ethereum.height()
    await ethereum.call("anvil_mine", "0x1")
    await ethereum.call("anvil_setCode", CHANGING, "0x6002")
    call = driver.pool.call
    asked: list[tuple[str, object]] = []

    async def lagging(method, params, policy=None, *, deadline=None):
        tag = params[-1]
        asked.append((method, tag))
        if method == "eth_getCode" and tag == "latest":
            params = [params[0], hex(old)]
        return await call(method, params, deadline=deadline)

    driver.pool.call = lagging
    try:
        code = await driver.read_code(CHANGING, ReadView())
    finally:
        driver.pool.call = call
    assert code.code == bytes.fromhex("6002")
    assert asked[-1] == ("eth_getCode", hex(code.block))
    assert code.block == await ethereum.height()


async def test_the_program_answers_number_and_hash(ethereum):
    chain = EvmChain.of(load_facts()["ethereum"])
    for address, expected in ((ALICE, NO_CODE), (NOBODY, bytes(32)), (USDC, None)):
        program = "0x" + code_proof_program(chain, bytes.fromhex(address[2:])).hex()
        answer = await ethereum.call("eth_call", {"data": program}, "latest")
        proof = parse_code_proof(chain, bytes.fromhex(answer[2:]))
        if expected is None:
            code = await ethereum.call("eth_getCode", address, "latest")
            expected = keccak(bytes.fromhex(code[2:]))
        newest = await ethereum.call("eth_getBlockByNumber", "latest", False)
        assert proof == (await ethereum.height(), expected, 1, int(newest["timestamp"], 16))


async def test_bad_addresses_are_refused_without_a_node(driver, requests):
    with requests([]), pytest.raises(InvalidArgument):
        await driver.read_code("0x123", ReadView())
