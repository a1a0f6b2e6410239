"""The chain table: complete, and in the writing that the rest relies on."""

from __future__ import annotations

import re

import pytest

from server.chains.evm.chain import EvmChain
from server.chains.facts import ChainFacts, load_facts, parse_facts
from server.contracts.address import checksum_address

# Contract section 2.3, in its order.
CONTRACT = {
    "ethereum": ("Ethereum", "EVM"), "polygon": ("Polygon", "EVM"), "bsc": ("BNB Chain", "EVM"),
    "optimism": ("Optimism", "EVM"), "base": ("Base", "EVM"), "avalanche": ("Avalanche", "EVM"),
    "arbitrum": ("Arbitrum", "EVM"), "gnosis": ("Gnosis", "EVM"), "moonbeam": ("Moonbeam", "EVM"),
    "linea": ("Linea", "EVM"), "hyperliquid": ("Hyperliquid", "EVM"), "berachain": ("Berachain", "EVM"),
    "monad": ("Monad", "EVM"), "scroll": ("Scroll", "EVM"), "plasma": ("Plasma", "EVM"), "xlayer": ("X Layer", "EVM"),
    "solana": ("Solana", "SVM"), "bitcoin": ("Bitcoin", "UTXO"), "starknet": ("Starknet", "Cairo VM"),
    "cosmoshub": ("Cosmos Hub", "Cosmos SDK"), "osmosis": ("Osmosis", "Cosmos SDK"),
    "axelar": ("Axelar", "Cosmos SDK"), "noble": ("Noble", "Cosmos SDK"), "agoric": ("Agoric", "Cosmos SDK"),
}  # fmt: skip
FACTS = load_facts()
EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=lambda facts: facts.slug)


def test_the_chains_are_the_contracts_in_its_order():
    assert {slug: (facts.name, facts.type) for slug, facts in FACTS.items()} == CONTRACT
    assert list(FACTS) == list(CONTRACT)


@EVERY
def test_endpoints_have_unique_labels_and_secure_urls(facts: ChainFacts):
    labels = [endpoint.label for endpoint in facts.endpoints]
    assert len(set(labels)) == len(labels) >= 3
    for endpoint in facts.endpoints:
        assert re.fullmatch(r"[a-z0-9-]{1,64}", endpoint.label)
        assert endpoint.url.startswith("https://")
    assert facts.block_time > 0


@EVERY
def test_evm_chains_have_what_their_driver_needs(facts: ChainFacts):
    if facts.family != "evm":
        assert isinstance(facts.chain_id, str)
        assert facts.hex_id == facts.slug
        return
    assert isinstance(facts.chain_id, int)
    assert facts.hex_id == hex(facts.chain_id)
    assert facts.native.decimals == 18
    assert facts.wrapped_native is not None
    assert facts.multicall is not None
    for address in (facts.wrapped_native.address, facts.multicall.address):
        assert checksum_address(address) == address
    assert facts.block_number == ("arbsys" if facts.slug == "arbitrum" else "opcode")
    assert facts.marks == {"arbitrum": (), "scroll": ("parent",)}.get(facts.slug, ("parent", "randao"))
    assert len(EvmChain.of(facts).mark_calls) == len(facts.marks)
    assert facts.history == ("unproven" if facts.slug == "hyperliquid" else "pinned")


def test_chain_ids_are_unique():
    ids = [facts.chain_id for facts in FACTS.values()]
    assert len(set(ids)) == len(ids) == 24


def test_an_entry_that_nobody_reads_is_refused():
    table = {
        "name": "X",
        "type": "EVM",
        "family": "evm",
        "chain_id": 7,
        "endpoints": [],
        "native": {"symbol": "X", "decimals": 18},
    }
    assert parse_facts("x", table).hex_id == "0x7"
    with pytest.raises(TypeError):
        parse_facts("x", {**table, "blocktime": 3})
    with pytest.raises(TypeError):
        parse_facts("x", {key: value for key, value in table.items() if key != "chain_id"})
