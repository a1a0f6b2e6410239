"""What callers get wrong: each mistake is a 400 or 404 that names the parameter, and asks no node.

What can be derived from the descriptors for every operation is in test_every_operation.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.evm.world import load_world
from tests.each import each
from tests.server.rpc.refusals import OPERATIONS, ask_json

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

USDC = next(token.address for token in load_world()["ethereum"].tokens if token.symbol == "USDC")
HASH = "0x" + "ab" * 32
WRONG_CHECKSUM = "0xa" + USDC[3:]

# Every operation with parameters, written right.
RIGHT: dict[str, dict[str, Any]] = {
    "getChainHealth": {"chain": "ethereum"},
    "getBlockHeight": {"chain": "ethereum"},
    "getBlockTransactions": {"chain": "ethereum", "blockNumber": "26050001"},
    "getBalance": {"chain": "ethereum", "address": known.VITALIK},
    "getTokenBalance": {"chain": "ethereum", "address": known.VITALIK, "token": USDC},
    "getTokenMetadata": {"chain": "ethereum", "address": USDC},
    "getTokenAllowance": {"chain": "ethereum", "address": USDC, "owner": known.VITALIK, "spender": known.BOB},
    "getCode": {"chain": "ethereum", "address": USDC},
    "simulateCall": {"chain": "ethereum", "to": USDC, "data": "0x18160ddd"},
    "estimateGas": {"chain": "ethereum", "to": known.BOB},
    "chainRpc": {"chain": "ethereum", "method": "eth_chainId"},
    "getApprovals": {"chain": "ethereum", "address": known.VITALIK},
    "getApprovalsRevoke": {"chain": "ethereum", "address": known.VITALIK, "token": USDC, "spender": known.BOB},
}
NAMES = ("address", "token", "owner", "spender", "to")
ADDRESSES = [(name, field) for name, fields in RIGHT.items() for field in NAMES if field in fields]
ADDRESSES += [("simulateCall", "from"), ("estimateGas", "from")]


@pytest.mark.parametrize("name", RIGHT)
async def test_written_right_it_is_answered(client: Client, name: str):
    await client.ask(name, **RIGHT[name])


def named_in_messages(name: str, field: str) -> bool:
    """Whether a message shows that the parameter is missing; a block number that is not given is 0 there."""
    return (name, field) != ("getBlockTransactions", "blockNumber")


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in RIGHT.items() for field in fields])
async def test_a_missing_parameter_is_named(client: Client, faces: RunningGateway, name: str, field: str):
    others = {key: value for key, value in RIGHT[name].items() if key != field}
    in_json = await ask_json(faces, OPERATIONS[name], others)
    assert in_json is not None
    assert in_json[:3] == (400, "INVALID_ARGUMENT", field)
    if named_in_messages(name, field):
        refusal = await client.refused(name, **others)
        assert (refusal.reason, refusal.field, refusal.message) == in_json[1:]


async def test_a_block_number_that_is_not_given_is_the_first_block_in_messages(client: Client):
    not_given = await client.refused("getBlockTransactions", chain="ethereum")
    zero = await client.refused("getBlockTransactions", chain="ethereum", blockNumber=0)
    assert (not_given.reason, not_given.field, not_given.message) == (zero.reason, zero.field, zero.message)
    assert zero.reason == "NOT_FOUND"
    rows = await client.ask("getBlockByNumber", items=[{"chain": "ethereum"}, {"chain": "ethereum", "block": 26050001}])
    assert [row.WhichOneof("outcome") for row in rows.results] == ["error", "value"]
    assert [row.height for row in rows.results] == [0, 26050001]


@each(RIGHT)
async def test_an_unknown_chain_is_named_with_the_nearest_one(name: str, client: Client):
    refusal = await client.refused(name, **{**RIGHT[name], "chain": "etherium"})
    assert (refusal.reason, refusal.field) == ("CHAIN_UNKNOWN", "chain")
    assert "ethereum" in refusal.message


@each(
    (name, field, text)
    for name, field in ADDRESSES
    for text in (
        *("", "0x", "0x12", USDC[:-1], USDC + "0", USDC[2:], WRONG_CHECKSUM, "vitalik.eth"),
        *("0x" + "é" * 40, "x" * 5000),
    )
)
async def test_what_is_no_address_is_named(name: str, field: str, text: str, client: Client):
    refusal = await client.refused(name, **{**RIGHT[name], field: text})
    assert (refusal.reason, refusal.field) == ("INVALID_ARGUMENT", field)


@pytest.mark.parametrize(
    "name",
    ["getBalance", "getTokenBalance", "getTokenMetadata", "getTokenAllowance", "getCode", "getApprovals"],
)
async def test_heights(client: Client, name: str):
    negative = await client.refused(name, **RIGHT[name], blockHeight="-1")
    assert (negative.reason, negative.field) == ("INVALID_ARGUMENT", "blockHeight")
    for height in ("99999999999", str(2**53 - 1), str(2**63 - 1)):
        beyond = await client.refused(name, **RIGHT[name], blockHeight=height)
        assert beyond.reason in ("NOT_FOUND", "INVALID_ARGUMENT")
        assert beyond.field == "blockHeight"
    before = await client.refused(name, **RIGHT[name], blockHeight="1000")
    assert (before.reason, before.field) == ("ARCHIVE_REQUIRED", "blockHeight")


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("simulateCall", "data", "18160ddd"),
        ("simulateCall", "data", "0x1"),
        ("simulateCall", "data", "0x" + "0" * 300_000),
        ("simulateCall", "data", "0xzz"),
        ("simulateCall", "value", "1"),
        ("simulateCall", "value", "0x"),
        ("simulateCall", "value", "0x" + "1" * 65),
        ("simulateCall", "block", "-2"),
        ("simulateCall", "block", str(1 << 56)),
        ("estimateGas", "data", "hello"),
        ("estimateGas", "value", "-0x1"),
        ("getBlockTransactions", "blockNumber", "-1"),
    ],
)
async def test_malformed_values_are_named(client: Client, name: str, field: str, value: str):
    refusal = await client.refused(name, **{**RIGHT[name], field: value})
    assert (refusal.reason, refusal.field) == ("INVALID_ARGUMENT", field)


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        ("simulateCall", "block", "26050001", "block is `26050001`; write a hex block number, or `latest`"),
        ("simulateCall", "block", "pending", "block is `pending`; write a hex block number, or `latest`"),
        ("simulateCall", "block", -1, "block is `-0x1`; write a hex block number, or `latest`"),
        *(
            (name, field, value, f"{field} is `{value}`; write a whole block number in decimal digits, or `latest`")
            for name, field in (("getLogs", "fromBlock"), ("getLogs", "toBlock"), ("getTransfers", "fromBlock"))
            for value in ("-1", "pending", "0x10", -1, "")
        ),
    ],
)
async def test_what_is_no_block_in_json_is_named(
    faces: RunningGateway, name: str, field: str, value: str | int, message: str
):
    params = {**RIGHT.get(name, {"chain": "ethereum", "address": USDC}), field: value}
    refusal = await ask_json(faces, OPERATIONS[name], params)
    assert refusal == (400, "INVALID_ARGUMENT", field, message)


async def test_a_simulation_beyond_the_head(client: Client, faces: RunningGateway):
    refusal = await client.refused("simulateCall", **RIGHT["simulateCall"], block=0xFFFFFFFFFF)
    assert (refusal.reason, refusal.field) == ("NOT_FOUND", "block")
    in_json = await ask_json(faces, OPERATIONS["simulateCall"], {**RIGHT["simulateCall"], "block": "0xffffffffff"})
    assert in_json is not None
    assert in_json[:3] == (404, "NOT_FOUND", "block")


async def test_a_block_that_does_not_exist(client: Client):
    refusal = await client.refused("getBlockTransactions", chain="ethereum", blockNumber="99999999999")
    assert refusal.reason == "NOT_FOUND"


@pytest.mark.parametrize(
    ("name", "items", "reason", "field"),
    [
        ("getBlockByNumber", [], "INVALID_ARGUMENT", ""),
        ("getBlockByNumber", [{"chain": "ethereum", "block": "1"}] * 51, "INVALID_ARGUMENT", ""),
        ("getBlockByNumber", [{"chain": "ethereum", "block": "-2"}], "INVALID_ARGUMENT", "params[0].block"),
        ("getBlockByNumber", [{"block": "1"}], "INVALID_ARGUMENT", "params[0].chain"),
        ("getBlockByNumber", [{"chain": "ethereum", "block": "-1"}], "INVALID_ARGUMENT", "params[0].block"),
        (
            "getBlockByNumber",
            [{"chain": "ethereum", "block": "26050001"}, {"chain": "ethereun", "block": "1"}],
            "CHAIN_UNKNOWN",
            "params[1].chain",
        ),
        ("getBlockByNumber", [{"chain": "starknet", "block": "1"}], "CHAIN_UNSUPPORTED", "params[0].chain"),
        ("getBlockByHash", [{"chain": "solana", "hash": HASH}], "CHAIN_UNSUPPORTED", "params[0].chain"),
        ("getBlockByHash", [{"chain": "ethereum"}], "INVALID_ARGUMENT", "params[0].hash"),
        (
            "getBlockByHash",
            [{"chain": "ethereum", "hash": HASH}, {"chain": "ethereum", "hash": HASH[:-1]}],
            "INVALID_ARGUMENT",
            "params[1].hash",
        ),
        ("getBlockByHash", [{"chain": "ethereum", "hash": HASH}], "NOT_FOUND", ""),
    ],
)
async def test_items(client: Client, name: str, items: list[dict[str, str]], reason: str, field: str):
    refusal = await client.refused(name, items=items)
    assert refusal.reason == reason
    assert not field or refusal.field == field


@pytest.mark.parametrize(
    ("items", "field"),
    [
        ([{"chain": "ethereum"}], "params[0].block"),
        ([{"chain": "ethereum", "block": 26050001}, {"chain": "ethereum", "block": None}], "params[1].block"),
    ],
)
async def test_an_item_without_its_block_is_named_in_json(
    faces: RunningGateway, items: list[dict[str, Any]], field: str
):
    refusal = await ask_json(faces, OPERATIONS["getBlockByNumber"], items)
    assert refusal is not None
    assert refusal[:3] == (400, "INVALID_ARGUMENT", field)
