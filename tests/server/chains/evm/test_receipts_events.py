"""Well-known events against an ABI codec that the gateway does not use here."""

from __future__ import annotations

import json

import orjson
import pytest
from eth_abi import encode
from eth_hash.auto import keccak
from hypothesis import given
from hypothesis import strategies as st
from waypost.v1 import evm_pb2

from server.chains.evm.receipts import Event, decode_logs, load_events
from server.contracts.address import checksum_address
from transcoder.render import members_renderer

POOL = checksum_address("0x" + "12" * 20)
ALICE = checksum_address("0x" + "a1" * 20)
BOB = checksum_address("0x" + "b0" * 20)

# Topics as block explorers show them: what `topic0` computes must be what the chains carry.
KNOWN = {
    "Transfer": "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    "Approval": "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925",
    "Sync": "0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1",
    "Deposit": "0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c",
    "Withdrawal": "0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65",
}
SWAP_V2 = "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"
SWAP_V3 = "0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"
SWAP_V4 = "0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"


def topic(value: str) -> str:
    return "0x" + value.removeprefix("0x").lower().rjust(64, "0")


def log(topics: list[str], data: bytes = b"") -> evm_pb2.EvmLog:
    return evm_pb2.EvmLog(address=POOL, topics=topics, data="0x" + data.hex(), log_index=3)


def test_the_topics_are_those_of_the_chains() -> None:
    found = {event.name: topic0 for (topic0, _), event in load_events().items() if event.name != "Swap"}
    assert found == KNOWN
    assert {topic0 for (topic0, _), event in load_events().items() if event.name == "Swap"} == {
        SWAP_V2,
        SWAP_V3,
        SWAP_V4,
    }
    assert len(load_events()) == 10


def test_a_swap_of_v2_decodes() -> None:
    [decoded] = decode_logs([log([SWAP_V2, topic(ALICE), topic(BOB)], encode(["uint256"] * 4, [1, 0, 0, 2**255]))])
    assert (decoded.event, decoded.address, decoded.log_index) == ("Swap", POOL, 3)
    assert dict(decoded.args) == {
        "sender": ALICE,
        "amount0In": "1",
        "amount1In": "0",
        "amount0Out": "0",
        "amount1Out": str(2**255),
        "to": BOB,
    }


def test_a_swap_of_v4_decodes_with_its_pool() -> None:
    pool = "0x" + "c3" * 32
    types = ["int128", "int128", "uint160", "uint128", "int24", "uint24"]
    values = [-(2**127), 2**127 - 1, 2**160 - 1, 2**128 - 1, -887272, 2**24 - 1]
    [decoded] = decode_logs([log([SWAP_V4, pool, topic(ALICE)], encode(types, values))])
    assert decoded.event == "Swap"
    names = ["id", "sender", "amount0", "amount1", "sqrtPriceX96", "liquidity", "tick", "fee"]
    assert list(decoded.arg_names) == names
    assert dict(decoded.args) == dict(zip(names, [pool, ALICE, *map(str, values)], strict=True))
    beyond = encode(["int256"] * 6, [*values[:5], 2**24])
    assert decode_logs([log([SWAP_V4, pool, topic(ALICE)], beyond)]) == []


@pytest.mark.parametrize("event", load_events().values(), ids=lambda event: f"{event.name}-{event.topics}")
def test_arguments_are_reported_in_the_order_of_the_abi(event: Event) -> None:
    indexed = [topic(hex(1)) for argument in event.arguments if argument.is_indexed]
    plain = encode(["uint256"] * (len(event.arguments) - len(indexed)), [1] * (len(event.arguments) - len(indexed)))
    [decoded] = decode_logs([log([event.topic0, *indexed], plain)])
    assert list(decoded.arg_names) == [argument.name for argument in event.arguments]
    assert set(decoded.args) == set(decoded.arg_names)
    # On the JSON face they stand in that order, however the map is laid out.
    reported = json.loads(
        orjson.dumps(members_renderer(decoded.DESCRIPTOR)(type(decoded).FromString(decoded.SerializeToString())))
    )
    assert list(reported["args"]) == [argument.name for argument in event.arguments]
    assert set(reported) == {"event", "address", "logIndex", "args"}


@given(
    st.integers(-(2**255), 2**255 - 1),
    st.integers(-(2**255), 2**255 - 1),
    st.integers(0, 2**160 - 1),
    st.integers(0, 2**128 - 1),
    st.integers(-(2**23), 2**23 - 1),
)
def test_a_swap_of_v3_decodes(amount0: int, amount1: int, price: int, liquidity: int, tick: int) -> None:
    data = encode(["int256", "int256", "uint160", "uint128", "int24"], [amount0, amount1, price, liquidity, tick])
    [decoded] = decode_logs([log([SWAP_V3, topic(ALICE), topic(BOB)], data)])
    assert dict(decoded.args) == {
        "sender": ALICE,
        "recipient": BOB,
        "amount0": str(amount0),
        "amount1": str(amount1),
        "sqrtPriceX96": str(price),
        "liquidity": str(liquidity),
        "tick": str(tick),
    }


def test_sync_and_tokens_that_are_not_fungible_decode() -> None:
    sync, transfer, approval = decode_logs(
        [
            log([KNOWN["Sync"]], encode(["uint112", "uint112"], [7, 2**112 - 1])),
            log([KNOWN["Transfer"], topic(ALICE), topic(BOB), topic("0x2a")]),
            log([KNOWN["Approval"], topic(ALICE), topic(BOB), topic("0x2a")]),
        ]
    )
    assert dict(sync.args) == {"reserve0": "7", "reserve1": str(2**112 - 1)}
    assert dict(transfer.args) == {"from": ALICE, "to": BOB, "tokenId": "42"}
    assert dict(approval.args) == {"owner": ALICE, "approved": BOB, "tokenId": "42"}


@pytest.mark.parametrize(
    ("topics", "data"),
    [
        ([], b""),
        ([KNOWN["Transfer"]], encode(["address", "address", "uint256"], [ALICE, BOB, 1])),
        ([KNOWN["Transfer"], topic(ALICE), topic(BOB)], b""),
        ([KNOWN["Transfer"], topic(ALICE), topic(BOB)], bytes(31)),
        ([KNOWN["Transfer"], topic(ALICE), topic(BOB)], bytes(64)),
        ([KNOWN["Transfer"], "0x" + "ff" * 32, topic(BOB)], bytes(32)),
        ([KNOWN["Sync"]], b"\xff" * 64),
        ([SWAP_V3, topic(ALICE), topic(BOB)], b"\x7f" * 160),
        (["0x" + keccak(b"Other()").hex()], b""),
    ],
)
def test_what_does_not_fit_is_not_decoded(topics: list[str], data: bytes) -> None:
    assert decode_logs([log(topics, data)]) == []
