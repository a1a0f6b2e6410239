"""What Beefy's API answers: the recorded shapes, every member that is read in another shape, and shapes at random.

What an answer means is worked out here a second time, by Python's own JSON reader: the adapter may refuse what that
takes, naming the member, and never read it otherwise.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest

from server.errors import UpstreamUnavailable
from server.yields import beefy
from tests.recordings.replay import recorded
from tests.server.yields.shapes import OTHERS, mutated, put

RECORDED = {
    topic: json.loads(recorded(f"yields/beefy_{name}.json"))
    for topic, name in (("vaults", "vaults"), ("apy", "apy"), ("tvl", "tvl"), ("lps", "prices"))
}
SLUGS = {"ethereum": "ethereum", "avax": "avalanche", "base": "base"}
IDS = {"1": "ethereum", "43114": "avalanche", "8453": "base"}
NAMED = re.compile(r"beefy answers (in a shape that this build does not know: .*`.*\$|with something that is no JSON)")


def read(topic: str, document: Any) -> Any:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return beefy.READERS[topic](body)


def meant_by_vaults(document: Any) -> dict[str, Any]:
    found = {}
    for row in document:
        if row["network"] not in SLUGS:
            found[row["id"]] = row["network"]
            continue
        is_range = row["type"] == "cowcentrated"
        found[row["id"]] = (
            row["type"],
            SLUGS[row["network"]],
            row["earnContractAddress"],
            row.get("tokenAddress"),
            tuple(row["depositTokenAddresses"]) if is_range else (),
            row["tokenDecimals"],
            row["token"],
            tuple(row.get("assets") or ()),
            {"lps": "lps", "tokens": "prices"}[row["oracle"]],
            row["oracleId"],
            row["status"] == "active",
        )
    return found


def shown(vaults: beefy.Vaults) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, vault in vaults.by_id.items():
        last = (vault.prices.key[0], vault.oracle_id, vault.is_active)
        found[name] = (*vault[1:9], *last) if vault.chain in IDS.values() else vault.chain
    return found


def meant_by_rates(document: Any) -> dict[str, Any]:
    return {name: None if rate is None else float(Decimal(repr(float(rate))) * 100) for name, rate in document.items()}


def meant_by_values(document: Any) -> dict[str, Any]:
    return {
        IDS[chain]: {name: value for name, value in of_chain.items() if value is not None}
        for chain, of_chain in document.items()
        if chain in IDS
    }


def meant_by_prices(document: Any) -> dict[str, Any]:
    return {name: price for name, price in document.items() if price}


MEANT = {"vaults": meant_by_vaults, "apy": meant_by_rates, "tvl": meant_by_values, "lps": meant_by_prices}


def test_the_recorded_vaults() -> None:
    vaults = read("vaults", RECORDED["vaults"])
    assert shown(vaults) == meant_by_vaults(RECORDED["vaults"])
    assert vaults.ids["base"].similar("made-up-wet") == ["made-up-weth-usdc", "made-up-weth-usdc-rp"]
    found = vaults.by_id
    assert found["made-up-usdc"].prices == beefy.TOKEN_PRICES
    assert found["made-up-weth-usdc"].tokens[1] == "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    assert (found["made-up-avax"].chain, found["made-up-avax"].token) == ("avalanche", None)
    assert [vault.is_active for vault in found.values()] == [True, False, True, False, False]


def test_the_recorded_figures() -> None:
    assert read("apy", RECORDED["apy"]) == {
        "made-up-usdc": 5.12,
        "made-up-avax": None,
        "made-up-weth-usdc": 123.45678901234567,
        "made-up-weth-usdc-rp": 0.0,
        "made-up-elsewhere": 0.003,
    }
    assert read("tvl", RECORDED["tvl"]) == {
        "ethereum": {"made-up-usdc": 1234567.89},
        "avalanche": {"made-up-avax": 0.0},
        "base": {"made-up-weth-usdc": 98765.4321},
    }
    assert read("lps", RECORDED["lps"]) == {"USDC": 0.9998, "WAVAX": 21.25}


# Every member that is read, with the words by which a refusal names it, and what it may be besides.
MEMBERS: list[tuple[str, tuple[str | int, ...], str, tuple[Any, ...]]] = [
    ("vaults", (0,), r"\$\[0\]", (...,)),
    ("vaults", (0, "id"), "id", ("NaN", "0.5")),
    ("vaults", (0, "type"), "type", ()),
    ("vaults", (0, "status"), "status", ()),
    ("vaults", (0, "network"), "network", ("", "NaN", "0.5")),
    ("vaults", (0, "earnContractAddress"), "earnContractAddress", ()),
    ("vaults", (0, "token"), "token", ("", "NaN", "0.5")),
    ("vaults", (0, "tokenDecimals"), "tokenDecimals", ()),
    ("vaults", (0, "oracle"), "oracle", ()),
    ("vaults", (0, "oracleId"), "oracleId", ("", "NaN", "0.5")),
    # It need not be there: then it is the chain's coin, of the decimals that the row says.
    ("vaults", (0, "tokenAddress"), "tokenAddress", (..., None)),
    ("vaults", (0, "assets"), "assets", (..., None, [], ["a"])),
    ("vaults", (2, "depositTokenAddresses"), "depositTokenAddresses", ()),
    ("vaults", (2, "depositTokenAddresses", 1), "depositTokenAddresses", ()),
    ("apy", ("made-up-usdc",), "made-up-usdc", (..., None, 0.5, -1, 1e300)),
    ("tvl", ("1",), r"\$\.1", (..., {}, {"a": 1})),
    ("tvl", ("1", "made-up-usdc"), "made-up-usdc", (..., None, 0.5, 1e300)),
    ("lps", ("USDC",), "USDC", (..., None, 0.5, 1e300)),
]


@pytest.mark.parametrize(("topic", "path", "name", "allowed"), MEMBERS, ids=lambda one: str(one)[:40])
def test_a_member_in_another_shape_is_refused_by_name(
    topic: str, path: tuple[str | int, ...], name: str, allowed: tuple[Any, ...]
) -> None:
    for other in OTHERS:
        document = put(RECORDED[topic], path, other)
        if any(other is one or (type(other) is type(one) and other == one) for one in allowed):
            found = read(topic, document)
            assert (shown(found) if topic == "vaults" else found) == MEANT[topic](document)
            continue
        with pytest.raises(UpstreamUnavailable, match=name):
            read(topic, document)


@pytest.mark.parametrize("topic", RECORDED)
@pytest.mark.parametrize("empty", ["[]", "{}", "null", "5", '"text"', "", "[[[", "\x00"])
def test_what_is_no_such_document_is_refused(topic: str, empty: str) -> None:
    with pytest.raises(UpstreamUnavailable, match="beefy answers"):
        read(topic, empty.encode())


@pytest.mark.parametrize("topic", RECORDED)
def test_shapes_at_random_are_read_rightly_or_refused(topic: str) -> None:
    read_rightly, messages = 0, list[str]()
    for body in mutated(RECORDED[topic], 300):
        try:
            found = read(topic, body)
        except UpstreamUnavailable as error:
            messages.append(error.message)
            continue
        read_rightly += 1
        meant = MEANT[topic](json.loads(body))
        assert (shown(found) if topic == "vaults" else found) == meant, body
        if topic == "apy":
            assert all(rate is None or math.isfinite(rate) for rate in found.values())
    assert [message for message in messages if not NAMED.match(message)] == []
    assert min(read_rightly, len(messages)) > 20


def test_an_id_that_stands_there_twice_is_refused() -> None:
    document = [*RECORDED["vaults"], RECORDED["vaults"][0]]
    with pytest.raises(UpstreamUnavailable, match=r"\$\[5\].id` stands there twice"):
        read("vaults", document)


def test_a_refusal_repeats_no_strangers_words() -> None:
    with pytest.raises(UpstreamUnavailable) as refused:
        read("apy", {"a\nb" * 200: "secret"})
    assert "secret" not in refused.value.message
    assert len(refused.value.message) < 200
