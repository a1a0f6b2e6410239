"""vault-d and tokenized-a where something fails: a node, the past of the chain, the database, a contract."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.calls import encode_call
from devnet.known_funds import DAY, HB_USDT, LST_HYPE, SHARE_VAULT
from devnet.launcher import Devnet
from devnet.ports import free_port
from server.errors import GatewayError, UpstreamUnavailable
from server.protocols.midas.reader import load_funds
from server.protocols.plan import ContractUnreadable
from tests.faults.families.relay import relay
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import YEAR, ask, mine_at, now, send
from tests.server.protocols.fund_site import open_site
from tests.server.yields.away import Away

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.faults.families.relay import Answer, Ask

pytestmark = pytest.mark.devnet

STORE = "store_round(uint80,int256,uint256)"
ROUND = "uint80,int256,uint256,uint256,uint80"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def two_chains() -> AsyncIterator[Devnet]:
    async with Devnet.start(("ethereum", "hyperliquid"), mines=False) as running:
        yield running


def over(devnet: Devnet, chain: str, *urls: str) -> dict[str, Any]:
    """Return the local chains with one's endpoints replaced, in this order."""
    tables = {slug: dict(table) for slug, table in devnet.settings_overrides()["chains"].items()}
    tables[chain]["endpoints"] = [
        {"label": f"node-{number}", "url": url, "kind": "jsonrpc"} for number, url in enumerate(urls)
    ]
    return tables


async def test_nothing_is_read_of_the_past_and_blocks_may_pass(two_chains: Devnet, tmp_path: Path) -> None:
    """Every call is for the latest block, another one each time: an hourly feed takes three reads all the same."""
    node, blocks = two_chains.nodes["hyperliquid"], list[Any]()

    async def moves_on(asked: Ask) -> Answer:
        calls = [call for call in asked.calls if call["method"] == "eth_call"]
        blocks.extend(call["params"][1] for call in calls)
        if calls:
            await node.call("evm_mine")
        return await asked.answer()

    async with rewound(node), aiohttp.ClientSession() as plain, relay(node.url, plain) as one:
        time = await now(node) + 60
        rounds = [(number, 10**8 + number, time - (312 - number) * 3600) for number in range(13, 313)]
        for start in range(0, len(rounds), 30):
            calls = [(HB_USDT.aggregator, encode_call(STORE, row)) for row in rounds[start : start + 30]]
            await send(node, known.DEVELOPER, known.MULTICALL3, "aggregate((address,bytes)[])", calls)
            await mine_at(node, time + start)
        async with open_site(over(two_chains, "hyperliquid", one.url), tmp_path) as site:
            one.fault = moves_on
            del blocks[:]
            with site.sends(*["hyperliquid"] * 3):
                row = await site.vault(HB_USDT.address)
            with site.sends("hyperliquid"):
                await site.vault(HB_USDT.address)
            await site.vault(SHARE_VAULT.address)
            await site.best()
    expected = math.expm1(math.log((10**8 + 312) / (10**8 + 312 - 168)) * YEAR / (7 * DAY)) * 100
    assert row.apy == pytest.approx(expected, rel=1e-9)
    assert blocks
    assert set(blocks) == {"latest"}


@pytest.mark.parametrize("chain", ["hyperliquid", "ethereum"])
async def test_a_dead_node_is_passed_over(two_chains: Devnet, tmp_path: Path, chain: str) -> None:
    dead, alive = f"http://127.0.0.1:{free_port()}", two_chains.nodes[chain].url
    async with open_site(two_chains.settings_overrides()["chains"], tmp_path) as site:
        wanted = await answers(site)
    async with open_site(over(two_chains, chain, alive, dead), tmp_path) as site:
        assert await answers(site) == wanted
    settings = over(two_chains, chain, alive)
    async with aiohttp.ClientSession() as plain, relay(alive, plain) as one:
        settings[chain]["endpoints"] = [{"label": "relay", "url": one.url, "kind": "jsonrpc"}]
        async with open_site(settings, tmp_path) as site:

            async def drops(asked: Ask) -> None:
                return None

            one.fault = drops
            with pytest.raises(UpstreamUnavailable):
                await (site.vault(HB_USDT.address) if chain == "hyperliquid" else site.price("mTBILL"))


