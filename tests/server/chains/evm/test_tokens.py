"""Tokens of every kind, and callers' own addresses kept from each other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from server.chains.view import ReadView
from server.errors import GatewayError, InvalidArgument, NotAToken, NotFound, NotSupported
from tests.operations import Operations
from tests.server.chains.evm.nodes import (
    ALICE,
    BOB,
    DELEGATED,
    GAS_BURNER,
    HOSTILE,
    MKR,
    NAMELESS,
    NOBODY,
    OWNER,
    PROBER,
    PROXY,
    RETURN_BOMBER,
    REVERT_BOMBER,
    SILENT,
    USDC,
    USDT,
    WETH,
    WHOLE,
    call_data,
)

if TYPE_CHECKING:
    from server.chains.registry import Chains

pytestmark = pytest.mark.devnet

MINTED = 1_234_567_890


async def test_a_token_balance_is_one_request_and_names_its_block(driver, ethereum, requests):
    view = ReadView()
    with requests([1]):
        balance = await driver.read_token_balance(ALICE, USDC.lower(), view)
    assert (balance.raw, balance.decimals, balance.token, balance.address) == (MINTED, 6, USDC, ALICE)
    assert balance.block == await ethereum.height()


async def test_fifty_token_balances_are_one_request(driver, requests):
    holders = [f"0x{index:040x}" for index in range(0x3000, 0x3000 + 49)]
    with requests([50]):
        balances = await asyncio.gather(
            driver.read_token_balance(ALICE, USDC, ReadView()),
            *(driver.read_token_balance(holder, USDC, ReadView()) for holder in holders),
        )
    assert [balance.raw for balance in balances] == [MINTED] + [0] * 49


async def test_native_and_token_balances_of_one_turn_are_one_request(driver, requests):
    with requests([2]):
        native, token = await asyncio.gather(
            driver.read_balance(ALICE, ReadView()), driver.read_token_balance(ALICE, USDT, ReadView())
        )
    assert token.raw == MINTED
    assert native.raw > 0


async def test_a_token_that_changes_state_when_asked_does_not_change_what_others_read(driver, ethereum):
    """The hostile balanceOf pays a coin to the holder asked about; in a shared execution the next read would see it."""
    wrong = await ethereum.call(
        "eth_call", {"to": HOSTILE, "data": call_data("balanceOf(address)", ALICE), "from": NOBODY}, "latest"
    )
    assert int(wrong, 16) == 7 * 10**18
    results = await asyncio.gather(
        driver.read_token_balance(ALICE, HOSTILE, ReadView()),
        *(driver.read_token_balance(ALICE, USDC, ReadView(deadline=None)) for _ in range(24)),
        *(driver.read_balance(ALICE, ReadView()) for _ in range(25)),
    )
    hostile, others, natives = results[0], results[1:25], results[25:]
    assert hostile.raw == 7 * 10**18
    assert {balance.raw for balance in others} == {MINTED}
    truth = int(await ethereum.call("eth_getBalance", ALICE, hex(natives[0].block)), 16)
    assert {balance.raw for balance in natives} == {truth}


async def test_the_attack_would_work_in_a_shared_execution(driver):
    """What the isolation is for: the planner's shared way, given the hostile token and another read, is deceived."""
    from server.chains.evm.reads.multicall import Call

    balance_of = bytes.fromhex(call_data("balanceOf(address)", ALICE)[2:])
    calls = [Call(bytes.fromhex(address[2:]), balance_of) for address in (HOSTILE, USDC)]
    _, deceived = await driver.planner.read_shared(ReadView(), calls)
    assert int.from_bytes(deceived.data, "big") == MINTED + 1_000_000


@pytest.mark.parametrize("bad", [GAS_BURNER, REVERT_BOMBER, RETURN_BOMBER])
async def test_a_starving_or_bombing_token_costs_its_neighbours_nothing(driver, bad):
    outcomes = await asyncio.gather(
        driver.read_token_balance(ALICE, bad, ReadView()),
        *(driver.read_token_balance(ALICE, USDC, ReadView()) for _ in range(49)),
        return_exceptions=True,
    )
    assert {balance.raw for balance in outcomes[1:]} == {MINTED}
    if bad == RETURN_BOMBER:
        assert outcomes[0].raw == 0
    else:
        assert isinstance(outcomes[0], NotAToken)
        assert outcomes[0].field == "token"


@pytest.mark.parametrize(
    ("address", "name", "symbol", "decimals", "supply"),
    [
        (USDC, "USD Coin", "USDC", 6, None),
        (USDT, "Tether USD", "USDT", 6, MINTED),
        (MKR, "Maker", "MKR", 18, MINTED),
        (NAMELESS, None, None, 8, MINTED),
        (WHOLE, "Whole", "WHL", 0, MINTED),
        (PROXY, "Proxied", "PRX", 18, 5 * 10**17),
        (WETH, "Wrapped Ether", "WETH", 18, 0),
    ],
)
async def test_metadata_of_plain_and_odd_tokens(driver, ethereum, address, name, symbol, decimals, supply):
    token = await driver.read_token(address.lower(), ReadView())
    assert (token.address, token.name, token.symbol, token.decimals) == (address, name, symbol, decimals)
    if supply is None:
        answer = await ethereum.call("eth_call", {"to": address, "data": call_data("totalSupply()")}, "latest")
        supply = int(answer, 16)
    assert token.total_supply == supply
    assert token.block == await ethereum.height()


