"""The ABIs of the registry: pinned packages, one plain form, and what the contracts are known to answer to."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from scripts.protocol_abis import FOLDER, PINS, plain, printed
from server.catalog.protocols import load_address_book
from server.chains.facts import load_facts
from server.marketplace.folders import load_catalogue
from tests.each import each

if TYPE_CHECKING:
    from server.catalog.protocols import RegisteredContract

PACKAGES = tomllib.loads(PINS.read_text())
BOOK = load_address_book()
PINNED = [name for pin in PACKAGES.values() for name in pin["abis"]]


def test_every_abi_is_pinned_once_and_reported_for_a_contract() -> None:
    assert sorted(PINNED) == sorted(path.stem for path in FOLDER.glob("*.json"))
    pinned = {json.dumps(json.loads((FOLDER / f"{name}.json").read_bytes())) for name in PINNED}
    assert len(pinned) == len(PINNED)
    reported = {
        json.dumps(json.loads(contract.abi)) for _, _, _, contract in every_contract() if contract.abi is not None
    }
    assert pinned <= reported


def every_contract() -> list[tuple[str, str, str, RegisteredContract]]:
    """Return every registered contract behind its protocol, chain and key."""
    return [
        (slug, chain, key, contract)
        for slug, protocol in BOOK.protocols.items()
        for chain, contracts in protocol.contracts.items()
        for key, contract in contracts.items()
    ]


def test_a_contract_has_its_abi_or_the_reason_why_not() -> None:
    without = Counter(slug for slug, _, _, contract in every_contract() if contract.abi is None)
    assert all((contract.abi is None) == bool(contract.why_no_abi) for _, _, _, contract in every_contract())
    # About half of these are of one protocol, which publishes its ABIs in no package.
    assert without.total() == 181
    assert without.most_common(1) == [("beefy", 75)]
    assert len(every_contract()) == 464


def test_what_an_app_publishes_is_registered_with_the_interface_that_the_app_calls() -> None:
    chains = [slug for slug, facts in load_facts().items() if facts.family == "evm"]
    apps = load_catalogue(chains).apps.values()
    called = {(deployment.chain, deployment.address) for app in apps for deployment in app.deployments}
    published = [one for one in every_contract() if (one[1], one[3].address) in called]
    assert [one[:3] for one in published if one[3].abi is None] == []
    assert len(published) == 13


@each(PACKAGES)
def test_a_package_is_pinned_by_version_and_digest(package: str) -> None:
    pin = PACKAGES[package]
    assert set(pin) == {"version", "integrity", "abis"}
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", pin["version"])
    assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", pin["integrity"])


@each(PINNED)
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
    ("aave-v2", "protocolDataProvider"): {"getUserReserveData": "28dd2d01"},
    ("spark", "protocolDataProvider"): {"getUserReserveData": "28dd2d01"},
    ("spark", "oracle"): {"getAssetPrice": "b3596f07"},
    ("compound-v2", "comptroller"): {"getAllMarkets": "b0772d0b", "getAssetsIn": "abfceffc"},
    ("compound-v2", "cUSDC"): {"getAccountSnapshot": "c37f68e2", "exchangeRateStored": "182df0f5"},
    ("compound-v3", "cometUSDC"): {"balanceOf": "70a08231", "borrowBalanceOf": "374c49b4"},
    ("curve", "threePool"): {"get_virtual_price": "bb7b8b80", "get_dy": "5e0d443f"},
    ("curve", "tricrypto2"): {"get_dy": "556d6e9f"},
    ("lido", "wstETH"): {"stEthPerToken": "035faf82"},
}


@each(SELECTORS.items())
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
