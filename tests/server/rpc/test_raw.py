"""chainRpc over gRPC."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm.world import load_world
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

WORLD = load_world()


def native(value: object) -> dict[str, str]:
    return {"json": value if isinstance(value, str) else json.dumps(value)}


@pytest.mark.parametrize("slug", list(WORLD))
async def test_every_evm_chain_passes_calls_on(client: Client, slug: str):
    answer = await client.ask("chainRpc", chain=slug, method="eth_chainId")
    assert (answer.chain, answer.method) == (slug, "eth_chainId")
    assert answer.result.json == f'"{WORLD[slug].chain_id:#x}"'


async def test_parameters_arrive(client: Client):
    params = native([known.VITALIK, hex(WORLD["base"].height)])
    answer = await client.ask("chainRpc", chain="base", method="eth_getBalance", params=params)
    assert json.loads(answer.result.json) == hex(known.NATIVE_AT_FIRST)


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"method": "eth_sendRawTransaction", "params": native(["0x00"])}, "INVALID_ARGUMENT", "method"),
        ({"method": "anvil_mine"}, "INVALID_ARGUMENT", "method"),
        ({"method": "x" * 101}, "INVALID_ARGUMENT", "method"),
        ({"method": "eth_getBalance", "params": native({"address": "0x1"})}, "INVALID_ARGUMENT", "params"),
        ({"method": "eth_getBalance", "params": native('["0x1"],"id":1')}, "INVALID_ARGUMENT", "params"),
        ({"method": "eth_getBalance", "params": native("\ufeff[]")}, "INVALID_ARGUMENT", "params"),
        ({"method": "eth_getLogs", "params": native([{"fromBlock": "earliest"}])}, "RANGE_TOO_LARGE", "params"),
        ({"method": "eth_getBalance", "params": native(["0x1", "latest"])}, "INVALID_ARGUMENT", "params"),
        ({"method": "eth_getBalance", "params": native([])}, "INVALID_ARGUMENT", "params"),
    ],
)
async def test_refusals_name_the_parameter(client: Client, fields: dict, reason: str, field: str):
    refusal = await client.refused("chainRpc", chain="ethereum", **fields)
    assert (refusal.reason, refusal.field) == (reason, field)


async def test_every_family_has_methods_of_its_own(client: Client):
    answer = await client.ask("chainRpc", chain="solana", method="getGenesisHash")
    assert json.loads(answer.result.json) == load_facts()["solana"].genesis
    refusal = await client.refused("chainRpc", chain="solana", method="eth_chainId")
    assert (refusal.reason, refusal.field) == ("INVALID_ARGUMENT", "method")