async def test_cold_metadata_is_one_request(driver, requests):
    with requests([1]):
        await driver.read_token(MKR, ReadView())


async def test_a_failure_without_data_is_asked_again_alone_at_the_same_block(driver, requests):
    with requests([1, 2]):
        token = await driver.read_token(NAMELESS, ReadView())
    assert (token.name, token.symbol) == (None, None)


async def test_a_token_without_decimals_counts_whole_pieces(driver):
    balance = await driver.read_token_balance(ALICE, WHOLE, ReadView())
    assert (balance.raw, balance.decimals) == (MINTED, 0)


@pytest.mark.parametrize("address", [NOBODY, ALICE, PROBER, SILENT, DELEGATED])
async def test_what_is_no_token_is_reported_so(driver, address):
    with pytest.raises(NotAToken) as caught:
        await driver.read_token(address, ReadView())
    assert caught.value.field == "address"
    with pytest.raises(NotAToken) as caught:
        await driver.read_token_balance(BOB, address, ReadView())
    assert caught.value.field == "token"
    with pytest.raises(NotAToken) as caught:
        await driver.read_allowance(address, ALICE, BOB, ReadView())
    assert caught.value.field == "address"


@pytest.mark.parametrize("number", [*range(1, 18), 256])
async def test_a_precompile_is_no_token_whatever_it_answers(driver, ethereum, number):
    """SHA-256, RIPEMD-160 and the identity answer everything, with what reads like an enormous balance."""
    address = f"0x{number:040x}"
    if number in (2, 3, 4):
        reply = await ethereum.call("eth_call", {"to": address, "data": call_data("balanceOf(address)", BOB)}, "latest")
        assert int(reply[:66], 16) > 2**128
    for read, field in (
        (driver.read_token(address, ReadView()), "address"),
        (driver.read_token_balance(BOB, address, ReadView()), "token"),
        (driver.read_allowance(address, ALICE, BOB, ReadView()), "address"),
    ):
        with pytest.raises(NotAToken, match="nothing there answers") as caught:
            await read
        assert caught.value.field == field


async def test_a_token_before_its_deployment_is_none(driver):
    with pytest.raises(NotAToken):
        await driver.read_token_balance(ALICE, HOSTILE, ReadView(block=20_000_002))


async def test_history_of_a_token(driver, ethereum, requests):
    first = ethereum.blocks["built"]
    with requests([1]):
        balance = await driver.read_token_balance(ALICE, USDC, ReadView(block=first))
    assert (balance.block, balance.raw) == (first, MINTED)


async def test_allowances_and_what_counts_as_unlimited(driver, requests):
    with requests([1]):
        unlimited = await driver.read_allowance(USDC, ALICE, BOB, ReadView())
    limited = await driver.read_allowance(USDC.lower(), ALICE.lower(), OWNER.lower(), ReadView())
    assert (unlimited.raw, unlimited.is_unlimited, unlimited.symbol) == (2**256 - 1, True, "USDC")
    assert (limited.raw, limited.is_unlimited, limited.decimals) == (2_500_000, False, 6)
    assert (limited.token, limited.owner, limited.spender) == (USDC, ALICE, OWNER)


async def test_token_reads_refuse_bad_addresses_by_name(driver, requests):
    with requests([]):
        for read, field in (
            (driver.read_token_balance("0x12", USDC, ReadView()), "address"),
            (driver.read_token_balance(ALICE, "uatom", ReadView()), "token"),
            (driver.read_token("So11111111111111111111111111111111111111112", ReadView()), "address"),
            (driver.read_allowance(USDC, "x", BOB, ReadView()), "owner"),
            (driver.read_allowance(USDC, ALICE, "", ReadView()), "spender"),
        ):
            with pytest.raises(InvalidArgument) as caught:
                await read
            assert caught.value.field == field


async def test_token_reads_beyond_the_head_and_where_history_is_unproved(driver, chains: Chains, hyperliquid, ethereum):
    with pytest.raises(NotFound, match="does not exist yet"):
        await driver.read_token_balance(ALICE, USDC, ReadView(block=await ethereum.height() + 9))
    node, _ = hyperliquid
    hyper = Operations(chains.get("hyperliquid"))
    with pytest.raises(NotSupported, match="latest state"):
        await hyper.read_token_balance(ALICE, USDC, ReadView(block=await node.height() - 1))
    assert (await hyper.read_token_balance(ALICE, USDC, ReadView())).raw == MINTED


async def test_without_multicall_tokens_are_read_at_one_block_too(chains: Chains, bare):
    driver = Operations(chains.get("base"))
    with pytest.raises(NotAToken):
        await driver.read_token(NOBODY, ReadView())
    with pytest.raises(GatewayError):
        await driver.read_token_balance(OWNER, NOBODY, ReadView(block=101))
