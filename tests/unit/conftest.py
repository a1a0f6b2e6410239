from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from server.storage.database import open_database
from tests.examples import IS_FAST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.postgresql import PostgreSql


# Where only what is fast is run, no server is started.
@pytest.fixture(params=["sqlite"] if IS_FAST else ["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, on both kinds that the gateway keeps its keys and prices in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/data/waypost.db"
    server: PostgreSql = request.getfixturevalue("postgresql")
    return server.database()


@pytest.fixture
async def database(url: str) -> AsyncIterator[AsyncEngine]:
    engine = await open_database(url)
    yield engine
    await engine.dispose()
