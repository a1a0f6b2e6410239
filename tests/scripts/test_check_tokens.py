"""The catalogue compared with local chains: what is there agrees, what is not there is reported, what lies is found."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from devnet import known_cosmos
from devnet.evm.world import load_world
from runtime.settings import Settings
from scripts.check_tokens import ask, check_tokens, main, report
from server.catalog.tokens import NATIVE, TokenCatalogue, load_tokens
from server.chains.registry import Chains
from server.upstream import open_session

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

CATALOGUE = load_tokens()
WORLD = load_world()


@pytest.mark.parametrize("slug", ["ethereum", "gnosis", "moonbeam"])
async def test_every_token_that_stands_on_the_chain_agrees_and_the_others_are_missing(full_devnet: Devnet, slug: str):
    verdicts = await ask(Settings.model_validate(full_devnet.settings_overrides()), slug)
    reported = {one.deployment.address: one.verdict for one in verdicts}
    listed = [address for address in CATALOGUE.on_chain(slug) if address != NATIVE]
    codes = await full_devnet.nodes[slug].calls([("eth_getCode", [address, "latest"]) for address in listed])
    assert reported == {
        address: "missing" if code == "0x" else "agrees" for address, code in zip(listed, codes, strict=True)
    }
    assert {token.address for token in WORLD[slug].tokens} <= {
        key for key, verdict in reported.items() if verdict == "agrees"
    }


@pytest.mark.parametrize(
    ("slug", "agreeing"),
    [
        ("solana", {"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "So11111111111111111111111111111111111111112"}),
        ("osmosis", {"uosmo"}),
    ],
)
async def test_other_families(full_devnet: Devnet, slug: str, agreeing: set[str]):
    verdicts = await ask(Settings.model_validate(full_devnet.settings_overrides()), slug)
    assert {one.deployment.address for one in verdicts if one.verdict == "agrees"} == agreeing
    assert {one.verdict for one in verdicts} == {"agrees", "missing"}
    assert known_cosmos.IBC_DENOM not in agreeing


async def test_what_the_list_says_wrong_is_found(full_devnet: Devnet):
    usdc, dai = CATALOGUE.by_symbol["USDC"], CATALOGUE.by_symbol["DAI"]
    wrong = [
        replace(usdc, deployments=tuple(replace(row, decimals=18) for row in usdc.deployments)),
        replace(dai, deployments=tuple(replace(row, symbol="SAI") for row in dai.deployments)),
    ]
    catalogue = TokenCatalogue([*(token for token in CATALOGUE if token not in (usdc, dai)), *wrong])
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(full_devnet.settings_overrides()), http)
        verdicts = await check_tokens(chains.get("ethereum"), catalogue)
        await chains.close()
    words = {one.deployment.symbol: one.words for one in verdicts if one.verdict == "differs"}
    assert words == {"USDC": "decimals are 6, listed 18", "SAI": "symbol is 'DAI', listed 'SAI'"}
    lines = report("ethereum", verdicts)
    assert any(line.startswith("differs  SAI        0x6B17") for line in lines)
    assert ", 2 differ, " in lines[-1]


async def test_nodes_that_do_not_answer_are_no_differences(full_devnet: Devnet):
    settings = full_devnet.settings_overrides() | {"chains": {}}
    verdicts = await ask(Settings.model_validate(settings), "gnosis")
    assert {one.verdict for one in verdicts} == {"unread"}
    assert all(one.words.startswith("UPSTREAM_UNAVAILABLE: ") for one in verdicts)


async def test_the_command_tells_by_its_exit_code(
    full_devnet: Devnet, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("WAYPOST_CONFIG", raising=False)
    config = tmp_path / "waypost.toml"
    full_devnet.write_config(config)
    assert await asyncio.to_thread(main, ["--chain", "noble", "--config", str(config)]) == 1
    assert await asyncio.to_thread(main, ["--chain", "bitcoin", "--config", str(config)]) == 1
    assert await asyncio.to_thread(main, ["--chain", "agoric", "--config", str(config)]) == 0
    assert await asyncio.to_thread(main, ["--chain", "etherum", "--config", str(config)]) == 1
    reported = capsys.readouterr()
    assert "agoric: 1 tokens, 1 agree, 0 differ, 0 missing, 0 not read" in reported.out
    assert "did you mean `ethereum`" in reported.err
