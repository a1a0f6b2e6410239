"""getYieldsBest where sources hang: each costs its own rows, and the answer comes in time."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import yield_protocol_pb2

from devnet.offchain import beefy, kong, pendle
from runtime.operations import load_operations
from server.protocols import best_yields
from tests.e2e.gateway import RunningGateway, run_gateway_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

BEST = next(operation for operation in load_operations() if operation.name == "getYieldsBest")
CHAINS = ("ethereum", "arbitrum", "polygon")
READ_SECONDS = 4.0
"""In place of the 18.5 s that sources have: the stand-ins that hang take 30."""

ALONE = "what hangs is waited for, and the others have to be done by then"


@asynccontextmanager
async def hanging_node() -> AsyncIterator[str]:
    """Listen as a node that takes every request and answers none."""
    writers: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while await reader.read(65_536):
            pass

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            writer.close()


@asynccontextmanager
async def gateway(
    devnet: Devnet, folder: Path, *, hangs: dict[str, Any] | None = None, nodes: dict[str, str] | None = None
) -> AsyncIterator[RunningGateway]:
    """Run a gateway some of whose sources are others: APIs as settings, nodes by chain."""
    settings = devnet.settings_overrides()
    chains = {slug: settings["chains"][slug] for slug in CHAINS}
    for slug, url in (nodes or {}).items():
        chains[slug] = {"endpoints": [{"label": "hangs", "url": url}]}
    async with run_gateway_on(chains, folder, sources=settings["sources"] | (hangs or {})) as running:
        yield running


async def timed(running: RunningGateway) -> tuple[dict[str, Any], float]:
    began = time.monotonic()
    answer = await running.ask("getYieldsBest", {"limit": 1000})
    assert "result" in answer, answer
    data: dict[str, Any] = answer["result"]["data"]
    return data, time.monotonic() - began


def missing(data: dict[str, Any]) -> set[tuple[str, str]]:
    return {(row["protocol"], row["chain"]) for row in data["unavailable"] if row["chain"] in CHAINS}


def there(data: dict[str, Any]) -> set[tuple[str, str]]:
    return {(row["protocol"], row["chain"]) for row in data["results"] if row["chain"] in CHAINS}


@pytest.mark.alone(ALONE)
@pytest.mark.parametrize(("module", "protocol"), [(beefy, "vault-a"), (kong, "vault-b"), (pendle, "yield-a")])
async def test_an_api_that_hangs_costs_its_own_rows(
    devnet: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, protocol: str
) -> None:
    monkeypatch.setattr(best_yields, "_READ_SECONDS", READ_SECONDS)
    (tmp_path / "whole").mkdir()
    async with gateway(devnet, tmp_path / "whole") as running:
        whole, _ = await timed(running)
    assert missing(whole) == set()
    async with gateway(devnet, tmp_path, hangs=module.settings(devnet.offchain.authority, "slow")) as running:
        data, seconds = await timed(running)
        assert missing(data) == {one for one in there(whole) if one[0] == protocol}
        assert there(data) == {one for one in there(whole) if one[0] != protocol}
        assert seconds < READ_SECONDS + 1.5
        reasons = {row["reason"] for row in data["unavailable"] if row["protocol"] == protocol}
        assert reasons <= {"DEADLINE_EXCEEDED", "UPSTREAM_UNAVAILABLE"}
        _, again = await timed(running)
        assert again < 1.0, "what came is kept"


@pytest.mark.alone(ALONE)
async def test_a_node_that_hangs_costs_what_is_read_on_its_chain(
    devnet: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_yields, "_READ_SECONDS", READ_SECONDS)
    async with hanging_node() as url, gateway(devnet, tmp_path, nodes={"polygon": url}) as running:
        data, seconds = await timed(running)
    assert {chain for _, chain in missing(data)} == {"polygon"}
    assert {"lend-a", "lend-b"} <= {protocol for protocol, _ in missing(data)}
    assert {("lend-a", "ethereum"), ("lend-b", "arbitrum")} <= there(data)
    assert ("vault-a", "polygon") not in missing(data), "its rates are on no chain"
    assert seconds < READ_SECONDS + 1.5


@pytest.mark.alone(ALONE)
async def test_a_caller_whose_deadline_comes_first_gets_what_came(devnet: Devnet, tmp_path: Path) -> None:
    async with gateway(devnet, tmp_path, hangs=beefy.settings(devnet.offchain.authority, "slow")) as running:
        call = running.channel.unary_unary(
            BEST.path,
            request_serializer=BEST.request.SerializeToString,
            response_deserializer=BEST.response.FromString,
        )
        answer = await call(BEST.request(limit=1000), metadata=(("x-api-key", "local"),), timeout=6)
    found = {(row.protocol, row.chain) for row in answer.results}
    assert (yield_protocol_pb2.YIELD_PROTOCOL_LEND_A, "ethereum") in found
    late = {row.protocol for row in answer.unavailable if row.chain == "ethereum"}
    assert late == {yield_protocol_pb2.YIELD_PROTOCOL_VAULT_A}
    assert found.isdisjoint((row.protocol, row.chain) for row in answer.unavailable)


@pytest.mark.alone(ALONE)
async def test_a_hundred_callers_wait_for_one_build(
    devnet: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_yields, "_READ_SECONDS", READ_SECONDS)
    builds = 0
    run = best_yields.BestYields._run

    async def counted(self: best_yields.BestYields) -> Any:
        nonlocal builds
        builds += 1
        return await run(self)

    monkeypatch.setattr(best_yields.BestYields, "_run", counted)
    async with gateway(devnet, tmp_path, hangs=beefy.settings(devnet.offchain.authority, "slow")) as running:
        answers = await asyncio.gather(*(timed(running) for _ in range(100)))
    assert builds == 1
    assert max(seconds for _, seconds in answers) < READ_SECONDS + 4
