"""getYieldsBest over both faces, its sources scripted: what is answered, what is kept, what fails."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import yield_pb2, yield_protocol_pb2

from runtime.exposition import render_metrics
from server.errors import UpstreamUnavailable
from server.protocols.plan import Plan
from server.protocols.reader import ProtocolEntry
from server.protocols.yields import BestRow, PoolForm, YieldEntry
from server.rpc import registration
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.server.rpc.yields_table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from server.protocols.reader import ChainQuestion

pytestmark = pytest.mark.slow

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
BEST = OPERATIONS["getYieldsBest"]
LEND_A, VAULT_A, STAKE_A = (
    yield_protocol_pb2.YIELD_PROTOCOL_LEND_A,
    yield_protocol_pb2.YIELD_PROTOCOL_VAULT_A,
    yield_protocol_pb2.YIELD_PROTOCOL_STAKE_A,
)


@dataclass
class Scripted:
    """All pools of a protocol: rows by chain, or a failure."""

    answers: dict[str, Any]
    asked: Counter[str] = field(default_factory=Counter)

    def __hash__(self) -> int:
        return id(self)

    def subject(self, question: ChainQuestion) -> Any:
        return id(self), question.chain

    def load(self, question: ChainQuestion, outcomes: Any) -> None:
        return None

    def plan(self, question: ChainQuestion, tables: Any) -> Plan:
        return Plan()

    def build(self, question: ChainQuestion, outcomes: Any, tables: Any, prices: Any) -> Sequence[BestRow]:
        self.asked[question.chain] += 1
        answer = self.answers[question.chain]
        if isinstance(answer, Exception):
            raise answer
        return [row(*of_row) for of_row in answer]


def row(pool: str, apy: float, tvl: float | None, *symbols: str) -> BestRow:
    message = yield_pb2.BestYield(pool=pool, apy=apy, tvl=tvl, block_height=7 if pool.startswith("b") else None)
    message.updated_at.FromDatetime(NOON)
    return BestRow(message, symbols)


def entry(protocol: int, kind: str, reader: Scripted) -> ProtocolEntry:
    of_yields = YieldEntry(
        protocol,
        tuple(reader.answers),
        PoolForm.VAULT_ID,
        yield_protocol_pb2.YieldType.Value(f"YIELD_TYPE_{kind}"),
        {},
        best=reader,
    )
    return ProtocolEntry(f"scripted-{protocol}", {}, yields=of_yields)


@asynccontextmanager
async def gateway(patch: pytest.MonkeyPatch, folder: Path, *protocols: ProtocolEntry) -> AsyncIterator[RunningGateway]:
    """Run a gateway whose only protocols are these."""
    patch.setattr(registration, "PROTOCOLS", protocols)
    async with run_gateway_on({}, folder) as running:
        yield running


def three() -> tuple[Scripted, Scripted, Scripted]:
    return (
        Scripted(
            {
                "base": [("b-usdc", 4.5, 2e6, "USDC"), ("b-eth", 2.0, None, "WETH")],
                "polygon": [("USDC.e", 4.5, 3e6, "USDC.e"), ("huge", 1000.5, 1.0, "USDC")],
            }
        ),
        Scripted({"base": [("pair", 12.25, 5e5, "WETH", "USDC"), ("none", math.nan, 1.0, "USDC")]}),
        Scripted({"ethereum": [("stETH", 3.1, 2e10, "stETH", "ETH")]}),
    )


def entries(readers: tuple[Scripted, Scripted, Scripted]) -> tuple[ProtocolEntry, ...]:
    lending, vaults, staking = readers
    return entry(LEND_A, "LENDING", lending), entry(VAULT_A, "VAULT", vaults), entry(STAKE_A, "STAKING", staking)


async def pools(running: RunningGateway, **params: Any) -> list[str]:
    """Return the pools that both faces answer, which must be the same."""
    answer = await running.ask("getYieldsBest", params)
    assert "result" in answer, answer
    listed = [one["pool"] for one in answer["result"]["data"]["results"]]
    request: Any = BEST.request(token=params.get("token"), min_tvl=params.get("minTvl"), limit=params.get("limit"))
    if "type" in params:
        request.type = yield_protocol_pb2.YieldType.Value(f"YIELD_TYPE_{params['type'].upper()}")
    message: Any = await running.ask_grpc(BEST, request)
    assert [one.pool for one in message.results] == listed
    return listed


async def test_the_answer_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = three()
    readers[0].answers["polygon"] = UpstreamUnavailable("polygon does not answer")
    async with gateway(monkeypatch, tmp_path, *entries(readers)) as running:
        answer = await running.ask("getYieldsBest", {"limit": 2})
    at = "2026-11-01T12:00:00Z"
    assert answer["result"]["data"] == {
        "results": [
            {
                "chain": "base",
                "protocol": "vault-a",
                "type": "vault",
                "pool": "pair",
                "apy": 12.25,
                "tvl": 5e5,
                "updatedAt": at,
                "symbol": "WETH-USDC",
                "blockHeight": None,
            },
            {
                "chain": "base",
                "protocol": "lend-a",
                "type": "lending",
                "pool": "b-usdc",
                "apy": 4.5,
                "tvl": 2e6,
                "updatedAt": at,
                "symbol": "USDC",
                "blockHeight": 7,
            },
        ],
        "unavailable": [
            {
                "protocol": "lend-a",
                "chain": "polygon",
                "code": 503,
                "reason": "UPSTREAM_UNAVAILABLE",
                "message": "polygon does not answer",
            }
        ],
    }


async def test_filters_over_both_faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = three()
    async with gateway(monkeypatch, tmp_path, *entries(readers)) as running:
        assert await pools(running) == ["pair", "USDC.e", "b-usdc", "stETH", "b-eth"]
        assert await pools(running, token="usdc") == ["pair", "b-usdc"]
        assert await pools(running, token="usdc.E") == ["USDC.e"]
        assert await pools(running, token="USD") == []
        assert await pools(running, minTvl=0) == ["pair", "USDC.e", "b-usdc", "stETH"]
        assert await pools(running, minTvl=2_000_000) == ["USDC.e", "b-usdc", "stETH"]
        assert await pools(running, type="lending", limit=1) == ["USDC.e"]
        assert await pools(running, type="vault", token="weth", minTvl=1) == ["pair"]
        assert await pools(running, type="staking") == ["stETH"]
        assert await pools(running, token="ETH", type="staking", minTvl=1e11) == []
    assert [reader.asked.total() for reader in readers] == [2, 1, 1], "one build"
    metrics = render_metrics()
    for protocol, chain, why in (("lend-a", "polygon", "too_high"), ("vault-a", "base", "no_rate")):
        series = f'waypost_yields_left_out_total{{chain="{chain}",protocol="{protocol}",reason="{why}"}}'
        assert series.encode() in metrics


async def test_a_hundred_callers_at_once_are_one_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = three()
    async with gateway(monkeypatch, tmp_path, *entries(readers)) as running:
        asked = [running.ask("getYieldsBest", {"limit": 1 + number % 5}) for number in range(50)]
        asked_grpc = [running.ask_grpc(BEST, BEST.request()) for _ in range(50)]
        answers = await asyncio.gather(*asked, *asked_grpc)
    assert all("result" in answer for answer in answers[:50])
    assert [reader.asked.total() for reader in readers] == [2, 1, 1]


async def test_callers_see_whether_they_waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "getYieldsBest", "params": {}}
    async with gateway(monkeypatch, tmp_path, *entries(three())) as running:
        cold = await running.post(request)
        warm = await running.post(request)
        fresh = await running.post(request, headers={"Cache-Control": "no-cache"})
    headers = [response.headers["X-Waypost-Cache"] for response in (cold, warm, fresh)]
    assert headers == ["miss", "hit", "hit"]
    assert await cold.json() == await warm.json()


async def test_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Scripted({chain: UpstreamUnavailable(f"{chain} does not answer") for chain in ("base", "polygon")})
    async with gateway(monkeypatch, tmp_path, entry(LEND_A, "LENDING", failing)) as running:
        response = await running.post({"jsonrpc": "2.0", "id": 1, "method": "getYieldsBest", "params": {}})
        error = (await response.json())["error"]
        assert (response.status, error["code"], error["data"]["reason"]) == (503, 503, "UPSTREAM_UNAVAILABLE")
        assert "lend-a on base: base does not answer" in error["message"]
        assert 0 < error["data"]["retryAfterMs"] <= 5000
        for _ in range(3):
            await running.ask("getYieldsBest", {})
    assert failing.asked.total() == 2


async def test_a_type_of_which_all_failed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = three()
    readers[2].answers["ethereum"] = UpstreamUnavailable("ethereum does not answer")
    async with gateway(monkeypatch, tmp_path, *entries(readers)) as running:
        assert "stETH" not in await pools(running)
        answer = await running.ask("getYieldsBest", {"type": "staking"})
        assert answer["error"]["code"] == 503
        lending = await running.ask("getYieldsBest", {"type": "lending"})
        assert lending["result"]["data"]["unavailable"] == []
