"""Swap quotes of nodes and contracts that misbehave: the right figure or a named error."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from devnet import known_exchanges
from devnet.known_exchanges import V3_CONTRACTS, V4_CONTRACTS
from runtime.settings import Settings
from server.chains.registry import Chains
from server.errors import ArchiveRequired, GatewayError, UpstreamUnavailable
from server.protocols.reader import ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.rpc.registration import PROTOCOLS
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.faults.families.relay import Answer, Ask, drops, refuse, relay, shows_a_page
from tests.rewinding import rewound
from tests.server.protocols.conftest import Asked, NoPrices
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet
    from tests.faults.families.relay import Json, Relay

pytestmark = pytest.mark.devnet

WETH, USDC = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
QUOTES = ("GetDexAV2Quote", "GetDexAV3Quote", "GetDexAV4Quote")
CONTRACTS = {
    "GetDexAV2Quote": (known_exchanges.V2_FACTORY, known_exchanges.V2_ROUTER),
    "GetDexAV3Quote": (V3_CONTRACTS["ethereum"]["factory"], V3_CONTRACTS["ethereum"]["quoter"]),
    "GetDexAV4Quote": (V4_CONTRACTS["ethereum"]["state"], V4_CONTRACTS["ethereum"]["quoter"]),
}
LEAST_GAS = 5_000_000


@asynccontextmanager
async def behind(devnet: Devnet) -> AsyncIterator[tuple[Asked, Relay]]:
    """The readers on ethereum behind a relay."""
    [endpoint] = devnet.settings_overrides()["chains"]["ethereum"]["endpoints"]
    async with aiohttp.ClientSession() as plain, relay(endpoint["url"], plain) as front, open_session() as http:
        chains = {"ethereum": {"endpoints": [endpoint | {"url": front.url}], "mines_at_will": True}}
        settings = Settings.model_validate({"profile": "devnet", "chains": chains})
        tally = ChainTally()
        loaded = Chains.load(settings, http, observer=tally, cache=Cache(1 << 26, clock=lambda: 0.0))
        store = TableStore()
        readers = ProtocolReaders(PROTOCOLS, Runner(loaded.capability, store, NoPrices()))
        yield Asked(readers, tally, store, loaded, devnet), front
        await store.close()
        await loaded.close()


async def quote(asked: Asked, rpc: str, **more: Any) -> Any:
    return await asked.swap(rpc, "ethereum", WETH, USDC, "3", **more)


def capped(call: Json) -> Json:
    """Return a call as a node runs it that gives no more than so much gas, whatever is asked for."""
    if call["method"] != "eth_call":
        return call
    first, *others = call["params"]
    gas = min(int(first.get("gas", hex(LEAST_GAS)), 16), LEAST_GAS)
    return call | {"params": [first | {"gas": hex(gas)}, *others]}


async def caps_gas(ask: Ask) -> Answer:
    calls = [capped(call) for call in ask.calls]
    return await ask.post(calls if ask.body.startswith(b"[") else calls[0]).answer()


async def refuses_batches(ask: Ask) -> Answer:
    if ask.body.startswith(b"["):
        return Answer.of({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batches"}})
    return await ask.answer()


@pytest.mark.parametrize("rpc", QUOTES)
@pytest.mark.parametrize("fault", [caps_gas, refuses_batches])
async def test_a_node_that_gives_less_answers_the_same(devnet: Devnet, rpc: str, fault: Any) -> None:
    async with behind(devnet) as (asked, front):
        expected = await quote(asked, rpc)
    async with behind(devnet) as (asked, front):
        front.fault = fault
        assert await quote(asked, rpc) == expected


@pytest.mark.parametrize("rpc", QUOTES)
@pytest.mark.parametrize("fault", [drops, shows_a_page])
async def test_no_node_that_answers(devnet: Devnet, rpc: str, fault: Any) -> None:
    async with behind(devnet) as (asked, front):
        await quote(asked, rpc)
        await asked.mine("ethereum")
        front.fault = fault
        with pytest.raises(UpstreamUnavailable, match="ethereum"):
            await asked.swap(rpc, "ethereum", WETH, USDC, "4")


@pytest.mark.parametrize("rpc", QUOTES[1:])
async def test_state_that_the_node_has_dropped(devnet: Devnet, rpc: str) -> None:
    async with behind(devnet) as (asked, front):
        await quote(asked, rpc)
        # Not a fresh one: those are asked for again for a while.
        block = int(await devnet.nodes["ethereum"].call("eth_blockNumber"), 16) - 15

        async def prunes(ask: Ask) -> Answer:
            answered = (await ask.answer()).json
            for call, response in zip(ask.calls, answered if isinstance(answered, list) else [answered], strict=True):
                if call["method"] == "eth_call" and call["params"][1] == hex(block):
                    refuse(response, -32000, f"missing trie node {'ab' * 32} (path ) state is not available")
            return Answer.of(answered)

        front.fault = prunes
        with pytest.raises(ArchiveRequired) as caught:
            await quote(asked, rpc, block=block)
        assert caught.value.field == "blockHeight"


# Nothing; one byte; a word that is cut; an error without words; words that no answer has so many of.
CODES = {
    "no code": "0x",
    "a byte": "0x60016000f3",
    "half a word": "0x60106000f3",
    "a revert": "0x60006000fd",
    "all ones": "0x600019600052600019602052600019604052600019606052" + "60806000f3",
}


@pytest.mark.parametrize("rpc", QUOTES)
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", [0, 1], ids=["registry", "quoter"])
async def test_a_contract_that_is_another_one(devnet: Devnet, rpc: str, code: str, place: int) -> None:
    node = devnet.nodes["ethereum"]
    contract = CONTRACTS[rpc][place]
    async with rewound(node), behind(devnet) as (asked, _):
        await node.call("anvil_setCode", contract, CODES[code])
        await asked.mine("ethereum")
        with pytest.raises(GatewayError) as caught:
            await quote(asked, rpc)
        answered = caught.value
        assert answered.field is None
        assert contract in answered.message or "ethereum" in answered.message or answered.reason == "REVERTED", (
            answered.message
        )
    await devnet.mine("ethereum", 1)
