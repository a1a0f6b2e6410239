"""What one machine of a family's chain does not have is asked of the others before it is nowhere."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_bitcoin, known_cosmos, known_solana, known_starknet
from devnet.cosmos.world import CHAINS
from server.chains.view import ReadView
from server.errors import NotFound
from server.rpc.pipeline.errors import facts_of
from server.upstream.absence import TRIES
from tests.faults.families import relay as faults

if TYPE_CHECKING:
    from tests.faults.families.conftest import Rig
    from tests.faults.families.relay import Answer, Ask, Relay

pytestmark = pytest.mark.devnet

NOWHERE = 10**9
NO_HASH = "ab" * 32
NO_SIGNATURE = "1" * 64
Read = Callable[[Any], Coroutine[Any, Any, Any]]

# The parameters of every look-up after something that is not there: its node then answers so in its own words.
UNKNOWN: dict[str, Any] = {
    "getBlock": lambda params: [NOWHERE, *params[1:]],
    "getTransaction": lambda params: [NO_SIGNATURE, *params[1:]],
    "getSignatureStatuses": lambda params: [[NO_SIGNATURE], *params[1:]],
    "starknet_getBlockWithTxs": lambda params: [{"block_number": NOWHERE}],
    "starknet_getTransactionByHash": lambda params: ["0xdead"],
    "starknet_getTransactionReceipt": lambda params: ["0xdead"],
    "getblockhash": lambda params: [NOWHERE],
    "getblock": lambda params: [NO_HASH, *params[1:]],
    "block_by_hash": lambda params: _same_form(params, base64.b64encode(bytes(32)).decode()),
    "block_results": lambda params: _same_form(params, str(NOWHERE)),
    "tx": lambda params: _same_form(params, base64.b64encode(bytes(32)).decode()),
}


def _same_form(params: Any, value: str) -> Any:
    return dict.fromkeys(params, value) if isinstance(params, dict) else [value, *params[1:]]


async def lacks(ask: Ask) -> Answer:
    """Answer about something that is not there, whatever is looked up."""
    if ask.verb == "GET":
        route, _, last = ask.path.rpartition("/")
        if route.endswith("/txs"):
            return await ask.send(ask.get(f"{route}/{NO_HASH.upper()}"))
        if route.endswith("/blocks") and last.isdigit():
            return await ask.send(ask.get(f"{route}/{NOWHERE}"))
        return await ask.answer()
    asked = json.loads(ask.body)
    for call in asked if isinstance(asked, list) else [asked]:
        if call["method"] in UNKNOWN:
            # The block by which a machine proves its chain is there.
            if call["method"] == "getblockhash" and call["params"] == [0]:
                continue
            call["params"] = UNKNOWN[call["method"]](call["params"])
    return await ask.send(ask.post(asked))


def rpc(method: str, *params: Any) -> Read:
    """Return a call of a caller's own."""

    async def read(driver: Any) -> Any:
        return json.loads(await driver.pass_call(method, json.dumps(params).encode(), ReadView()))

    return read


async def reads_of(rig: Rig) -> dict[str, Read]:
    """Return every look-up of the family after something that is there; the names are what is asked of a node."""
    driver = rig.driver
    if rig.subject.slug == "solana":
        return {
            "getBlock": lambda one: one.read_block_by_number(known_solana.VERSIONED_SLOT, ReadView()),
            "getTransaction": lambda one: one.read_transaction(known_solana.VERSIONED, ReadView()),
            "rpc getTransaction": rpc(
                "getTransaction", known_solana.VERSIONED, {"encoding": "json", "maxSupportedTransactionVersion": 0}
            ),
        }
    if rig.subject.slug == "bitcoin":
        return {
            "getblockhash": lambda one: one.read_block_by_number(known_bitcoin.PAYMENTS, ReadView()),
            "getblock": lambda one: one.read_block_by_hash(known_bitcoin.PAYMENTS_HASH, ReadView()),
            "rpc getblock": rpc("getblock", known_bitcoin.PAYMENTS_HASH),
            "rpc getblockhash": rpc("getblockhash", known_bitcoin.PAYMENTS),
        }
    if rig.subject.slug == "starknet":
        number = known_starknet.CROWDED_BLOCK
        block = (await driver.read_block_transactions(number, ReadView())).starknet
        tx = block.transactions[0].hash
        return {
            "starknet_getBlockWithTxs": lambda one: one.read_block_transactions(number, ReadView()),
            "starknet_getTransactionByHash": lambda one: one.read_transaction(tx, ReadView()),
            "starknet_getTransactionReceipt": lambda one: one.read_receipt(tx, ReadView()),
            "rpc starknet_getTransactionByHash": rpc("starknet_getTransactionByHash", tx),
            "rpc starknet_getBlockWithTxs": rpc("starknet_getBlockWithTxs", {"block_number": number}),
        }
    staked = CHAINS["cosmoshub"].first + known_cosmos.STAKED_AT
    block = (await driver.read_block_by_number(staked, ReadView())).cosmos
    listed = (await driver.read_block_transactions(staked, ReadView())).cosmos
    tx = listed.transactions[0].txhash
    encoded = base64.b64encode(bytes.fromhex(block.hash)).decode()
    return {
        "/blocks/": lambda one: one.read_block_by_number(staked, ReadView()),
        "block_by_hash": lambda one: one.read_block_by_hash(block.hash, ReadView()),
        "block_results": lambda one: one.read_block_results(staked, ReadView()),
        "/txs/": lambda one: one.read_receipt(tx, ReadView()),
        "rpc block_by_hash": rpc("block_by_hash", encoded),
        "rpc block_results": rpc("block_results", str(staked)),
    }


def _proves(relay: Relay) -> int:
    """Return how many of the blocks that were asked for prove the machine's chain or fork, and are no caller's."""
    return sum(height != [known_bitcoin.PAYMENTS] for height in relay.heights)


@pytest.mark.parametrize("good", ["bad", "one", "two"])
async def test_what_one_machine_of_three_has_is_found(rig: Rig, good: str) -> None:
    reads = await reads_of(rig)
    truth = {name: await read(rig.driver) for name, read in reads.items()}
    for name, relays in rig.machines.items():
        for one in relays:
            one.fault = faults.honest if name == good else lacks
    async with rig.fresh() as driver:
        for name, read in reads.items():
            assert await read(driver) == truth[name], name


async def test_what_no_machine_has_is_asked_once_of_each_and_answered_so(rig: Rig) -> None:
    reads = await reads_of(rig)
    for relays in rig.machines.values():
        for one in relays:
            one.fault = lacks
    async with rig.fresh() as driver:
        await driver.read_height(ReadView())
        for name, read in reads.items():
            wanted = name.removeprefix("rpc ")
            for relays in rig.machines.values():
                for one in relays:
                    one.asked.clear()
                    one.heights.clear()
            [outcome] = await asyncio.gather(read(driver), return_exceptions=True)
            if isinstance(outcome, NotFound):
                assert outcome.message.endswith("(3 endpoints were asked)"), (name, outcome.message)
                assert facts_of(outcome)["endpointsAsked"] == "3"
            else:
                # The node's own answer, which states that there is none.
                assert name.startswith("rpc "), (name, outcome)
                assert outcome is None or None in outcome.values(), (name, outcome)
            counts = [
                sum(one_asked == wanted or wanted in one_asked for one in relays for one_asked in one.asked)
                - (sum(map(_proves, relays)) if wanted == "getblockhash" else 0)
                for relays in rig.machines.values()
            ]
            # What is at the head is waited for, and asked of everyone again.
            assert counts in ([1] * 3, [1 + TRIES] * 3), name
