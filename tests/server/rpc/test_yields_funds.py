"""vault-d and tokenized-a as callers ask for them, over both faces: answers to the letter, refusals, names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.known_funds import HB_USDT, HB_XAUT, LST_HYPE, SHARE_VAULT
from tests.server.rpc.every import message_of
from tests.server.rpc.refusals import refused
from tests.server.rpc.yields_table import OPERATIONS

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

VAULT = {"chain": "hyperliquid", "protocol": "vault-d"}
FUND = {"chain": "ethereum", "protocol": "tokenized-a"}
OLD_AT = "2026-09-22T00:00:00Z"
# hbUSDC, which does not stand on the devnet.
NOT_THERE = "0x057ced81348D57Aad579A672d521d7b4396E8a61"
# Answers that are the same whenever they are asked for, but for the height.
WHOLE: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    (
        "getYieldsPrice",
        FUND | {"pool": "mbasis"},
        FUND | {"pool": "mbasis", "price": {"USD": 1.0114}, "updatedAt": OLD_AT},
    ),
    (
        "getYieldsPrice",
        FUND | {"pool": "mTU"},
        FUND | {"pool": "mTU", "price": {"USD": 1.0352}, "updatedAt": "2026-11-01T00:00:00Z"},
    ),
]
# What is the same but for height and time.
RATES: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    (
        "getYieldsVaults",
        VAULT | {"pool": HB_USDT.address.lower()},
        {"apy": 11.064438904752137, "tvl": 2090289.506161105, "basis": "growth"},
    ),
    (
        "getYieldsVaults",
        VAULT | {"pool": LST_HYPE.address},
        {"apy": 8.65593074534616, "tvl": 3532333.83525, "basis": "growth"},
    ),
    ("getYieldsVaults", VAULT | {"pool": HB_XAUT.address}, {"apy": None, "tvl": 49649.03472, "basis": None}),
    ("getYieldsVaults", VAULT | {"pool": SHARE_VAULT.address}, {"apy": None, "basis": None}),
    (
        "getYieldsBalance",
        VAULT | {"pool": HB_USDT.address, "address": known.VITALIK},
        {"balance": {"hbUSDT": 1234.56789, "USD": 1289.506161105}, "address": known.VITALIK},
    ),
    (
        "getYieldsBalance",
        VAULT | {"pool": SHARE_VAULT.address, "address": known.UNTOUCHED},
        {"balance": {"USDT0": 0.0, "USD": 0.0}, "address": known.UNTOUCHED},
    ),
    ("getYieldsPrice", FUND | {"pool": "mTBILL"}, {"price": {"USD": 1.0107}}),
    ("getYieldsPrice", FUND | {"pool": "MRE7YIELD"}, {"price": {"USD": 1.0578}}),
    ("getYieldsPrice", FUND | {"pool": "tacmbtc"}, {"price": {"USD": 91407.91347882}}),
]


async def row_of(faces: RunningGateway, name: str, members: dict[str, str]) -> dict[str, Any]:
    answer = await faces.ask(name, members)
    assert "result" in answer, answer
    [row] = answer["result"]["data"]["results"]
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize(("name", "members", "wanted"), WHOLE, ids=lambda one: one if isinstance(one, str) else None)
async def test_an_answer_to_the_letter(
    faces: RunningGateway, name: str, members: dict[str, str], wanted: dict[str, Any]
) -> None:
    row = await row_of(faces, name, members)
    assert row.pop("blockHeight") > 26_000_000
    assert row == wanted
    assert list(row) == list(wanted)


@pytest.mark.parametrize(("name", "members", "wanted"), RATES)
async def test_both_faces_answer_the_same(
    faces: RunningGateway, name: str, members: dict[str, str], wanted: dict[str, Any]
) -> None:
    row = await row_of(faces, name, members)
    for member, value in wanted.items():
        is_figure = isinstance(value, float)
        assert row[member] == (pytest.approx(value, rel=1e-12) if is_figure else value), member
    operation = OPERATIONS[name]
    [message] = (await faces.ask_grpc(operation, message_of(operation, members))).results  # type: ignore[attr-defined]
    assert message.pool == row["pool"] == members["pool"]
    assert message.block_height == row["blockHeight"]
    for member, text in (("apy", "apy"), ("tvl", "tvl")):
        if text in row:
            assert message.HasField(member) == (row[text] is not None)
            assert not message.HasField(member) or getattr(message, member) == row[text]
    if "price" in row:
        assert message.price.usd == row["price"]["USD"]
    if "balance" in row:
        assert {**message.balance.amounts, "USD": message.balance.usd} == row["balance"]


@pytest.mark.parametrize(
    ("name", "members", "code", "reason", "word"),
    [
        ("getYieldsPrice", FUND | {"pool": "mGLOBAL"}, 503, "PRICE_UNAVAILABLE", "another for redemptions"),
        ("getYieldsPrice", FUND | {"pool": "OBEATUSD"}, 503, "PRICE_UNAVAILABLE", "obeatUSD has no feed"),
        ("getYieldsPrice", FUND | {"pool": "mTBIL"}, 404, "NOT_FOUND", "mTBILL"),
        ("getYieldsPrice", FUND | {"pool": NOT_THERE}, 404, "NOT_FOUND", "no such pool"),
        ("getYieldsVaults", VAULT | {"pool": HB_USDT.data_feed}, 404, "NOT_FOUND", "no such pool of vault-d"),
        ("getYieldsVaults", VAULT | {"pool": NOT_THERE}, 503, "UPSTREAM_UNAVAILABLE", NOT_THERE),
        ("getYieldsVaults", VAULT | {"pool": "hbUSDT"}, 400, "INVALID_ARGUMENT", "0x and 40 hex digits"),
    ],
)  # fmt: skip
async def test_refusals_are_the_same_over_both_faces(
    faces: RunningGateway, name: str, members: dict[str, str], code: int, reason: str, word: str
) -> None:
    reported = await refused(faces, OPERATIONS[name], members)
    assert reported[:2] == (code, reason)
    assert word in reported[3]
