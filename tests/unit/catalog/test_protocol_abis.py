"""The ABIs of the registry: pinned packages, one plain form, and what the contracts are known to answer to."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from eth_utils import keccak

from scripts.protocol_abis import FOLDER, PINS, plain, printed
from server.catalog.protocols import load_address_book

PACKAGES = tomllib.loads(PINS.read_text())
BOOK = load_address_book()
PINNED = [name for pin in PACKAGES.values() for name in pin["abis"]]


def test_every_abi_is_pinned_once_and_told_for_a_contract() -> None:
    assert sorted(PINNED) == sorted(path.stem for path in FOLDER.glob("*.json"))
    told = {
        contract.abi
        for protocol in BOOK.protocols.values()
        for contracts in protocol.contracts.values()
        for contract in contracts.values()
        if contract.abi is not None
    }
    assert len(told) == len(PINNED)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_pinned_by_version_and_digest(package: str) -> None:
    pin = PACKAGES[package]
    assert set(pin) == {"version", "integrity", "abis"}
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", pin["version"])
    assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", pin["integrity"])


@pytest.mark.parametrize("name", PINNED)
def test_an_abi_is_in_its_plain_form(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text()
    assert printed(plain(json.loads(text))) == text
    assert "internalType" not in text


# Selectors as these contracts' callers know them, computed by nobody here.
SELECTORS = {
    ("aave-v3", "pool"): {"getUserAccountData": "bf92857c", "getReserveData": "35ea6a75", "supply": "617ba037"},
    ("aave-v3", "oracle"): {"getAssetPrice": "b3596f07"},
    ("aave-v2", "lendingPool"): {"getUserAccountData": "bf92857c", "deposit": "e8eda9df"},
    ("uniswap-v2", "factory"): {"getPair": "e6a43905"},
    ("uniswap-v2", "router02"): {"getAmountsOut": "d06ca61f", "swapExactTokensForTokens": "38ed1739"},
    ("uniswap-v3", "factory"): {"getPool": "1698ee82"},
    ("uniswap-v3", "quoterV2"): {"quoteExactInputSingle": "c6a5026a"},
    ("uniswap-v3", "swapRouter02"): {"exactInputSingle": "04e45aaf"},
    ("balancer-v2", "vault"): {"swap": "52bbbe29", "joinPool": "b95cac28"},
}


@pytest.mark.parametrize(("contract", "selectors"), SELECTORS.items(), ids=str)
def test_a_contract_answers_to_the_selectors_that_it_is_known_by(
    contract: tuple[str, str], selectors: dict[str, str]
) -> None:
    slug, key = contract
    abi = BOOK.find_contract(slug, "ethereum", key).abi
    assert abi is not None
    found = {(item["name"], selector(item)) for item in json.loads(abi) if item["type"] == "function"}
    assert set(selectors.items()) <= found


def selector(item: dict[str, Any]) -> str:
    return keccak(text=f"{item['name']}({','.join(map(canonical, item['inputs']))})")[:4].hex()


def canonical(parameter: dict[str, Any]) -> str:
    if not parameter["type"].startswith("tuple"):
        return str(parameter["type"])
    return f"({','.join(map(canonical, parameter['components']))}){parameter['type'].removeprefix('tuple')}"
