"""Nodes in which the protocols stand at their addresses, and gateways over them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet.launcher import Devnet
from server.chains.evm.reads import planner
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.faults.summary.asking import FACES, Caller, settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.faults.simulator import FaultyNode


@pytest.fixture(autouse=True)
def company(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of one moment leave together, however loaded the machine is: requests are counted."""
    monkeypatch.setattr(planner, "LONGEST_SECONDS", 10.0)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def site() -> AsyncIterator[Devnet]:
    """Nodes of these tests' own, as they change contracts and replace blocks."""
    async with Devnet.start(("ethereum", "polygon"), mines=False) as running:
        yield running


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def judge(site: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Caller]:
    """A gateway with sound nodes."""
    folder = tmp_path_factory.mktemp("judge")
    async with run_gateway_on(settings(**{slug: [url] for slug, url in site.endpoints.items()}), folder) as gateway:
        yield Caller(gateway, FACES[0])


@pytest.fixture
def open_gateway(tmp_path: Path) -> Callable[..., Any]:
    """Opens a gateway without any tables yet on these endpoints of ethereum, and of polygon if there are any."""

    @contextlib.asynccontextmanager
    async def opened(*urls: str, **others: list[str]) -> AsyncIterator[RunningGateway]:
        async with run_gateway_on(settings(ethereum=list(urls), **others), tmp_path) as gateway:
            yield gateway

    return opened


@pytest_asyncio.fixture(loop_scope="session")
async def front(site: Devnet, faulty: Any) -> FaultyNode:
    """The node of ethereum, to be spoilt."""
    found: FaultyNode = await faulty(site.endpoints["ethereum"])
    return found
