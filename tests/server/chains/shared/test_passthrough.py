"""What the families' tables let through, and what is refused before a node is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.chains.shared.passthrough import allow_list
from server.errors import InvalidArgument

BLOCK = {"encoding": "base64", "transactionDetails": "signatures"}
EVENTS = {"from_block": {"block_number": 1}, "chunk_size": 10}


@pytest.mark.parametrize(
    ("family", "method", "params", "refusal"),
    [
        ("bitcoin", "getblock", ["ab"], None),
        ("bitcoin", "getblock", ["ab", 2], None),
        ("bitcoin", "getblock", ["ab", True], None),
        ("bitcoin", "getblock", ["ab", 3], "params[1]: a number up to 2, true or false is needed"),
        ("bitcoin", "getblock", ["ab", "1"], "params[1]: a number up to 2, true or false is needed"),
        ("bitcoin", "getblock", ["ab", -1], "params[1]: a number up to 2, true or false is needed"),
        ("bitcoin", "gettxoutproof", [["ab"] * 101], "params[0]: an array of at most 100 elements is needed"),
        ("cosmos", "validators", ["5"], None),
        ("cosmos", "validators", ["5", "1", "100"], None),
        ("cosmos", "validators", ["5", "1", "101"], "params[2]: a number up to 100 is needed"),
        ("cosmos", "validators", ["5", "1", True], "params[2]: a number up to 100 is needed"),
        ("solana", "getBlock", [1, BLOCK], None),
        (
            "solana",
            "getBlock",
            [1, BLOCK | {"transactionDetails": "full"}],
            "params[1].transactionDetails: one of none, signatures, accounts is needed",
        ),
        ("solana", "getBlock", [1], "params[1].transactionDetails: one of none, signatures, accounts is needed"),
        ("starknet", "starknet_getEvents", [EVENTS], None),
        (
            "starknet",
            "starknet_getEvents",
            [EVENTS | {"chunk_size": 1001}],
            "params[0].chunk_size: a number from 1 to 1000 is needed",
        ),
        (
            "starknet",
            "starknet_getEvents",
            [EVENTS | {"chunk_size": 0}],
            "params[0].chunk_size: a number from 1 to 1000 is needed",
        ),
        (
            "starknet",
            "starknet_getEvents",
            [EVENTS | {"chunk_size": "10"}],
            "params[0].chunk_size: a number from 1 to 1000 is needed",
        ),
        (
            "starknet",
            "starknet_getEvents",
            [EVENTS | {"Chunk_size": 5000}],
            "params[0]: the member `Chunk_size` is not passed on; those that are: from_block, to_block, address, keys, "
            "chunk_size, continuation_token",
        ),
    ],
)
def test_parameters_within_the_bounds_of_the_table(
    family: str, method: str, params: list[Any], refusal: str | None
) -> None:
    allowed, raw = allow_list(family), json.dumps(params).encode()
    if refusal is None:
        assert len(allowed.parse(method, raw)) == len(params)
        return
    with pytest.raises(InvalidArgument) as caught:
        allowed.parse(method, raw)
    assert (caught.value.field, caught.value.message) == ("params", refusal)
