"""vault-a and vault-b on the local chains: what stands where, and that the stand-ins of their APIs say the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import aiohttp
import pytest

from devnet import known
from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.known_vaults import BEEFY, IMPOSTOR, YEARN, YEARN_APR_ORACLE, YEARN_V2_REGISTRIES, YEARN_V3_REGISTRY
from devnet.offchain import beefy, kong
from devnet.offchain.modes import MODES
from devnet.offchain.vault_figures import growth, moment, net_apy
from server.catalog.protocols import load_address_book
from tests.e2e.devnet_reads import read

if TYPE_CHECKING:
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

CHAINS = ("ethereum", "arbitrum", "polygon")


async def test_registries_and_oracle_stand_where_the_address_book_says(devnet: Devnet) -> None:
    contracts = load_address_book().protocols["yearn"].contracts["ethereum"]
    assert contracts["v3Registry"].address == YEARN_V3_REGISTRY
    assert contracts["v2Registry"].address == YEARN_V2_REGISTRIES["ethereum"]
    assert contracts["aprOracle"].address == YEARN_APR_ORACLE
    for vault in YEARN:
        node = devnet.nodes[vault.chain]
        assert await read(node, vault.address, "apiVersion()", [], "string") == vault.version
        endorsed = await read(node, YEARN_V3_REGISTRY, "isEndorsed(address)", [vault.address], "bool")
        assert endorsed is (vault.is_v3 and vault.is_endorsed)


async def test_a_vault_grows_as_its_apis_stand_in_says(devnet: Devnet) -> None:
    """By the same formula: the oldest readable block against the newest, and what lies in a vault in all."""
    for vault in YEARN:
        if vault.address == IMPOSTOR:
            continue  # grows so fast that the seconds count which building it took
        node, chain = devnet.nodes[vault.chain], load_world()[vault.chain]
        prices, times = [], []
        for number in (chain.height + 1, int(await node.call("eth_blockNumber"), 16)):
            times.append(int((await node.call("eth_getBlockByNumber", hex(number), False))["timestamp"], 16))
            total, supply = [
                await read(node, vault.address, function, [], "uint256", number)
                for function in ("totalAssets()", "totalSupply()")
            ]
            prices.append(total / supply)
        expected = growth(vault.percent, times[1]) / growth(vault.percent, times[0])
        assert prices[1] / prices[0] == pytest.approx(expected, rel=1e-6), vault.symbol
        if vault.is_listed:
            [row] = [one for one in kong.listed(vault.chain) if one["address"] == vault.address]
            assert row["pricePerShare"] == pytest.approx(prices[1], rel=1e-4)
            net = row["performance"]["historical"]["net"]
            assert net is None or net == pytest.approx(net_apy(vault.percent, moment()), rel=1e-9)


async def test_wallets_have_what_is_said_in_vaults_of_every_kind(devnet: Devnet) -> None:
    for vault in BEEFY:
        if vault.chain not in CHAINS:
            continue
        node, chain = devnet.nodes[vault.chain], load_world()[vault.chain]
        is_plain = vault.kind in ("standard", "erc4626")
        unit = 10 ** (token_of(chain, vault.wants[0]).decimals if is_plain else 18)
        for holder, millionths in vault.supplied.items():
            if holder in (known.ALICE, known.BOB, known.VITALIK):
                shares = await read(node, vault.address, "balanceOf(address)", [holder], "uint256")
                assert shares == millionths * unit // 10**6
        listed = next(row for row in beefy.vaults() if row["id"] == vault.id)
        assert listed["earnContractAddress"] == vault.address


async def test_the_stand_ins_answer_over_http_and_misbehave_on_request(devnet: Devnet) -> None:
    base = f"http://{devnet.offchain.authority}"
    async with aiohttp.ClientSession() as http:
        for path in (
            "/beefy/vaults/all",
            "/beefy/apy",
            "/beefy/tvl",
            "/beefy/lps",
            "/beefy/prices",
            "/kong/list/vaults/1",
        ):
            async with http.get(base + path) as answer:
                assert answer.status == 200
                plain, tag = await answer.read(), answer.headers.get("ETag")
            if tag is not None:
                async with http.get(base + path, headers={"If-None-Match": tag}) as answer:
                    assert (answer.status, await answer.read()) == (304, b"")
            root, rest = path.split("/", 2)[1:]
            found = {}
            for mode in MODES:
                if mode != "slow":
                    async with http.get(f"{base}/{root}/{mode}/{rest}") as answer:
                        found[mode] = (answer.status, await answer.read())
            assert found["limited"][0] == 429
            assert found["half"] == (200, plain[: len(plain) // 2])
            assert found["renamed"][0] == 200
            assert found["renamed"][1] != plain
        async with http.get(base + "/kong/list/vaults/10") as answer:
            assert answer.status == 404


def test_figures_stay_the_same_for_a_quarter_of_an_hour() -> None:
    now = time.time() // 900 * 900
    assert beefy.values(now) == beefy.values(now + 899) != beefy.values(now + 900)
