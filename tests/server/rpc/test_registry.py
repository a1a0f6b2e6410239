"""The registry and the calendar as callers see them; a gateway without a single node answers them."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from runtime.settings import load_settings
from server.catalog import calendar, protocols
from server.chains.facts import load_facts
from tests.e2e.gateway import run_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    Ask = Callable[..., Coroutine[Any, Any, Any]]

pytestmark = pytest.mark.slow

FILES = {path.stem: tomllib.loads(path.read_text()) for path in protocols.DATA.glob("*.toml")}
CHAINS = list(load_facts())
SUMMARY = {"name", "slug", "url", "category", "description", "version", "chains"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ask(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ask]:
    """Asks for `data` over JSON-RPC; a refusal is returned as `error`."""
    overrides = {
        "profile": "devnet",
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('registry') / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:

        async def ask(method: str, **params: Any) -> Any:
            answer = await running.ask(method, params)
            return answer["result"]["data"] if "result" in answer else answer["error"]

        yield ask


async def test_all_protocols_sorted_and_in_the_contract_s_shape(ask: Ask) -> None:
    rows = await ask("getProtocols")
    assert [row["slug"] for row in rows] == sorted(FILES)
    assert len(rows) == 26
    for row in rows:
        file = FILES[row["slug"]]
        assert set(row) == SUMMARY
        assert {key: row[key] for key in SUMMARY - {"slug", "chains"}} == {
            key: file[key] for key in SUMMARY - {"slug", "chains"}
        }
        assert row["chains"] == [slug for slug in CHAINS if slug in file.get("contracts", {})]


async def test_protocols_of_a_category_and_a_chain(ask: Ask) -> None:
    for category in await ask("getRegistryCategories"):
        rows = await ask("getProtocols", category=category)
        assert [row["slug"] for row in rows] == sorted(s for s, file in FILES.items() if file["category"] == category)
    for chain in CHAINS:
        rows = await ask("getProtocols", chain=chain)
        assert [row["slug"] for row in rows] == sorted(
            s for s, file in FILES.items() if chain in file.get("contracts", {})
        )
    both = await ask("getProtocols", category="staking", chain="arbitrum")
    assert [row["slug"] for row in both] == ["ether-fi", "lido", "rocket-pool"]


async def test_categories_and_chains_are_plain_arrays(ask: Ask) -> None:
    assert await ask("getRegistryCategories") == ["lending", "dex", "staking", "aggregator", "derivatives"]
    used = {chain for file in FILES.values() for chain in file.get("contracts", {})}
    assert await ask("getRegistryChains") == [slug for slug in CHAINS if slug in used]
    assert len(used) == 17  # every EVM chain, and solana


@pytest.mark.parametrize("slug", sorted(FILES))
async def test_a_protocol_with_its_contracts_and_abis(ask: Ask, slug: str) -> None:
    contracts = FILES[slug].get("contracts", {})
    reported = await ask("getProtocol", slug=slug)
    assert set(reported) == SUMMARY | {"deployments"}
    assert [row["chain"] for row in reported["deployments"]] == reported["chains"]
    for row in reported["deployments"]:
        expected = contracts[row["chain"]]
        assert set(row["contracts"]) == set(expected)
        for key, contract in row["contracts"].items():
            assert set(contract) == {"name", "address", "abi"}
            assert (contract["name"], contract["address"]) == (expected[key]["name"], expected[key]["address"])
            assert contract["abi"] == abi_of(expected[key])


@pytest.mark.parametrize("slug", sorted(FILES))
async def test_contracts_and_addresses_of_a_protocol(ask: Ask, slug: str) -> None:
    contracts = FILES[slug].get("contracts", {})
    everywhere = await ask("getRegistryContracts", slug=slug)
    assert (everywhere["protocol"], everywhere["chain"]) == (slug, None)
    assert everywhere["contracts"] == {
        f"{chain}/{key}": {"name": row["name"], "address": row["address"]}
        for chain, rows in contracts.items()
        for key, row in rows.items()
    }
    for chain, rows in contracts.items():
        here = await ask("getRegistryContracts", slug=slug, chain=chain)
        named = {key: {"name": row["name"], "address": row["address"]} for key, row in rows.items()}
        assert here == {"protocol": slug, "chain": chain, "contracts": named}
        for key, row in rows.items():
            reported = await ask("getRegistryAddress", slug=slug, contract=key, chain=chain)
            assert reported == {"protocol": slug, "contract": key, "chain": chain, "address": row["address"]}


async def test_what_is_not_registered_is_404_with_what_is(ask: Ask) -> None:
    error = await ask("getProtocol", slug="unswap-v3")
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (404, "NOT_FOUND", "slug")
    assert "did you mean uniswap-v3" in error["message"]
    error = await ask("getRegistryAddress", slug="aave-v3", contract="pools", chain="ethereum")
    assert (error["code"], error["data"]["field"]) == (404, "contract")
    assert "did you mean pool" in error["message"]
    error = await ask("getRegistryAddress", slug="aave-v3", contract="pool", chain="moonbeam")
    assert (error["code"], error["data"]["field"]) == (404, "chain")
    assert "it has them on ethereum, polygon" in error["message"]


async def test_the_calendar_has_exactly_its_members_and_counts(ask: Ask) -> None:
    files = {path.stem: tomllib.loads(path.read_text()) for path in calendar.DATA.glob("*.toml")}
    everything = await ask("getNetworkCalendar")
    assert set(everything) == {"count", "entries"}
    assert everything["count"] == len(everything["entries"]) == sum(len(file["entries"]) for file in files.values())
    for entry in everything["entries"]:
        assert set(entry) == {"chain", "kind", "name", "description", "scheduledAt", "blockHeight", "url"}
        assert entry["kind"] in ("release", "upgrade")
    [fusaka] = [one for one in everything["entries"] if (one["chain"], one["name"]) == ("ethereum", "Fusaka")]
    assert (fusaka["scheduledAt"], fusaka["blockHeight"]) == ("2025-12-03T21:49:11Z", None)
    for chain in CHAINS:
        reported = await ask("getNetworkCalendar", chain=chain)
        assert reported["count"] == len(files.get(chain, {"entries": []})["entries"])


async def test_the_calendar_within_days(ask: Ask) -> None:
    named = [one["name"] for one in (await ask("getNetworkCalendar", chain="ethereum", kind="upgrade"))["entries"]]
    assert named.index("London") < named.index("Paris (the Merge)") < named.index("Fusaka")
    year = await ask(
        "getNetworkCalendar", chain="ethereum", kind="upgrade", **{"from": "2022-01-01", "to": "2022-12-31"}
    )
    assert [one["name"] for one in year["entries"]] == ["Gray Glacier", "Paris (the Merge)"]
    reversed_days = await ask("getNetworkCalendar", **{"from": "2022-01-02", "to": "2022-01-01"})
    assert (reversed_days["code"], reversed_days["data"]["field"]) == (400, "from")


def abi_of(row: dict[str, Any]) -> Any:
    if "abi" not in row:
        return None
    return json.loads(((protocols.APPS if "/" in row["abi"] else protocols.ABIS) / f"{row['abi']}.json").read_text())
