"""Answers of another shape: one good endpoint of three is enough for every read, whatever the others answer.

One kind of answer is spoilt at a time, so that each reader meets it, and not only the first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_bitcoin, known_cosmos, known_solana, known_starknet
from devnet.cosmos.world import CHAINS, address
from server.chains.capabilities.accounts import KnownAsset
from server.chains.view import ReadView
from server.errors import GatewayError, NotAToken, UpstreamDisagrees, UpstreamUnavailable
from tests.faults.families.relay import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.faults.families.conftest import Rig
    from tests.faults.families.relay import Ask

    Read = Callable[[Any], Coroutine[Any, Any, Any]]
    Shape = Callable[[Any], Any]

pytestmark = pytest.mark.devnet


def swap_leaves(value: Any) -> Any:
    """The same tree with numbers where texts were, and the other way round."""
    if isinstance(value, dict):
        return {name: swap_leaves(one) for name, one in value.items()}
    if isinstance(value, list):
        return [swap_leaves(one) for one in value]
    return 7 if isinstance(value, str) else "no such thing"


def lose_members(value: Any) -> Any:
    return dict.fromkeys(value) if isinstance(value, dict) else [None]


SHAPES: dict[str, Shape] = {
    "a text": lambda _: "no such thing",
    "a number below all": lambda _: -7,
    "a number beyond all": lambda _: 10**30,
    "an empty list": lambda _: [],
    "an empty object": lambda _: {},
    "nothing": lambda _: None,
    "within another": lambda value: {"result": value},
    "leaves of other types": swap_leaves,
    "members without values": lose_members,
}


class Spoil:
    """A fault: answers to `name` (a method, or the path of a GET) are of another shape."""

    def __init__(self, name: str, shape: Shape) -> None:
        self.name, self.shape = name, shape
        self.met = 0

    async def __call__(self, ask: Ask) -> Answer:
        reply = await ask.answer()
        if self.name not in ask.names or reply.status != 200:
            return reply
        if ask.verb == "GET":
            self.met += 1
            return Answer(200, json.dumps(self.shape(_value(reply.body))).encode(), reply.headers)
        responses = reply.json if isinstance(reply.json, list) else [reply.json]
        for call, response in zip(ask.calls, responses, strict=True):
            if call["method"] == self.name and not _is_proof(call) and "result" in response:
                response["result"] = self.shape(response["result"])
                self.met += 1
        return Answer.of(responses if isinstance(reply.json, list) else responses[0])


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()


def _is_proof(call: dict[str, Any]) -> bool:
    """Whether it is a question by which endpoints prove their chain: one that fails it is not asked anything else."""
    return call["method"] in ("getGenesisHash", "starknet_chainId", "status") or call == call | {
        "method": "getblockhash",
        "params": [0],
    }


PROOFS = {"/api/blocks/0", "/cosmos/base/tendermint/v1beta1/node_info", "getGenesisHash", "starknet_chainId", "status"}

HUB = CHAINS["cosmoshub"]
BOB, STAKER = address(HUB, known_cosmos.BOB), address(HUB, known_cosmos.ALICE)
STAKED = HUB.first + known_cosmos.STAKED_AT
ALICE, USDC = str(known_solana.ALICE), str(known_solana.USDC)
UNKNOWN_SIGNATURE = known_solana.VERSIONED[:-2] + "11"


async def hash_of_staked(driver: Any) -> str:
    return str((await driver.read_block_by_number(STAKED, ReadView())).cosmos.hash)


async def first_of_staked(driver: Any) -> str:
    return str((await driver.read_block_transactions(STAKED, ReadView())).cosmos.transactions[0].txhash)


async def first_validator(driver: Any) -> str:
    return str((await driver.read_validators("BOND_STATUS_BONDED", ReadView()))[0].operator_address)


async def first_of_crowded(driver: Any) -> str:
    block = (await driver.read_block_transactions(known_starknet.CROWDED_BLOCK, ReadView())).starknet
    return str(block.transactions[0].hash)


async def then(driver: Any, find: Callable[[Any], Coroutine[Any, Any, str]], method: str) -> Any:
    return await getattr(driver, method)(await find(driver), ReadView())


READS: dict[str, dict[str, Read]] = {
    "solana": {
        "height": lambda driver: driver.read_height(ReadView()),
        "balance": lambda driver: driver.read_balance(ALICE, ReadView()),
        "token balance": lambda driver: driver.read_token_balance(ALICE, USDC, ReadView()),
        "holdings": lambda driver: driver.read_holdings(ALICE, [KnownAsset(USDC, 6)], ReadView()),
        "metadata": lambda driver: driver.read_token_metadata(USDC, ReadView()),
        "pointed metadata": lambda driver: driver.read_token_metadata(str(known_solana.POINTING), ReadView()),
        "program": lambda driver: driver.read_program_size(str(known_solana.TOKEN_PROGRAM), ReadView()),
        "block": lambda driver: driver.read_block_by_number(known_solana.VERSIONED_SLOT, ReadView()),
        "transaction": lambda driver: driver.read_transaction(known_solana.VERSIONED, ReadView()),
        "no transaction": lambda driver: driver.read_transaction(UNKNOWN_SIGNATURE, ReadView()),
    },
    "starknet": {
        "height": lambda driver: driver.read_height(ReadView()),
        "balance": lambda driver: driver.read_balance(known_starknet.BOB, ReadView()),
        "balance then": lambda driver: driver.read_balance(known_starknet.BOB, ReadView(known_starknet.STRK_BLOCK)),
        "token": lambda driver: driver.read_token_balance(known_starknet.BOB, known_starknet.USDC, ReadView()),
        "snake token": lambda driver: driver.read_token_balance(
            known_starknet.BOB, known_starknet.SNAKE_TOKEN, ReadView()
        ),
        "holdings": lambda driver: driver.read_holdings(
            known_starknet.BOB, [KnownAsset(known_starknet.USDC, 6)], ReadView()
        ),
        "to come": lambda driver: driver.read_balance(known_starknet.BOB, ReadView(10**6)),
        "block": lambda driver: driver.read_block_transactions(known_starknet.CROWDED_BLOCK, ReadView()),
        "transaction": lambda driver: then(driver, first_of_crowded, "read_transaction"),
        "receipt": lambda driver: then(driver, first_of_crowded, "read_receipt"),
    },
    "bitcoin": {
        "height": lambda driver: driver.read_height(ReadView()),
        "balance": lambda driver: driver.read_balance(known_bitcoin.P2SH, ReadView()),
        "block": lambda driver: driver.read_block_by_number(known_bitcoin.PAYMENTS, ReadView()),
        "block by hash": lambda driver: driver.read_block_by_hash(known_bitcoin.PAYMENTS_HASH, ReadView()),
    },
    "cosmoshub": {
        "height": lambda driver: driver.read_height(ReadView()),
        "balance": lambda driver: driver.read_token_balance(BOB, HUB.denom, ReadView()),
        "other balance": lambda driver: driver.read_token_balance(STAKER, known_cosmos.IBC_DENOM, ReadView()),
        "balance then": lambda driver: driver.read_token_balance(BOB, HUB.denom, ReadView(HUB.first)),
        "holdings": lambda driver: driver.read_holdings(STAKER, [KnownAsset(known_cosmos.IBC_DENOM, 6)], ReadView()),
        "metadata": lambda driver: driver.read_token_metadata(HUB.denom, ReadView()),
        "supply": lambda driver: driver.read_supply(known_cosmos.IBC_DENOM, ReadView()),
        "account": lambda driver: driver.read_account(BOB, ReadView()),
        "delegations": lambda driver: driver.read_delegations(STAKER, ReadView()),
        "unbondings": lambda driver: driver.read_unbondings(STAKER, ReadView()),
        "rewards": lambda driver: driver.read_rewards(STAKER, ReadView()),
        "pool": lambda driver: driver.read_pool(ReadView()),
        "validators": lambda driver: driver.read_validators("BOND_STATUS_BONDED", ReadView()),
        "validator": lambda driver: then(driver, first_validator, "read_validator"),
        "block": lambda driver: driver.read_block_by_number(STAKED, ReadView()),
        "block by hash": lambda driver: then(driver, hash_of_staked, "read_block_by_hash"),
        "transactions": lambda driver: driver.read_block_transactions(STAKED, ReadView()),
        "results": lambda driver: driver.read_block_results(STAKED, ReadView()),
        "transaction": lambda driver: then(driver, first_of_staked, "read_transaction"),
        "receipt": lambda driver: then(driver, first_of_staked, "read_receipt"),
    },
}

WARMING = {
    "solana": [("jsonrpc", "getSlot", [])],
    "starknet": [("jsonrpc", "starknet_blockNumber", [])],
    "bitcoin": [("core", "getblockcount", []), ("esplora", "/blocks/tip/height", [])],
    "cosmoshub": [("rest", "/cosmos/base/tendermint/v1beta1/node_info", []), ("comet", "status", {})],
}
"""A question for every pool of a family."""


async def warm(driver: Any, rig: Rig) -> None:
    """Make the faulty machine the favourite: one never measured, or not known to keep pace, stands apart."""
    for kind, method, params in WARMING[rig.subject.slug]:
        pool = driver.pools[kind]
        for answer in await pool.probe(method, params):
            assert answer.result is not None
            pool.observe_head(answer.endpoint, rig.head)


async def outcome(read: Read, driver: Any) -> Any:
    """What a read brings, or the kind of error that it raises."""
    try:
        return await read(driver)
    except GatewayError as error:
        return type(error)


SURVEYS: dict[str, tuple[dict[str, Any], dict[str, set[str]]]] = {}


async def survey(rig: Rig) -> tuple[dict[str, Any], dict[str, set[str]]]:
    """The truth of every read, and by which reads everything is asked that is asked; taken once, the chains stand."""
    if rig.subject.slug in SURVEYS:
        return SURVEYS[rig.subject.slug]
    truth: dict[str, Any] = {}
    askers: dict[str, set[str]] = {}
    for label, read in READS[rig.subject.slug].items():
        async with rig.fresh() as driver:
            await warm(driver, rig)
            before = {one: len(one.asked) for machine in rig.machines.values() for one in machine}
            truth[label] = await outcome(read, driver)
            for one, count in before.items():
                for name in set(one.asked[count:]) - PROOFS:
                    askers.setdefault(name, set()).add(label)
    SURVEYS[rig.subject.slug] = truth, askers
    return truth, askers


def spoil(rig: Rig, machine: str, name: str, shape: Shape) -> Spoil:
    fault = Spoil(name, shape)
    for one in rig.machines[machine]:
        one.fault = fault
    return fault


@pytest.mark.parametrize("shape", SHAPES)
async def test_one_good_endpoint_of_three_is_enough(rig: Rig, shape: str) -> None:
    truth, askers = await survey(rig)
    missed = []
    for name, labels in askers.items():
        first = spoil(rig, "bad", name, SHAPES[shape])
        spoil(rig, "one", name, swap_leaves)
        for label in sorted(labels):
            async with rig.fresh() as driver:
                await warm(driver, rig)
                got = await outcome(READS[rig.subject.slug][label], driver)
                assert got == truth[label], f"{label}, where {name} is spoilt"
        if not first.met:
            missed.append(name)
    assert not missed


@pytest.mark.parametrize("shape", ["a text", "an empty list", "leaves of other types"])
async def test_where_nobody_answers_soundly_it_is_said(rig: Rig, shape: str) -> None:
    truth, askers = await survey(rig)
    said = {UpstreamUnavailable, UpstreamDisagrees} | ({NotAToken} if shape == "an empty list" else set())
    failed = set()
    for name, labels in askers.items():
        for machine in rig.machines:
            spoil(rig, machine, name, SHAPES[shape])
        for label in sorted(labels):
            async with rig.fresh() as driver:
                got = await outcome(READS[rig.subject.slug][label], driver)
            if isinstance(got, type) and got in said:
                failed.add(label)
            else:
                # Some reads can do without: with the decimals that are listed, with the height that indexers report.
                assert got == truth[label], f"{label}, where {name} is spoilt"
    assert failed >= set(READS[rig.subject.slug]) - {"height", "to come"}


async def test_an_honest_survey_reads_everything(rig: Rig) -> None:
    truth, askers = await survey(rig)
    assert {label for label, reply in truth.items() if isinstance(reply, type)} == {"no transaction", "to come"} & set(
        truth
    )
    assert set().union(*askers.values()) == set(truth)
