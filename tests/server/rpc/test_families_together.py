"""Chains of all families in one call: each row is its own family's, and rows that fail do so alone and visibly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet import evm, known_bitcoin, known_cosmos, known_solana
from devnet.cosmos.world import CHAINS
from devnet.local_chain import FAMILIES
from devnet.status import describe
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
PAGES = Path(__file__).parents[3] / "docs" / "chains"


async def rows(faces: RunningGateway, method: str, params: Any) -> list[dict[str, Any]]:
    found = await faces.ask(method, params)
    assert "error" not in found, found
    data = found["result"]["data"]
    assert data["count"] == len(data["results"])
    listed: list[dict[str, Any]] = data["results"]
    return listed


async def test_blocks_of_all_families_in_one_call(faces: RunningGateway) -> None:
    items = [
        {"chain": "bitcoin", "block": known_bitcoin.PAYMENTS},
        {"chain": "solana", "block": known_solana.SKIPPED[0]},
        {"chain": "solana", "block": known_solana.FIRST_SLOT + 1},
        {"chain": "cosmoshub", "block": 5},
        {"chain": "cosmoshub", "block": HUB.first + 1},
        {"chain": "ethereum", "block": 10**9},
        {"chain": "ethereum", "block": 26050010},
    ]
    found = await rows(faces, "getBlockByNumber", items)
    assert [(row["chain"], row["height"]) for row in found] == [(item["chain"], str(item["block"])) for item in items]
    reasons = [row["error"]["reason"] if "error" in row else None for row in found]
    assert reasons == [None, "NOT_FOUND", None, "ARCHIVE_REQUIRED", None, "NOT_FOUND", None]
    for row in found:
        assert ("error" in row) != ("block" in row)
        if "block" in row:
            assert row["block"]["number"] == row["height"]
    assert [row["error"]["code"] for row in found if "error" in row] == [404, 400, 404]
    written = ",".join(f"{item['chain']}:{item['block']}" for item in items)
    again = await rows(faces, "getBlockByNumber", {"items": written})
    assert [row.get("error") for row in again] == [row.get("error") for row in found]
    hashes = [{"chain": row["chain"], "hash": row["block"]["hash"]} for row in found if "block" in row]
    named = await rows(faces, "getBlockByHash", [one for one in hashes if one["chain"] != "solana"])
    assert [row["block"]["number"] for row in named] == [str(items[place]["block"]) for place in (0, 4, 6)]


async def test_transactions_of_all_families_in_one_call(faces: RunningGateway) -> None:
    asked = {"chain": "cosmoshub", "blockNumber": HUB.first + known_cosmos.SENT_AT}
    listed = (await faces.ask("getBlockTransactions", asked))["result"]["data"]["transactions"]
    items = [
        {"chain": "solana", "hash": known_solana.VERSIONED},
        {"chain": "cosmoshub", "hash": listed[0]["txhash"]},
        {"chain": "cosmoshub", "hash": "ab" * 32},
        {"chain": "starknet", "hash": "0xabc"},
        {"chain": "ethereum", "hash": "0x" + "ab" * 32},
    ]
    found = await rows(faces, "getTransactionByHash", items)
    assert [(row["chain"], row["hash"]) for row in found] == [(item["chain"], item["hash"]) for item in items]
    assert ["transaction" in row for row in found] == [True, True, False, False, False]
    assert [row["error"]["code"] for row in found[2:]] == [404, 503, 404]
    ends = found[0]["transaction"]
    assert (ends["from"], ends["to"]) == (str(known_solana.BANK), str(known_solana.BOB))
    # A family without the operation is the caller's mistake, and refuses the whole call.
    error = (await faces.ask("getTransactionByHash", [*items, {"chain": "bitcoin", "hash": "ab" * 32}]))["error"]
    assert (error["code"], error["data"]["reason"]) == (400, "CHAIN_UNSUPPORTED")
    assert error["data"]["field"] == f"params[{len(items)}].chain"


async def test_health_tells_of_every_chain(faces: RunningGateway) -> None:
    reported = (await faces.ask("getHealth", {}))["result"]["data"]["chains"]
    named = [slug for slugs in reported.values() for slug in slugs]
    assert sorted(named) == sorted(load_facts())
    assert len(named) == 24


async def test_the_status_says_what_each_chain_is(full_devnet: Devnet) -> None:
    nodes: list[dict[str, object]] = [
        {"chain": slug, "url": endpoints[0].url, "pid": "0"} for slug, endpoints in full_devnet.kinds.items()
    ]
    table = [line.split() for line in (await describe(nodes)).splitlines()]
    said = {line[0]: line[1] for line in table if line and line[0] in full_devnet.kinds}
    words = {slug: family.word for family in FAMILIES for slug in family.chains}
    assert said == {slug: words.get(slug, evm.WORD) for slug in full_devnet.kinds}
    assert (said["bitcoin"], said["solana"], said["noble"]) == ("node", "engine", "model")


@pytest.mark.parametrize(
    ("page", "word"), [("bitcoin", "node"), ("solana", "engine"), ("cosmos", "model"), ("starknet", "engine")]
)
def test_the_page_of_each_family_says_what_its_local_chain_is(page: str, word: str) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    local = text[text.index("## The local chain") :]
    assert f"**{word}**" in local