async def answers(site: Any) -> list[Any]:
    return [
        await site.vault(HB_USDT.address),
        await site.vault(LST_HYPE.address),
        await site.vault(SHARE_VAULT.address),
        await site.balance(HB_USDT.address, known.VITALIK),
        await site.balance(SHARE_VAULT.address, known.BOB),
        await site.price("mTBILL"),
        await site.price("mBASIS"),
        await site.price("mBTC"),
    ]


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_database_that_is_away_costs_the_rate_of_eip_4626_alone(
    two_chains: Devnet, tmp_path: Path, hangs: bool
) -> None:
    endpoints = two_chains.settings_overrides()["chains"]
    async with open_site(endpoints, tmp_path) as site:
        wanted = await answers(site)
    async with open_site(endpoints, tmp_path, records=Away(hangs=hangs)) as site:
        async with asyncio.timeout(60):
            assert await answers(site) == wanted
            assert (await site.best()).keys() == {HB_USDT.address, LST_HYPE.address}
        row = await site.vault(SHARE_VAULT.address)
        assert not row.HasField("apy")
        assert row.tvl > 0


async def test_a_contract_that_is_gone_is_named_and_others_answer(two_chains: Devnet, tmp_path: Path) -> None:
    node, fund = two_chains.nodes["hyperliquid"], load_funds("ethereum")["mTBILL"]
    async with rewound(node), open_site(two_chains.settings_overrides()["chains"], tmp_path) as site:
        await node.call("anvil_setCode", HB_USDT.data_feed, "0x")
        with pytest.raises(ContractUnreadable, match=f"{HB_USDT.data_feed} on hyperliquid .* no contract is there"):
            await site.vault(HB_USDT.address)
        assert (await site.vault(LST_HYPE.address)).HasField("apy")
        assert (await site.best()).keys() == {LST_HYPE.address}
    node = two_chains.nodes["ethereum"]
    async with rewound(node), open_site(two_chains.settings_overrides()["chains"], tmp_path) as site:
        await node.call("anvil_setCode", fund.data_feed, "0xfe")
        with pytest.raises(ContractUnreadable, match=fund.data_feed):
            await site.price("mTBILL")
        assert (await site.price("mBTC")).price.usd > 0


async def test_reports_of_any_figure_never_make_a_wrong_rate(two_chains: Devnet, tmp_path: Path) -> None:
    """Gaps, zero, below zero, the largest number: the rate is of a sound report that is old enough, or null."""
    node = two_chains.nodes["hyperliquid"]
    async with rewound(node), open_site(two_chains.settings_overrides()["chains"], tmp_path) as site:
        last = (await ask(node, HB_USDT.aggregator, "latestRoundData()", types=ROUND))[3]
        for answer in (0, -(10**8), -(2**255), 2**255 - 1):
            # Round 5 is the one that is a week old.
            await send(node, known.DEVELOPER, HB_USDT.aggregator, STORE, 5, answer, last - 7 * DAY)
            await mine_at(node, await now(node) + 60)
            row = await site.vault(HB_USDT.address)
            before, days = (4, 8) if answer <= 0 else (5, 7)
            old = 104_120_000 + 30_000 * (before - 1) if answer <= 0 else answer
            expected = math.expm1(math.log(104_450_000 / old) * YEAR / (days * DAY)) * 100
            assert row.apy == pytest.approx(expected, rel=1e-9)


async def test_garbage_of_a_node_is_no_answer(two_chains: Devnet, tmp_path: Path) -> None:
    node = two_chains.nodes["hyperliquid"]

    async def lies(asked: Ask) -> Answer:
        reply = await asked.answer()
        rows = json.loads(reply.body)
        for row in rows if isinstance(rows, list) else [rows]:
            if "result" in row and isinstance(row["result"], str):
                row["result"] = row["result"][: len(row["result"]) // 2]
        return type(reply).of(rows)

    async with (
        aiohttp.ClientSession() as plain,
        relay(node.url, plain) as one,
        open_site(over(two_chains, "hyperliquid", one.url), tmp_path) as site,
    ):
        one.fault = lies
        with pytest.raises(GatewayError) as failed:
            await site.vault(HB_USDT.address)
        assert failed.value.reason in ("UPSTREAM_UNAVAILABLE", "UPSTREAM_DISAGREES")
