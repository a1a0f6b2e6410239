"""WatchBalances on the local chain of every family but EVM: the present value, and a payment that changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import stream_state_pb2

from devnet import known_bitcoin, known_cosmos, known_solana, known_starknet
from devnet.cosmos.world import address
from devnet.launcher import Devnet
from devnet.solana.ledger import Ledger
from devnet.solana.world import build_world
from devnet.starknet.node import StarknetNode
from devnet.watchdog import Watchdog
from tests.server.chains.solana.conftest import serve
from tests.server.streams.local_chains import HUB, open_hub, settings_of
from tests.server.streams.watching import Stream, Watching, on, watching

if TYPE_CHECKING:
    import aiohttp

pytestmark = pytest.mark.devnet


def watch(gateway: Watching, *items: dict[str, Any]) -> Stream[stream_state_pb2.WatchBalancesResponse]:
    request = stream_state_pb2.WatchBalancesRequest(
        items=[stream_state_pb2.WatchBalancesItem(**item) for item in items]
    )
    return gateway.open(stream_state_pb2.WatchBalancesResponse, gateway.balances, request)


async def test_bitcoin_shows_a_payment_and_a_reorganisation_that_undoes_it() -> None:
    async with Devnet.start(["bitcoin"], mines=False) as devnet:
        node: Any = devnet.others[0]
        async with watching({"bitcoin": settings_of(node.endpoints["bitcoin"])}) as gateway:
            stream = watch(gateway, {"chain": "bitcoin", "address": known_bitcoin.P2WSH})
            first = (await stream.next()).value
            assert (first.raw, first.decimals, first.block_number) == ("546", 8, known_bitcoin.HEIGHT)
            assert first.amount == "0.00000546"
            [block] = await node.call("generatetoaddress", 1, known_bitcoin.P2WSH)
            paid = (await stream.next()).value
            assert int(paid.raw) > 546
            assert paid.block_number == known_bitcoin.HEIGHT + 1
            await node.call("invalidateblock", block)
            await node.mine(2)
            undone = (await stream.next()).value
            assert (undone.raw, undone.block_number) == ("546", known_bitcoin.HEIGHT + 2)


async def test_solana_shows_lamports_and_tokens(plain_session: aiohttp.ClientSession) -> None:
    ledger = Ledger()
    build_world(ledger)
    async with serve(ledger) as node, watching({"solana": on(node.url) | {"mines_at_will": True}}) as gateway:
        alice = str(known_solana.ALICE)
        stream = watch(
            gateway,
            {"chain": "solana", "address": alice},
            {"chain": "solana", "address": alice, "token": str(known_solana.USDC)},
        )
        native, token = await stream.take(2)
        assert (native.value.raw, native.value.decimals) == (str(known_solana.ALICE_LAMPORTS), 9)
        assert (token.token, token.value.decimals) == (str(known_solana.USDC), 6)
        body = {"jsonrpc": "2.0", "id": 1, "method": "requestAirdrop", "params": [alice, 1_000]}
        async with plain_session.post(node.url, json=body) as response:
            assert "error" not in await response.json()
        changed = await stream.next()
        assert (changed.item, changed.value.raw) == (0, str(known_solana.ALICE_LAMPORTS + 1_000))


async def test_starknet_shows_tokens(plain_session: aiohttp.ClientSession) -> None:
    with Watchdog() as guard:
        node = StarknetNode(plain_session, lambda line: None)
        await node.start(guard)
        async with watching({"starknet": settings_of(node.endpoints["starknet"])}) as gateway:
            stream = watch(
                gateway,
                {"chain": "starknet", "address": known_starknet.BOB},
                {
                    "chain": "starknet",
                    "address": known_starknet.BOB.upper().replace("X", "x"),
                    "token": known_starknet.USDC,
                },
            )
            native, token = await stream.take(2)
            assert native.value.raw == str(known_starknet.STRK_SENT + known_starknet.STRK_SENT_LATER)
            assert token.value.raw == str(known_starknet.USDC_SENT)
            await node.call("devnet_transfer", known_starknet.USDC, known_starknet.BOB, "0x64")
            await node.call("devnet_mine", 1)
            changed = await stream.next()
            assert (changed.item, changed.value.raw) == (1, str(known_starknet.USDC_SENT + 100))
        await node.stop()


async def test_cosmos_shows_a_denom_and_not_its_block(plain_session: aiohttp.ClientSession) -> None:
    async with open_hub(plain_session) as hub, watching(hub.settings) as gateway:
        bob = address(HUB, known_cosmos.BOB)
        stream = watch(
            gateway,
            {"chain": "cosmoshub", "address": bob, "token": HUB.denom},
            {
                "chain": "cosmoshub",
                "address": address(HUB, known_cosmos.ALICE),
                "token": known_cosmos.IBC_DENOM.lower(),
            },
        )
        native, other = await stream.take(2)
        before = int(native.value.raw)
        assert before >= known_cosmos.SENT
        assert (native.token, native.value.decimals) == (HUB.denom, 6)
        assert not native.value.HasField("block_number")
        assert (other.value.raw, other.value.HasField("decimals")) == (str(known_cosmos.IBC_HELD), False)
        await hub.send(await hub.sign(25))
        changed = await stream.next()
        assert (changed.item, changed.value.raw) == (0, str(before + 25))
