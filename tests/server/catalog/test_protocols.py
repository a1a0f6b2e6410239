"""The address book: what is registered, and how mistakes in its files are reported."""

from __future__ import annotations

import json
from collections import Counter
from operator import attrgetter
from pathlib import Path

import pytest
from eth_utils import is_checksum_address
from solders.pubkey import Pubkey

from server.catalog.data_file import FilesRefused
from server.catalog.protocols import (
    CATEGORIES,
    RegisteredContract,
    RegisteredProtocol,
    load_address_book,
    read_address_book,
)
from server.chains.facts import load_facts
from server.errors import NotFound
from tests.each import each

BROKEN = sorted((Path(__file__).parent / "broken_protocols").glob("*.toml"))
ABIS = Path(__file__).parent / "broken_protocols" / "abi"
BOOK = load_address_book()
CONTRACTS = [
    pytest.param(chain, contract, id=f"{slug}/{chain}/{key}")
    for slug, protocol in BOOK.protocols.items()
    for chain, contracts in protocol.contracts.items()
    for key, contract in contracts.items()
]


def test_there_are_26_protocols_in_the_five_categories_of_the_contract() -> None:
    assert len(BOOK.protocols) == 26
    assert BOOK.categories == CATEGORIES == ("lending", "dex", "staking", "aggregator", "derivatives")
    counted = Counter(protocol.category for protocol in BOOK.protocols.values())
    assert counted == {"lending": 8, "dex": 6, "staking": 5, "aggregator": 4, "derivatives": 3}
    assert list(BOOK.protocols) == sorted(BOOK.protocols)


def test_every_neutral_word_of_a_product_is_one_of_the_contract() -> None:
    words = {protocol.neutral for protocol in BOOK.protocols.values()} - {None}
    assert words == {
        *("lend-a", "lend-b", "lend-c", "lend-d", "vault-a", "vault-b", "yield-a", "stake-a", "pool-a", "dex-a"),
        *("sol-aggregator", "venue-a", "venue-b"),
    }


@each((one.values for one in CONTRACTS), name=lambda case: f"{case[1].name} on {case[0]}")
def test_an_address_is_in_canonical_writing_and_has_a_source(chain: str, contract: RegisteredContract) -> None:
    family = load_facts()[chain].family
    if family == "evm":
        assert is_checksum_address(contract.address)
    else:
        assert family == "solana"
        assert str(Pubkey.from_string(contract.address)) == contract.address
    assert len(contract.source) > 10
    assert contract.name


@each(BOOK.protocols.values(), name=attrgetter("slug"))
def test_a_protocol_has_no_address_twice_on_a_chain(protocol: RegisteredProtocol) -> None:
    for chain, contracts in protocol.contracts.items():
        addresses = [contract.address for contract in contracts.values()]
        assert len(addresses) == len(set(addresses)), chain


def test_an_unknown_protocol_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="did you mean uniswap-v") as refused:
        BOOK.find_protocol("Uniswap")
    assert refused.value.field == "slug"
    with pytest.raises(NotFound, match="getProtocols lists the slugs"):
        BOOK.find_protocol("zzzzzzzz")


def test_a_neutral_word_is_answered_with_what_it_stands_for() -> None:
    with pytest.raises(NotFound, match="lend-a elsewhere is here aave-v2 or aave-v3"):
        BOOK.find_protocol("lend-a")


def test_an_unknown_contract_or_pair_is_answered_with_what_there_is() -> None:
    with pytest.raises(NotFound, match="did you mean pool") as key:
        BOOK.find_contract("aave-v3", "ethereum", "Pol")
    assert key.value.field == "contract"
    with pytest.raises(NotFound, match="its contracts there are factory, router02"):
        BOOK.find_contract("uniswap-v2", "ethereum", "zzzzzzzz")
    with pytest.raises(NotFound, match="it has them on base") as chain:
        BOOK.find_contract("aerodrome", "ethereum", "router")
    assert chain.value.field == "chain"
    with pytest.raises(NotFound, match="it has none anywhere"):
        BOOK.find_contracts("dydx", "ethereum")


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_file_is_refused_with_file_entry_and_fix(path: Path, tmp_path: Path) -> None:
    """The head of each file says which entry is refused and with which words."""
    entry, _, words = path.read_text().splitlines()[0].removeprefix("# ").partition(": ")
    name = "Bad_Name.toml" if path.stem == "bad-file-name" else path.name
    (tmp_path / name).write_bytes(path.read_bytes())
    with pytest.raises(FilesRefused) as refused:
        read_address_book(tmp_path, ABIS)
    [mistake] = refused.value.mistakes
    assert mistake.file == name
    assert mistake.entry == ("" if entry == "file" else entry)
    assert words in mistake.fix
    assert str(mistake).startswith(name)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    for path in BROKEN[:3]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(FilesRefused) as refused:
        read_address_book(tmp_path, ABIS)
    assert {mistake.file for mistake in refused.value.mistakes} == {path.name for path in BROKEN[:3]}


def test_an_empty_folder_and_what_is_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FilesRefused, match="no file of a protocol"):
        read_address_book(tmp_path, ABIS)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FilesRefused, match="not UTF-8"):
        read_address_book(tmp_path, ABIS)
    (tmp_path / "bytes.toml").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(FilesRefused, match="larger than"):
        read_address_book(tmp_path, ABIS)


def test_a_file_written_right_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine-v1.toml").write_text(RIGHT)
    [protocol] = read_address_book(tmp_path, ABIS).protocols.values()
    contract = protocol.contracts["ethereum"]["pool"]
    assert (protocol.slug, protocol.neutral, contract.source) == ("mine-v1", None, "a page")
    assert contract.abi is not None
    assert [item["name"] for item in json.loads(contract.abi)] == ["total"]


RIGHT = """
name = "Mine"
category = "dex"
url = "https://mine.example"
version = "1"
description = "A protocol."
[sources]
page = "a page"
[contracts.ethereum]
pool = { name = "Pool", address = "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2", source = "page", abi = "right" }
"""
