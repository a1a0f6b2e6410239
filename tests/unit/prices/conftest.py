from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from server.sources.api_errors import ApiErrors
from server.storage.database import open_database
from server.upstream import RestPool, open_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.postgresql import PostgreSql
    from tests.recordings.replay import Replay


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, on both kinds that the gateway keeps its prices in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/prices.db"
    server: PostgreSql = request.getfixturevalue("postgresql")
    return server.database()


@pytest.fixture
async def database(url: str) -> AsyncIterator[AsyncEngine]:
    engine = await open_database(url)
    yield engine
    await engine.dispose()


@asynccontextmanager
async def pool_of(*replays: Replay) -> AsyncIterator[RestPool]:
    """A pool over replayed endpoints, in this order."""
    async with open_session() as http:
        endpoints = [replay.endpoint(f"replay-{number}") for number, replay in enumerate(replays)]
        pool = RestPool("replayed", endpoints, ApiErrors("replayed"), http, block_time=60.0)
        try:
            yield pool
        finally:
            await pool.close()
