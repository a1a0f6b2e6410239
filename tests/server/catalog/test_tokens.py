"""The token catalogue: what it holds is possible, what is impossible is refused with file and entry."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from devnet.evm.world import load_world
from server.catalog.approvals import load_known_approvals
from server.catalog.tokens import FOLDER, NATIVE, PRICED_SYMBOLS, TokenMistake, load_tokens, read_catalogue
from server.chains.bitcoin.balances import parse_address as parse_bitcoin
from server.chains.cosmos.names import parse_denom
from server.chains.facts import load_facts
from server.chains.solana.layouts import parse_key
from server.chains.starknet.answers import parse_address as parse_starknet
from server.contracts.address import parse_address as parse_evm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CATALOGUE = load_tokens()
CHAINS = load_facts()
# What every family takes for the address of a token.
PARSERS: dict[str, Callable[[str], object]] = {
    "evm": lambda text: parse_evm(text, "token"),
    "solana": lambda text: parse_key(text, "token"),
    "bitcoin": parse_bitcoin,
    "starknet": lambda text: parse_starknet(text, "token"),
    "cosmos": lambda text: parse_denom(text, "token"),
}
ROWS = [(token, row) for token in CATALOGUE for row in token.deployments]


def test_it_has_the_39_symbols_in_the_contracts_order_and_more() -> None:
    symbols = list(CATALOGUE.by_symbol)
    assert symbols[:39] == list(PRICED_SYMBOLS)
    assert len(symbols) == 59
    assert len({symbol.casefold() for symbol in symbols}) == 59
    assert len(ROWS) > 300


def test_every_address_is_one_of_its_chain_in_its_canonical_writing() -> None:
    for token, row in ROWS:
        facts = CHAINS[row.chain]
        if row.address == NATIVE:
            assert (facts.native.symbol, facts.native.decimals) == (token.symbol, row.decimals)
            continue
        parsed = PARSERS[facts.family](row.address)
        if facts.family in ("evm", "cosmos"):
            assert parsed == row.address, (token.symbol, row)


@pytest.mark.parametrize("slug", list(CHAINS))
def test_every_chain_has_its_own_coin(slug: str) -> None:
    facts, coin = CHAINS[slug], CATALOGUE.coin(slug)
    assert (coin.token.symbol, coin.deployment.decimals) == (facts.native.symbol, facts.native.decimals)
    assert coin.deployment.address == (facts.native.denom or facts.native.address or NATIVE)
    coins = [row for _, row in CATALOGUE.on_chain(slug).values() if row.kind == "coin"]
    assert len(coins) == 1


@pytest.mark.parametrize("slug", [slug for slug, facts in CHAINS.items() if facts.wrapped_native])
def test_the_wrapped_coin_is_listed_and_priced_as_the_coin(slug: str) -> None:
    wrapped = CHAINS[slug].wrapped_native
    assert wrapped is not None
    token, row = CATALOGUE.on_chain(slug)[wrapped.address]
    assert (row.symbol, token.price_of(row)) == (wrapped.symbol, CHAINS[slug].native.symbol)


def test_the_local_chains_tokens_are_listed_with_the_same_symbols_and_decimals() -> None:
    for slug, chain in load_world().items():
        for token in chain.tokens:
            row = CATALOGUE.on_chain(slug)[token.address].deployment
            assert (row.symbol, row.decimals) == (token.symbol, token.decimals), (slug, token)


def test_the_tokens_of_approvals_are_listed_under_the_same_symbols() -> None:
    others = set()
    for slug, known in load_known_approvals().items():
        for token in known.tokens:
            listed = CATALOGUE.on_chain(slug)[token.address].token.symbol
            if listed != token.symbol:
                others.add((slug, token.symbol, listed))
    # Gnosis's coin is a dollar like DAI, and its wrapper the one that wallets approve there.
    assert others == {("bsc", "WETH", "ETH"), ("gnosis", "DAI", "XDAI")}


def test_what_is_not_worth_the_tokens_price_is_not_priced() -> None:
    unpriced = {(row.chain, row.symbol, row.form) for token, row in ROWS if token.price_of(row) is None}
    assert unpriced == {
        ("moonbeam", "MOVR", ""),
        ("moonbeam", "DAI", ""),
        ("ethereum", "MORPHO", "legacy"),
        ("bsc", "BTCB", ""),
        ("avalanche", "BTC.b", ""),
        ("hyperliquid", "UBTC", ""),
        ("xlayer", "xBTC", ""),
    }
    assert {token.symbol: token.price for token in CATALOGUE if token.price != token.symbol} == {"WETH": "ETH"}


def test_a_symbol_that_nobody_can_place_is_there_with_nothing_but_itself() -> None:
    for symbol in ("SSS", "ETHV"):
        token = CATALOGUE.by_symbol[symbol]
        assert (token.name, token.deployments, token.is_doubtful) == (symbol, (), True)


def test_what_is_confirmed_comes_first_and_the_asset_before_its_bridged_forms() -> None:
    for token in CATALOGUE:
        for slug in {row.chain for row in token.deployments}:
            order = [(bool(row.unverified), row.is_bridged) for row in token.deployments if row.chain == slug]
            assert order == sorted(order), (token.symbol, slug)
    assert "bsc" not in CATALOGUE.by_symbol["KSM"].chains
    assert "bsc" in {row.chain for row in CATALOGUE.by_symbol["KSM"].deployments}
    assert CATALOGUE.by_symbol["stSPK"].chains == ("ethereum",)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(FOLDER, tmp_path / "tokens")


USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
ROW = f'address = "{USDC}"'


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("usdc.toml", ROW, ROW.lower(), "lacks its checksum; write 0xA0b8"),
        ("usdc.toml", ROW, ROW[:-2] + '"', "is neither 40 hex digits nor 64"),
        ("usdc.toml", ROW, 'address = "0x' + "g" * 40 + '"', "40 hex digits"),
        ("usdc.toml", ROW, 'address = ""', "address is empty"),
        ("usdc.toml", ROW, 'address = "native"', "only a coin has the address native"),
        ("usdc.toml", "decimals = 6", "decimals = 60", "decimals is 60; write 0 to 36"),
        ("usdc.toml", "decimals = 6", 'decimals = "6"', "decimals is 6"),
        ("usdc.toml", "decimals = 6, ", "", "decimals is missing"),
        ("usdc.toml", 'kind = "issued"', 'kind = "real"', "kind is real; write one of bridge"),
        ("usdc.toml", 'sources = ["aave"', 'sources = ["hearsay"', "write codes of sources.toml"),
        ("usdc.toml", "decimals = 6", "digits = 6", "unknown entry digits"),
        ("usdc.toml", 'symbol = "USDC"\n', 'symbol = "USDT"\n', "the file is named after it"),
        ("usdc.toml", "checked = 2026-11-20", 'checked = "lately"', "checked is no date"),
        ("usdc.toml", "checked", "weight = 1\nchecked", "unknown entry weight"),
        ("usdc.toml", "checked = 2026-11-20", "checked =", "usdc.toml: Invalid value"),
        ("sol.toml", 'unverified = "address"', 'unverified = "all"', "write one of address, decimals"),
    ],
)
def test_a_mistake_is_named_with_its_file(folder: Path, file: str, old: str, new: str, words: str) -> None:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(TokenMistake) as caught:
        read_catalogue(folder)
    assert str(caught.value).startswith(file)
    assert words in str(caught.value)


def test_an_address_that_two_tokens_claim_is_refused(folder: Path) -> None:
    path = folder / "usdt.toml"
    path.write_text(path.read_text().replace("0xdAC17F958D2ee523a2206206994597C13D831ec7", USDC, 2))
    with pytest.raises(TokenMistake, match=f"ethereum {USDC} is listed twice: USDC and USDT"):
        read_catalogue(folder)


def test_a_symbol_of_the_set_without_a_file_is_refused(folder: Path) -> None:
    (folder / "hbar.toml").unlink()
    with pytest.raises(TokenMistake, match="HBAR, which has no file"):
        read_catalogue(folder)
