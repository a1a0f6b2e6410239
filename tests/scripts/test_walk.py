"""What a lone read passes: few coroutines, and no task but aiohttp's own and that of its call."""

from __future__ import annotations

import pytest

from scripts.walk import main

pytestmark = pytest.mark.devnet

JSON, GRPC = "getBalance, uncached", "getBalance over gRPC, uncached"
COLUMNS = 5


async def counted(trip: str, endpoints: int, capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """Return the coroutines and tasks of a trip."""
    await main(trip, endpoints=endpoints)
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.strip().startswith(trip))
    *_, coroutines, tasks = map(int, row.split()[-COLUMNS:])
    return coroutines, tasks


@pytest.mark.parametrize("endpoints", [1, 3])
async def test_an_uncached_balance_sets_up_nothing_for_company(
    endpoints: int, capsys: pytest.CaptureFixture[str]
) -> None:
    coroutines, tasks = await counted(JSON, endpoints, capsys)
    # Ten of them are aiohttp's, most of which write the answer.
    assert coroutines <= 25
    assert tasks <= 2


async def test_over_grpc_it_takes_no_task_of_the_gateways(capsys: pytest.CaptureFixture[str]) -> None:
    coroutines, tasks = await counted(GRPC, 1, capsys)
    assert coroutines <= 12
    assert tasks == 0
