"""Sources fail, one by one and in pairs: which answers stay whole, which lose members, which become 503."""

from __future__ import annotations

import asyncio
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.rpc.yields_degraded import gateway_without, outcome, outcome_of_best, union
from tests.server.rpc.yields_degraded_answers import BEST, PAIRS, ROWS, SOURCES, best_without, table
from tests.server.rpc.yields_table import OPERATIONS, TAKES, YIELDS

if TYPE_CHECKING:
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

ROOT = Path(__file__).resolve().parents[3]
CASES = [(source,) for source in SOURCES] + list(combinations(SOURCES, 2))

Answers = dict[str, dict[str, Any]]


async def answers(
    devnet: Devnet, failing: tuple[str, ...], folder: Path, patch: pytest.MonkeyPatch
) -> tuple[Answers, dict[str, Any]]:
    """Return every answer of a gateway without these sources, and its comparison of all pools."""
    async with gateway_without(devnet, failing, folder, patch) as running:
        found = await asyncio.gather(*(running.ask(row.operation, row.params) for row in ROWS.values()))
        best = await running.ask("getYieldsBest", {"limit": 1000})
    return dict(zip(ROWS, found, strict=True)), best


@pytest.fixture(scope="module")
async def whole(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, dict[str, Any]]:
    """What all sources together answer."""
    with pytest.MonkeyPatch.context() as patch:
        found, best = await answers(full_devnet, (), tmp_path_factory.mktemp("whole"), patch)
    assert {name: answer for name, answer in found.items() if "error" in answer} == {}
    assert "result" in best
    return found, best


@pytest.mark.parametrize("failing", CASES, ids="+".join)
async def test_what_is_lost(
    full_devnet: Devnet,
    whole: tuple[Answers, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: tuple[str, ...],
) -> None:
    found, best = await answers(full_devnet, failing, tmp_path, monkeypatch)
    lost = {name: outcome(whole[0][name], answer) for name, answer in found.items()}
    assert lost == {name: expected(name, failing) for name in ROWS}
    assert outcome_of_best(whole[1], best) == best_without(*failing)
    said = str([*found.values(), best])
    assert "127.0.0.1" not in said, "no answer holds an endpoint's address"
    for name, answer in found.items():
        if "error" in answer:
            assert answer["error"]["data"]["reason"] in ("UPSTREAM_UNAVAILABLE", "PRICE_UNAVAILABLE"), (name, answer)
            assert answer["error"]["data"].get("retryAfterMs", 1) > 0, (name, answer)


def expected(name: str, failing: tuple[str, ...]) -> str:
    """Return what the table says of an answer."""
    loses = ROWS[name].loses
    if len(failing) == 1:
        return loses.get(failing[0], "")
    one, other = failing
    return PAIRS.get((name, one, other), union(loses.get(one, ""), loses.get(other, "")))


def test_every_operation_and_protocol_has_a_row() -> None:
    asked = {(row.operation, row.params.get("protocol")) for row in ROWS.values()}
    for operation, protocols in TAKES.items():
        assert {protocol for one, protocol in asked if one == operation} == set(protocols)
    funding = {name for name in OPERATIONS if OPERATIONS[name].service.endswith("FundingService")}
    yields = {operation.name for operation in YIELDS}
    assert {operation for operation, _ in asked} == (yields | funding) - {"getYieldsBest"}
    assert BEST.keys() <= set(SOURCES)


def test_the_page_has_this_table() -> None:
    page = (ROOT / "docs" / "yields.md").read_text()
    assert table() in page, f"the table of docs/yields.md is now\n{table()}"
