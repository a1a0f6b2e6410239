"""WatchBalances on a real EVM node: changes, reorganisations, what the node is asked, nodes away, bad input."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from waypost.v1 import common_pb2, stream_state_pb2

from server.chains.cosmos.names import encode_bech32
from server.errors import ChainUnknown, InvalidArgument
from server.streams import chain_values
from tests.server.chains.evm.nodes import ALICE, BOB, NOBODY, OWNER, USDC, WETH, Anvil, build_world, call_data
from tests.server.streams.watching import Front, Stream, Watching, on, watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

pytestmark = pytest.mark.devnet

Balances = Stream[stream_state_pb2.WatchBalancesResponse]
ETHER = 10**18


@pytest_asyncio.fixture(loop_scope="session")
async def node(plain_session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    """A chain with Multicall3 and tokens that makes a block with every transaction."""
    started = await Anvil.start(plain_session, "--chain-id", "1", "--number", "20000000")
    await build_world(started)
    yield started
    started.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def front(node: Anvil, plain_session: aiohttp.ClientSession) -> AsyncIterator[Front]:
    opened = Front(node.url, plain_session)
    await opened.start()
    yield opened
    await opened.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(front: Front) -> AsyncIterator[Watching]:
    async with watching({"ethereum": on(front.url)}) as opened:
        yield opened


def watch(gateway: Watching, *items: tuple[str, str] | tuple[str, str, str]) -> Balances:
    """Return a stream of these items: chain, address and token."""
    listed = [
        stream_state_pb2.WatchBalancesItem(chain=item[0], address=item[1], token="".join(item[2:])) for item in items
    ]
    request = stream_state_pb2.WatchBalancesRequest(items=listed)
    return gateway.open(stream_state_pb2.WatchBalancesResponse, gateway.balances, request)


async def test_what_an_account_holds_and_each_change_of_it(gateway: Watching, node: Anvil) -> None:
    stream = watch(gateway, ("ethereum", NOBODY.lower()), ("ethereum", ALICE, USDC), ("ethereum", BOB, WETH))
    native, token, wrapped = await stream.take(3)
    assert [one.item for one in (native, token, wrapped)] == [0, 1, 2]
    assert (native.chain, native.address, native.token) == ("ethereum", NOBODY, "")
    assert (native.value.amount, native.value.raw, native.value.decimals) == ("0", "0", 18)
    assert native.value.block_number == await node.height()
    assert (token.address, token.token) == (ALICE, USDC)
    assert (token.value.amount, token.value.raw, token.value.decimals) == ("1234.56789", "1234567890", 6)
    assert wrapped.value.raw == "0"
    sent = await node.send(NOBODY, value=3 * ETHER)
    changed = await stream.next()
    assert (changed.item, changed.value.amount) == (0, "3")
    assert changed.value.block_number >= int(sent["blockNumber"], 16)
    await node.send(USDC, call_data("mint(address,uint256)", ALICE, 10))
    changed = await stream.next()
    assert (changed.item, changed.value.raw) == (1, "1234567900")
    assert set(stream.paid) == {3}


async def test_a_balance_that_a_reorganisation_undoes_is_a_new_value(gateway: Watching, node: Anvil) -> None:
    before = await node.call("evm_snapshot")
    stream = watch(gateway, ("ethereum", NOBODY))
    assert (await stream.next()).value.amount == "0"
    await node.send(NOBODY, value=ETHER)
    assert (await stream.next()).value.amount == "1"
    assert await node.call("evm_revert", before)
    await node.call("anvil_mine", "0x3")
    assert (await stream.next()).value.amount == "0"


async def test_a_block_costs_the_node_one_execution_for_all_native_balances_of_all_streams(
    gateway: Watching, front: Front, node: Anvil
) -> None:
    accounts = [f"0x{number:040x}" for number in range(0x1000, 0x1000 + 30)]
    streams = [watch(gateway, *(("ethereum", account) for account in accounts[: 20 + at])) for at in range(10)]
    streams.append(watch(gateway, ("ethereum", accounts[0]), ("ethereum", ALICE, USDC), ("ethereum", BOB, USDC)))
    await asyncio.gather(*(stream.take(20 + at) for at, stream in enumerate(streams[:10])), streams[10].take(3))
    assert front.asked("eth_call") == [["eth_call"] * 3]
    waiting = [asyncio.create_task(stream.next()) for stream in streams]
    await asyncio.sleep(0)
    for _ in range(3):
        front.requests.clear()
        await node.send(accounts[0], value=ETHER)
        changed = await asyncio.gather(*waiting)
        assert {one.value.raw for one in changed} == {changed[0].value.raw}
        # The same events are the same bytes: one stream's are every stream's.
        assert {one.item for one in changed} == {0}
        waiting = [asyncio.create_task(stream.next()) for stream in streams]
        await asyncio.sleep(0)
        assert front.asked("eth_call") == [["eth_call"] * 3]
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_nobody_watching_costs_nothing(gateway: Watching, front: Front, node: Anvil) -> None:
    stream = watch(gateway, ("ethereum", NOBODY))
    await stream.next()
    await stream.close()
    front.requests.clear()
    await node.send(NOBODY, value=1)
    await asyncio.sleep(1.5)
    assert front.asked("eth_call", "eth_getBlockByNumber") == []


async def test_nodes_that_are_away_are_an_error_once_and_then_the_value_again(
    gateway: Watching, front: Front, node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_values, "_STALLED_SECONDS", 0.5)
    monkeypatch.setattr(chain_values, "_STALLED_BLOCKS", 0)
    stream = watch(gateway, ("ethereum", NOBODY))
    assert (await stream.next()).HasField("value")
    front.is_away = True
    # Silence shows first where the nodes still answer.
    while True:
        lost = await stream.next()
        if lost.HasField("error"):
            break
        assert lost.value.stalled
    assert lost.error.reason == common_pb2.REASON_UPSTREAM_UNAVAILABLE
    assert (lost.error.code, lost.address) == (503, NOBODY)
    front.is_away = False
    again = await stream.next()
    assert again.HasField("value")
    await node.send(NOBODY, value=ETHER)
    while (again := await stream.next()).value.stalled:
        pass
    assert again.value.amount == "1"


async def test_a_chain_that_stands_still_is_shown(gateway: Watching, node: Anvil, monkeypatch: Any) -> None:
    monkeypatch.setattr(chain_values, "_STALLED_SECONDS", 0.5)
    monkeypatch.setattr(chain_values, "_STALLED_BLOCKS", 0)
    stream = watch(gateway, ("ethereum", NOBODY), ("ethereum", OWNER))
    assert [one.value.stalled for one in await stream.take(4)] == [False, False, True, True]
    await node.call("anvil_mine", "0x1")
    assert [one.value.stalled for one in await stream.take(2)] == [False, False]


async def test_nodes_that_never_answered_are_an_error_at_the_start(
    plain_session: aiohttp.ClientSession, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    front.is_away = True
    async with watching({"ethereum": on(front.url)}) as gateway:
        stream = watch(gateway, ("ethereum", NOBODY), ("base", NOBODY))
        lost = await stream.take(2)
        assert {one.item: one.error.reason for one in lost} == {
            0: common_pb2.REASON_UPSTREAM_UNAVAILABLE,
            1: common_pb2.REASON_UPSTREAM_UNAVAILABLE,
        }
        front.is_away = False
        assert (await stream.next()).HasField("value")


async def test_what_is_no_token_is_an_error_beside_the_others(gateway: Watching) -> None:
    stream = watch(gateway, ("ethereum", ALICE, NOBODY), ("ethereum", ALICE, USDC))
    wrong, right = await stream.take(2)
    assert wrong.error.reason == common_pb2.REASON_NOT_A_TOKEN
    assert right.value.raw == "1234567890"


@pytest.mark.parametrize(
    ("item", "field", "says"),
    [
        (("ethereum", "0x12"), "address", "address"),
        (("ethereum", NOBODY, "USDC"), "token", "token"),
        (("ethereum", ALICE[:-1] + "d"), "address", "checksum"),
        (("bitcoin", NOBODY), "address", "address"),
        (("bitcoin", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", USDC), "token", "no tokens"),
        (("solana", NOBODY), "address", "Base58"),
        (("solana", "11111111111111111111111111111111", "0x1"), "token", "Base58"),
        (("starknet", "no felt"), "address", "address"),
        (("starknet", "0x1", "no felt"), "token", "address"),
        (("cosmoshub", encode_bech32("osmo", bytes(20)), "uatom"), "address", "cosmos"),
        (("cosmoshub", encode_bech32("cosmos", bytes(20))), "token", "uatom"),
        (("cosmoshub", encode_bech32("cosmos", bytes(20)), "?"), "token", "denom"),
    ],
)
async def test_what_can_never_be_right_refuses_the_stream(
    gateway: Watching, item: tuple[str, str], field: str, says: str
) -> None:
    stream = watch(gateway, ("ethereum", NOBODY), item)
    with pytest.raises(InvalidArgument, match=says) as caught:
        await stream.next()
    assert caught.value.field == field
    assert stream.paid == []


async def test_a_chain_that_is_none_is_unknown(gateway: Watching) -> None:
    with pytest.raises(ChainUnknown):
        await watch(gateway, ("nosuch", NOBODY)).next()
