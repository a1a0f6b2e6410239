"""What other catalogues say of a registered contract agrees with the address book."""

from __future__ import annotations

from server.catalog.approvals import load_known_approvals
from server.catalog.apps.catalogue import load_catalogue
from server.catalog.protocols import load_address_book
from server.catalog.tokens import load_tokens
from server.chains.facts import load_facts

BOOK = load_address_book()
EVM = [slug for slug, facts in load_facts().items() if facts.family == "evm"]

# Spenders that getApprovals looks up, by their names there.
SPENDERS = {
    "Aave V3 Pool": ("aave-v3", "pool"),
    "Aave V2 LendingPool": ("aave-v2", "lendingPool"),
    "1inch AggregationRouterV6": ("1inch", "aggregationRouterV6"),
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
}


def test_spenders_of_approvals() -> None:
    compared = [
        (BOOK.find_contract(slug, chain, key).address, spender.address)
        for chain, known in load_known_approvals().items()
        for spender in known.spenders
        if spender.name in SPENDERS
        for slug, key in [SPENDERS[spender.name]]
    ]
    assert len(compared) > 20
    assert [ours for ours, _ in compared] == [theirs for _, theirs in compared]


def test_deployments_of_published_apps() -> None:
    fixed = [
        (app.app_id, deployment)
        for app in load_catalogue(EVM, None).apps.values()
        for deployment in app.deployments
        if deployment.chain is not None
    ]
    assert {(app_id, deployment.name) for app_id, deployment in fixed} == set(DEPLOYMENTS)
    for app_id, deployment in fixed:
        slug, key = DEPLOYMENTS[app_id, deployment.name]
        assert BOOK.find_contract(slug, str(deployment.chain), key).address == deployment.address


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
