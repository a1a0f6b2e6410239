"""A gateway with every reader and no source: whatever passes its checks fails there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from tests.e2e.gateway import RunningGateway, run_gateway_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bare(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """Both faces of a gateway over chains and sources without endpoints."""
    async with run_gateway_on({}, tmp_path_factory.mktemp("bare")) as running:
        yield running
