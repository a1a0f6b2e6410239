"""Every row of getYieldsBest on the local chains: its pool goes unchanged into the other operations and is the same."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.rpc.yields_table import COMPARED_ALONE, NOT_COMPARED, TABLE, TAKES

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
CLOSE = 1e-6
DRIFTS = {"lend-c": 0.01}
"""Where the rate is the API's here and the chain's there: it moves by the second, and is computed in another way."""


@pytest.fixture(scope="module")
async def best(faces: RunningGateway) -> dict[str, Any]:
    answer = await faces.ask("getYieldsBest", {"limit": 1000})
    assert "result" in answer, answer
    data: dict[str, Any] = answer["result"]["data"]
    return data


async def test_every_protocol_of_every_chain_is_there(best: dict[str, Any]) -> None:
    assert best["unavailable"] == []
    found = Counter((row["protocol"], row["chain"]) for row in best["results"])
    protocols = {protocol for protocol, _ in found}
    assert protocols == (TABLE.keys() - NOT_COMPARED) | COMPARED_ALONE.keys()
    for protocol, chain in found:
        chains = COMPARED_ALONE[protocol] if protocol in COMPARED_ALONE else TABLE[protocol].chains
        assert chain in chains


async def test_the_rows_stand_in_order(best: dict[str, Any]) -> None:
    rows = best["results"]
    order = [(-row["apy"], math.inf if row["tvl"] is None else -row["tvl"]) for row in rows]
    assert order == sorted(order)
    assert all(math.isfinite(row["apy"]) and row["apy"] <= 1000 for row in rows)
    assert len({(row["chain"], row["protocol"], row["pool"]) for row in rows}) == len(rows)
    assert all(row["symbol"] and row["updatedAt"] for row in rows)


async def test_every_pool_works_in_the_operation_of_its_own(faces: RunningGateway, best: dict[str, Any]) -> None:
    for row in best["results"]:
        if row["protocol"] in COMPARED_ALONE:
            continue
        pool = {member: row[member] for member in ("chain", "protocol", "pool")}
        name, rate = ("getYieldsLending", "supplyApy") if row["type"] == "lending" else ("getYieldsVaults", "apy")
        answer = await faces.ask(name, pool)
        assert "result" in answer, (row, answer)
        [own] = answer["result"]["data"]["results"]
        assert {member: own[member] for member in pool} == pool
        close = DRIFTS.get(row["protocol"], CLOSE)
        assert own[rate] == pytest.approx(row["apy"], rel=close, abs=1e-9), (row, own)
        # Sizes may be of two sources: the product's list here, the chain and a price there.
        if row["tvl"] is not None and own["tvl"] is not None:
            assert own["tvl"] == pytest.approx(row["tvl"], rel=0.01, abs=1e-6), (row, own)


async def test_every_pool_works_in_the_other_operations(faces: RunningGateway, best: dict[str, Any]) -> None:
    for row in best["results"]:
        pool = {member: row[member] for member in ("chain", "protocol", "pool")}
        if row["protocol"] in TAKES["getYieldsBalance"]:
            answer = await faces.ask("getYieldsBalance", pool | {"address": WALLET})
            assert "result" in answer, (row, answer)
            [held] = answer["result"]["data"]["results"]
            assert "USD" in held["balance"], held
            assert len(held["balance"]) >= 2, held
        if row["protocol"] in TAKES["getYieldsPrice"]:
            answer = await faces.ask("getYieldsPrice", pool)
            if "error" in answer:
                assert answer["error"]["data"]["reason"] == "PRICE_UNAVAILABLE", (row, answer)
            else:
                assert answer["result"]["data"]["results"][0]["price"]["USD"] > 0, (row, answer)


async def test_the_symbols_of_a_row_find_it(faces: RunningGateway, best: dict[str, Any]) -> None:
    for symbol in {row["symbol"] for row in best["results"]}:
        wanted = {(row["chain"], row["protocol"], row["pool"]) for row in best["results"] if row["symbol"] == symbol}
        found = set()
        for part in {symbol, *symbol.split("-")}:
            answer = await faces.ask("getYieldsBest", {"token": part.swapcase(), "limit": 1000})
            found |= {(row["chain"], row["protocol"], row["pool"]) for row in answer["result"]["data"]["results"]}
        assert wanted <= found, symbol
