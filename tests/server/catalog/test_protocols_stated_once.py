"""Addresses of protocols come from the address book; the few copies that other data holds agree with it.

Apps name their contracts in the form that operators write, and tokens are listed by the sources of tokens: those copies
are compared. Other data names registered contracts by slug and key.
"""

from __future__ import annotations

import re
from pathlib import Path

import server
from server.catalog.approvals import load_known_approvals
from server.catalog.feeds import load_price_table
from server.catalog.protocols import load_address_book
from server.catalog.tokens import load_tokens
from server.chains.facts import load_facts
from server.marketplace.folders import load_catalogue
from server.protocols.reader import load_deployments

BOOK = load_address_book()
FACTS = load_facts()
EVM = [slug for slug, facts in FACTS.items() if facts.family == "evm"]
REGISTERED = {
    (chain, contract.address): (slug, key)
    for slug, protocol in BOOK.protocols.items()
    for chain, contracts in protocol.contracts.items()
    for key, contract in contracts.items()
}

# Deployments of published apps, by appId and name.
DEPLOYMENTS = {
    ("lido", "steth"): ("lido", "stETH"),
    ("lido", "wsteth"): ("lido", "wstETH"),
    ("lido", "lidolocator"): ("lido", "lidoLocator"),
    ("rocketpool", "reth"): ("rocket-pool", "rETH"),
    ("etherfi", "weeth"): ("ether-fi", "weETH"),
    ("cbeth", "cbeth"): ("coinbase-cbeth", "cbETH"),
    ("ethena", "susde"): ("ethena", "susde"),
    ("oneinch", "offchainoracle"): ("1inch", "offchainOracle"),
}
# Tokens of protocols, by symbol.
TOKENS = {
    "wstETH": ("lido", "wstETH"),
    "stETH": ("lido", "stETH"),
    "cbETH": ("coinbase-cbeth", "cbETH"),
    "USDe": ("ethena", "usde"),
    "sUSDe": ("ethena", "susde"),
    "HYPE": ("hyperliquid", "whype"),
}
# Files that may hold an address of a registered contract.
COPIES = (
    "catalog/data/protocols/",
    "marketplace/apps/",
    "catalog/data/tokens/",
    "chains/chains.toml",
    "protocols/morpho/deployments.toml",
    "protocols/curve/deployments.toml",
)
# What only looks like one: Uniswap's deployer made its contracts in another order on each chain, so that the address of
# this universal router of Linea is the quoter's on Monad.
ALIKE = {("catalog/data/approvals.toml", "0x661e93cca42afacb172121ef892830ca3b70f08d")}


def test_nothing_else_holds_an_address_of_a_registered_contract() -> None:
    """Whatever its chain: some protocols have one address everywhere."""
    root, addresses = Path(server.__file__).parent, {address.lower() for _, address in REGISTERED}
    found = set()
    for path in (*root.rglob("*.toml"), *root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        for address in re.findall(r"0x[0-9a-f]{40}(?![0-9a-f])", path.read_text().lower()):
            if address in addresses and not name.startswith(COPIES):
                found.add((name, address))
    assert found == ALIKE


def test_spenders_of_approvals() -> None:
    found = {
        (spender.name, REGISTERED[chain, spender.address])
        for chain, known in load_known_approvals().items()
        for spender in known.spenders
        if (chain, spender.address) in REGISTERED
    }
    assert found == {
        ("Uniswap V3 SwapRouter02", ("uniswap-v3", "swapRouter02")),
        ("Aave V3 Pool", ("aave-v3", "pool")),
        ("Aave V2 LendingPool", ("aave-v2", "lendingPool")),
        ("1inch AggregationRouterV6", ("1inch", "aggregationRouterV6")),
    }


def test_feeds() -> None:
    found = {
        (feed.kind, REGISTERED[feed.chain, feed.address])
        for feeds in load_price_table().feeds.values()
        for feed in feeds
        if (feed.chain, feed.address) in REGISTERED
    }
    assert found == {("lending_oracle", ("aave-v3", "oracle"))}


def test_parameters_of_markets() -> None:
    """That the parameters are right is proved by the markets' ids, which are their hashes."""
    found = {
        REGISTERED[chain, address]
        for chain, markets in load_deployments("server.protocols.morpho").items()
        for market in markets
        for address in market.values()
        if (chain, address) in REGISTERED
    }
    assert found == {("lido", "wstETH"), ("coinbase-cbeth", "cbETH"), ("morpho", "adaptiveCurveIrm")}


def test_coins_of_pools() -> None:
    coins = {
        (chain, coin)
        for chain, pools in load_deployments("server.protocols.curve").items()
        for pool in pools.values()
        for coin in pool["coins"]
    }
    assert {REGISTERED[coin] for coin in coins if coin in REGISTERED} == {("lido", "stETH")}


def test_deployments_of_published_apps() -> None:
    fixed = [
        (app.app_id, deployment)
        for app in load_catalogue(EVM, None).apps.values()
        for deployment in app.deployments
        if deployment.chain is not None
    ]
    assert {(app_id, deployment.name) for app_id, deployment in fixed} == set(DEPLOYMENTS)
    for app_id, deployment in fixed:
        assert REGISTERED[str(deployment.chain), str(deployment.address)] == DEPLOYMENTS[app_id, deployment.name]


def test_tokens_of_protocols() -> None:
    catalogue, compared = load_tokens(), 0
    for symbol, (slug, key) in TOKENS.items():
        token = catalogue.by_symbol[symbol]
        for chain, contracts in BOOK.find_protocol(slug).contracts.items():
            known = {one.address for one in token.deployments if one.chain == chain}
            if known and key in contracts:
                assert contracts[key].address in known, (symbol, chain)
                compared += 1
    assert compared > 10


def test_what_is_listed_as_a_token_is_registered_as_that_token() -> None:
    found = {
        (symbol, REGISTERED[one.chain, one.address])
        for symbol, token in load_tokens().by_symbol.items()
        for one in token.deployments
        if (one.chain, one.address) in REGISTERED
    }
    assert found == set(TOKENS.items())


def test_wrapped_coins() -> None:
    found = {
        REGISTERED[slug, facts.wrapped_native.address]
        for slug, facts in FACTS.items()
        if facts.wrapped_native is not None and (slug, facts.wrapped_native.address) in REGISTERED
    }
    assert found == {("hyperliquid", "whype")}
