"""web3.py over the gateway: contracts, names, fees, batches and web3's own filters, on the devnet's nodes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from waypost import AsyncWaypost, InvalidArgument, NotSupported, Waypost, WaypostError
from waypost.web3 import AsyncWaypostProvider, WaypostProvider
from web3 import AsyncWeb3, Web3
from web3.exceptions import ContractLogicError
from web3.middleware import LocalFilterMiddleware

from devnet import known, known_names
from devnet.evm.world import load_world
from tests.e2e.gateway import KEY
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

ETHEREUM = load_world()["ethereum"]
USDC = ETHEREUM.token("USDC")
ABI: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "balanceOf",
        "stateMutability": "view",
        "inputs": [{"name": "owner", "type": "address"}],
        "outputs": [{"name": "", "type": "uint256"}],
    },
    {
        "type": "function",
        "name": "transfer",
        "stateMutability": "nonpayable",
        "inputs": [{"name": "to", "type": "address"}, {"name": "value", "type": "uint256"}],
        "outputs": [{"name": "", "type": "bool"}],
    },
    {
        "type": "event",
        "name": "Transfer",
        "anonymous": False,
        "inputs": [
            {"name": "from", "type": "address", "indexed": True},
            {"name": "to", "type": "address", "indexed": True},
            {"name": "value", "type": "uint256", "indexed": False},
        ],
    },
]
NAME = "vitalik.eth"


async def with_web3(gateway: RunningGateway, work: Callable[[Web3], None]) -> None:
    """Run the work in a thread: the gateway is on this one's event loop."""

    def run() -> None:
        with Waypost(gateway.grpc_target, KEY) as client:
            work(Web3(WaypostProvider(client, "ethereum")))

    await asyncio.to_thread(run)


async def test_contracts_are_read_and_their_events(gateway: RunningGateway) -> None:
    def work(w3: Web3) -> None:
        assert w3.is_connected()
        token = w3.eth.contract(address=Web3.to_checksum_address(USDC.address), abi=ABI)
        assert token.functions.balanceOf(known.VITALIK).call() == known.vitalik_at_head(USDC)
        block = ETHEREUM.height + known.CROWDED_AT
        crowd = w3.eth.contract(address=Web3.to_checksum_address(ETHEREUM.wrapped_native.address), abi=ABI)
        events = crowd.events.Transfer().get_logs(from_block=block, to_block=block)
        assert len(events) == known.CROWD
        with pytest.raises(ContractLogicError):
            token.functions.transfer(known.ALICE, 2**200).call({"from": known.UNTOUCHED})

    await with_web3(gateway, work)


async def test_names_fees_and_batches(gateway: RunningGateway) -> None:
    def work(w3: Web3) -> None:
        assert w3.ens is not None
        assert w3.ens.address(NAME) == known_names.ADDRESSES[NAME]
        history = w3.eth.fee_history(4, "latest", [25, 75])
        assert len(history["baseFeePerGas"]) == 5
        assert len(history["reward"]) == 4
        with w3.batch_requests() as batch:
            batch.add(w3.eth.get_balance(known.VITALIK))
            batch.add(w3.eth.get_block(ETHEREUM.height))
            balance, block = batch.execute()
        assert balance == known.NATIVE_AT_HEAD
        assert block["number"] == ETHEREUM.height

    await with_web3(gateway, work)


async def test_filters_are_web3s_own(gateway: RunningGateway, devnet: Devnet) -> None:
    def refused(w3: Web3) -> None:
        with pytest.raises(WaypostError, match="LocalFilterMiddleware"):
            w3.eth.filter("latest")

    def first(w3: Web3) -> None:
        w3.middleware_onion.add(LocalFilterMiddleware)
        crowd = w3.eth.contract(address=Web3.to_checksum_address(ETHEREUM.wrapped_native.address), abi=ABI)
        block = ETHEREUM.height + known.CROWDED_AT
        events = crowd.events.Transfer.create_filter(from_block=block, to_block=block)
        assert len(events.get_all_entries()) == known.CROWD

    await with_web3(gateway, refused)
    await with_web3(gateway, first)
    async with unchanged(devnet, "ethereum") as node, AsyncWaypost(gateway.grpc_target, KEY) as client:
        w3 = AsyncWeb3(AsyncWaypostProvider(client, "ethereum"))
        w3.middleware_onion.add(LocalFilterMiddleware)
        blocks = await w3.eth.filter("latest")
        await node.call("evm_mine")
        head = (await w3.eth.get_block("latest"))["hash"]
        found: list[Any] = []
        while head not in found:
            found += await blocks.get_new_entries()
        assert found


async def test_the_same_with_an_event_loop(gateway: RunningGateway) -> None:
    async with AsyncWaypost(gateway.grpc_target, KEY) as client:
        w3 = AsyncWeb3(AsyncWaypostProvider(client, "ethereum"))
        assert await w3.is_connected()
        token = w3.eth.contract(address=Web3.to_checksum_address(USDC.address), abi=ABI)
        assert await token.functions.balanceOf(known.VITALIK).call() == known.vitalik_at_head(USDC)
        assert w3.ens is not None
        assert await w3.ens.address(NAME) == known_names.ADDRESSES[NAME]
        async with w3.batch_requests() as batch:
            batch.add(w3.eth.get_balance(known.VITALIK))
            [balance] = await batch.async_execute()
        assert balance == known.NATIVE_AT_HEAD
        with pytest.raises(ContractLogicError):
            await token.functions.transfer(known.ALICE, 2**200).call({"from": known.UNTOUCHED})


async def test_what_writes_is_refused_by_the_gateway(gateway: RunningGateway) -> None:
    async with AsyncWaypost(gateway.grpc_target, KEY) as client:
        w3 = AsyncWeb3(AsyncWaypostProvider(client, "ethereum"))
        with pytest.raises((InvalidArgument, NotSupported), match="eth_sendRawTransaction"):
            await w3.eth.send_raw_transaction(b"\x02\x01")
        assert not await AsyncWaypostProvider(client, "no-such-chain").is_connected()
