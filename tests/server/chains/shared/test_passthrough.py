"""What the families' tables let through, and what is refused before a node is asked."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from server.chains.evm.passthrough import ALLOWED
from server.chains.shared.passthrough import BATCHED, SHARED, allow_list
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


@pytest.mark.parametrize(
    ("family", "method", "params", "refusal"),
    [
        ("starknet", "starknet_getNonce", {"block_id": "latest", "contract_address": "0x1"}, None),
        ("starknet", "starknet_specVersion", {}, None),
        ("starknet", "starknet_getEvents", {"filter": EVENTS}, None),
        (
            "starknet",
            "starknet_getEvents",
            {"filter": EVENTS | {"chunk_size": 1001}},
            "params.filter.chunk_size: a number from 1 to 1000 is needed",
        ),
        ("starknet", "starknet_getEvents", {}, "params.filter: an object with "),
        ("starknet", "starknet_getNonce", {"block": 1}, "params: starknet_getNonce has no parameter `block`; those"),
        ("bitcoin", "getblock", {"blockhash": "ab", "verbose": 2}, None),
        ("bitcoin", "getblock", {"blockhash": "ab", "verbosity": 3}, "params.verbosity: a number up to 2"),
        ("bitcoin", "getblock", {"verbosity": 1, "verbose": 2}, "params: `verbosity` and `verbose` are one parameter"),
        ("bitcoin", "getblock", {"args": ["ab", 3]}, "params: getblock has no parameter `args`"),
        ("cosmos", "validators", {"height": "5", "per_page": "101"}, "params.per_page: a number up to 100 is needed"),
        ("cosmos", "block", {}, None),
        ("cosmos", "status", {"height": "1"}, "params: status has no parameter `height`; those that it has: none"),
        ("solana", "getHealth", {}, "params: a JSON array is needed"),
    ],
)
def test_parameters_by_name_are_checked_as_those_by_position(
    family: str, method: str, params: Any, refusal: str | None
) -> None:
    allowed, raw = allow_list(family), json.dumps(params).encode()
    if refusal is None:
        sent = allowed.parse(method, raw)
        assert msgspec.json.decode(msgspec.json.encode(sent)) == params
        return
    with pytest.raises(InvalidArgument) as caught:
        allowed.parse(method, raw)
    assert caught.value.message.startswith(refusal)


@pytest.mark.parametrize("family", ["bitcoin", "cosmos", "evm", "solana", "starknet"])
def test_what_shares_requests_is_short_and_written_plainly(family: str) -> None:
    allowed = allow_list(family) if family != "evm" else ALLOWED
    method = {"bitcoin": "getblockcount", "cosmos": "status", "evm": "eth_gasPrice", "solana": "getSlot"}.get(
        family, "starknet_chainId"
    )
    for params in (None, b"[]", b'["0xab", 12, true, {"a": null}]'):
        assert allowed.share(method, params) == BATCHED
    # What parsers read in different ways, or refuse a whole batch for, leaves alone.
    for params in (b"[1e999]", b"[12345678901234567]", b'["\\ud800"]', '["\u00e9"]'.encode(), b"[1.5]", b" " * 5000):
        assert allowed.share(method, params) == SHARED
    for heavy in ("getblock", "block", "eth_call", "getBlock", "starknet_call"):
        assert allowed.share(heavy, b"[]") == SHARED
