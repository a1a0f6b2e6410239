"""Which chain is suggested for what is no slug, and that none is that is not near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.config_errors import edits_between
from server.chains.facts import load_facts
from server.chains.registry import advise_chain, suggest_chain

FACTS = load_facts()


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        *(("eth", "ethereum"), ("ETH", "ethereum"), ("mainnet", "ethereum"), ("eth-mainnet", "ethereum")),
        *(("op", "optimism"), ("op mainnet", "optimism"), ("arb", "arbitrum"), ("Arbitrum One", "arbitrum")),
        *(("matic", "polygon"), ("pol", "polygon"), ("polygon_pos", "polygon"), ("bnb", "bsc"), ("BNB Chain", "bsc")),
        *(("avax", "avalanche"), ("btc", "bitcoin"), ("sol", "solana"), ("atom", "cosmoshub"), ("cosmos", "cosmoshub")),
        *(("base chain", "base"), ("x-layer", "xlayer"), ("okx", "xlayer"), ("strk", "starknet"), ("xdai", "gnosis")),
        *(("1", "ethereum"), ("0x1", "ethereum"), ("137", "polygon"), ("42161", "arbitrum"), ("osmosis-1", "osmosis")),
        *(("etherium", "ethereum"), ("Ethereum ", "ethereum"), ("polygn", "polygon"), ("arbtirum", "arbitrum")),
        *(("avalance", "avalanche"), ("solona", "solana"), ("bitcion", "bitcoin"), ("optimsm", "optimism")),
        *(
            ("berachian", "berachain"),
            ("bas", None),
            ("based", "base"),
            ("scrol", "scroll"),
            ("cosmos-hub", "cosmoshub"),
        ),
    ],
)
def test_what_is_meant_is_suggested(text: str, slug: str | None) -> None:
    assert suggest_chain(text, FACTS) == slug


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "-",
            "nochain",
            "mychain",
            "chain",
            "xchain",
            "notachain",
            "basechains",
            "nowhere",
            "tron",
            "near",
            "sui",
        ),
        *("celo", "zora", "blast", "zksync", "sepolia", "ethereum-sepolia", "goerli", "fantom", "polkadot", "cardano"),
        *(
            "litecoin",
            "dogecoin",
            "ethereum-classic",
            "arbitrum-nova",
            "bitcoin-cash",
            "polygon-zkevm",
            "mantle",
            "x" * 5000,
        ),
    ],
)
def test_what_is_not_near_is_not_suggested(text: str) -> None:
    assert suggest_chain(text, FACTS) is None
    assert advise_chain(text, FACTS).startswith("chains are: ethereum, polygon")


def test_no_two_chains_share_a_name() -> None:
    owners: dict[str, str] = {}
    for slug, facts in FACTS.items():
        for name in {slug, *facts.aliases}:
            assert owners.setdefault(name, slug) == slug
            if name != slug:
                assert suggest_chain(name, FACTS) == slug, name


def test_only_the_chains_at_hand_are_suggested() -> None:
    assert suggest_chain("eth", ["base", "polygon"]) is None
    assert suggest_chain("matic", ["base", "polygon"]) == "polygon"


@pytest.mark.parametrize(
    ("name", "other", "edits"),
    [
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "ab", 1),
        ("ab", "abc", 1),
        ("abc", "xbc", 1),
        ("abcd", "badc", 2),
        ("", "ab", 2),
    ],
)
def test_letters_that_differ_are_counted(name: str, other: str, edits: int) -> None:
    assert edits_between(name, other, most=2) == edits_between(other, name, most=2) == edits
    assert edits_between(name, other, most=edits - 1) is None


@given(st.text(max_size=80))
def test_any_text_is_answered(text: str) -> None:
    assert suggest_chain(text, FACTS) in (None, *FACTS)
