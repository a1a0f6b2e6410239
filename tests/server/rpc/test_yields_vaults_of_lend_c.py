"""lend-c's vaults over both faces: the operations that they are asked by, and how wrong input is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.known_lending_c_vaults import (
    BASE_STEAKHOUSE,
    GAUNTLET,
    NOBODYS,
    SECOND_GENERATION,
    STEAKHOUSE,
    VAULTS_V2,
    WETH_VAULT,
)
from tests.server.rpc.conftest import OPERATIONS
from tests.server.rpc.every import message_of

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet
POOL = {"chain": "ethereum", "protocol": "lend-c", "pool": STEAKHOUSE}


async def result(faces: RunningGateway, method: str, **params: Any) -> Any:
    """The data of an answer, which is the same over both faces."""
    answer = await faces.ask(method, params)
    assert "result" in answer, answer
    operation = OPERATIONS[method]
    message: Any = await faces.ask_grpc(operation, message_of(operation, params))
    data = answer["result"]["data"]
    rows = data.get("results", data.get("vaults"))
    assert len(rows) == len(message.results if "results" in data else message.vaults)
    return data


async def refused(faces: RunningGateway, method: str, **params: Any) -> dict[str, Any]:
    answer = await faces.ask(method, params)
    assert "error" in answer, answer
    error: dict[str, Any] = answer["error"]
    return error


async def test_a_vault_of_either_generation_has_its_rate(faces: RunningGateway) -> None:
    [first] = (await result(faces, "getYieldsLending", **POOL))["results"]
    assert set(first) == {
        *("chain", "protocol", "pool", "supplyApy", "borrowApy", "tvl", "updatedAt", "basis", "blockHeight"),
    }
    assert (first["chain"], first["protocol"], first["pool"]) == ("ethereum", "lend-c", STEAKHOUSE)
    assert (first["borrowApy"], first["basis"]) == (0, "spot")
    assert 0 < first["supplyApy"] < 10
    assert first["tvl"] == pytest.approx(4002, rel=0.01)
    [second] = (await result(faces, "getYieldsLending", **POOL | {"pool": SECOND_GENERATION.lower()}))["results"]
    assert (second["pool"], second["supplyApy"], second["basis"]) == (
        SECOND_GENERATION.lower(),
        pytest.approx(4.608),
        "average",
    )
    elsewhere = {"chain": "base", "protocol": "morpho", "pool": BASE_STEAKHOUSE}  # the product's own name
    [third] = (await faces.ask("getYieldsLending", elsewhere))["result"]["data"]["results"]
    assert (third["protocol"], third["basis"]) == ("lend-c", "spot")
    elsewhere = {"chain": "arbitrum", "protocol": "lend-c", "pool": VAULTS_V2["arbitrum"][0].address}
    assert (await result(faces, "getYieldsLending", **elsewhere))["results"][0]["basis"] == "average"


async def test_a_wallets_balance_is_in_the_asset_and_in_dollars(faces: RunningGateway) -> None:
    data = await result(faces, "getYieldsBalance", **POOL, address=known.VITALIK.lower())
    [row] = data["results"]
    assert row["address"] == known.VITALIK
    assert set(row["balance"]) == {"USDC", "USD"}
    assert row["balance"]["USD"] == pytest.approx(row["balance"]["USDC"], rel=0.01)
    assert row["balance"]["USDC"] == pytest.approx(1000.4, rel=0.01)


async def test_a_share_has_a_price(faces: RunningGateway) -> None:
    [row] = (await result(faces, "getYieldsPrice", **POOL))["results"]
    assert set(row) == {"chain", "protocol", "pool", "price", "updatedAt", "blockHeight"}
    assert 1 < row["price"]["USD"] < 1.1


async def test_the_vaults_of_a_chain_are_listed(faces: RunningGateway) -> None:
    data = await result(faces, "getLendCVaults", chain="ethereum")
    assert (data["chain"], data["count"]) == ("ethereum", 3)
    assert [vault["address"] for vault in data["vaults"]] == [STEAKHOUSE, GAUNTLET, SECOND_GENERATION]
    assert data["vaults"][0] == {
        "address": STEAKHOUSE,
        "name": "Steakhouse USDC",
        "symbol": "steakUSDC",
        "chainId": 1,
        "chain": {"id": 1, "network": "Ethereum"},
        "version": "V1",
        "whitelisted": True,
    }
    for chain in ("avalanche", "bsc", "polygon", "optimism"):
        data = await result(faces, "getLendCVaults", chain=chain)
        assert (data["count"], data["vaults"]) == (0, [])
    by_product = await faces.ask("getMorphoVaults", {"chain": "base"})
    assert [vault["address"] for vault in by_product["result"]["data"]["vaults"]] == [BASE_STEAKHOUSE]


@pytest.mark.parametrize("is_text", [True, False])
async def test_figures_of_vaults_come_in_the_order_asked_each_once(faces: RunningGateway, is_text: bool) -> None:
    asked = [SECOND_GENERATION, STEAKHOUSE.lower(), known.ALICE, STEAKHOUSE, WETH_VAULT]
    answer = await faces.ask(
        "getLendCVaultData", {"chain": "ethereum", "vaults": ", ".join(asked) if is_text else asked}
    )
    data = answer["result"]["data"]
    assert (data["count"], [row["address"] for row in data["vaults"]]) == (2, [SECOND_GENERATION, STEAKHOUSE])
    second, first = data["vaults"]
    assert set(first) == {
        *("address", "name", "symbol", "chainId", "totalAssets", "totalAssetsUsd", "totalSupply", "fee"),
        *("apy", "netApy", "avgApy", "avgNetApy", "lastUpdated", "source", "basis", "blockHeight"),
    }
    assert (first["source"], first["basis"], first["blockHeight"]) == ("api", "spot", None)
    assert (second["totalAssets"], second["basis"]) == ("1012345678", "average")
    assert int(first["totalSupply"]) > 10**21


async def test_fifty_vaults_may_be_asked_for_and_no_more(faces: RunningGateway) -> None:
    many = [f"0x{number:040x}" for number in range(1, 50)]
    data = await result(faces, "getLendCVaultData", chain="ethereum", vaults=[*many, STEAKHOUSE])
    assert [row["address"] for row in data["vaults"]] == [STEAKHOUSE]
    for vaults in ([*many, STEAKHOUSE, GAUNTLET], ",".join([*many, STEAKHOUSE, GAUNTLET])):
        error = await refused(faces, "getLendCVaultData", chain="ethereum", vaults=vaults)
        assert (error["code"], error["data"]["field"]) == (400, "vaults")
        assert "50" in error["message"]


WRONG: list[tuple[str, dict[str, Any], int, str, str]] = [
    ("getYieldsLending", POOL | {"pool": NOBODYS}, 404, "pool", "no such pool of lend-c on ethereum"),
    ("getYieldsPrice", POOL | {"pool": known.ALICE}, 404, "pool", "no such pool"),
    ("getYieldsLending", POOL | {"chain": "avalanche"}, 404, "pool", "avalanche"),
    ("getYieldsLending", POOL | {"pool": "USDC"}, 400, "pool", "0x"),
    ("getYieldsLending", POOL | {"pool": STEAKHOUSE[:-1]}, 400, "pool", "0x"),
    ("getYieldsLending", POOL | {"pool": STEAKHOUSE.replace("B", "b")}, 400, "pool", "checksum"),
    ("getYieldsLending", POOL | {"pool": ""}, 400, "pool", "pool"),
    ("getYieldsLending", POOL | {"pool": 7}, 400, "pool", "pool"),
    ("getYieldsLending", {"chain": "ethereum", "protocol": "lend-c"}, 400, "pool", "pool"),
    ("getYieldsLending", POOL | {"chain": "gnosis"}, 400, "chain", "ethereum"),
    ("getYieldsLending", POOL | {"chain": "hyperliquid"}, 400, "chain", "ethereum, polygon"),
    ("getYieldsLending", POOL | {"chain": "nowhere"}, 404, "chain", "nowhere"),
    ("getYieldsVaults", POOL, 400, "protocol", "vault-a"),
    ("getYieldsBalance", POOL, 400, "address", "address"),
    ("getYieldsBalance", POOL | {"address": "vitalik"}, 400, "address", "0x"),
    ("getLendCVaults", {}, 400, "chain", "chain"),
    ("getLendCVaults", {"chain": "gnosis"}, 400, "chain", "ethereum"),
    ("getLendCVaults", {"chain": "ethereum", "page": 2}, 400, "page", "page"),
    ("getLendCVaultData", {"chain": "ethereum"}, 400, "vaults", "vaults"),
    ("getLendCVaultData", {"chain": "ethereum", "vaults": []}, 400, "vaults", "vaults"),
    ("getLendCVaultData", {"chain": "ethereum", "vaults": ""}, 400, "vaults", "vaults"),
    ("getLendCVaultData", {"chain": "ethereum", "vaults": f"{STEAKHOUSE},"}, 400, "vaults", "vaults"),
    ("getLendCVaultData", {"chain": "ethereum", "vaults": [STEAKHOUSE, "USDC"]}, 400, "vaults", "0x"),
    ("getLendCVaultData", {"chain": "ethereum", "vaults": {"a": 1}}, 400, "vaults", "vaults"),
]


@pytest.mark.parametrize(
    ("method", "params", "code", "field", "words"), WRONG, ids=lambda value: json.dumps(value) if value else "-"
)
async def test_wrong_input_is_refused_by_its_parameter(
    faces: RunningGateway, method: str, params: dict[str, Any], code: int, field: str, words: str
) -> None:
    error = await refused(faces, method, **params)
    assert (error["code"], error["data"].get("field", "").partition("[")[0]) == (code, field), error
    assert words in error["message"]
