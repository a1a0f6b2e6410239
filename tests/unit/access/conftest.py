from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from server.access.keys import KeyStore
from server.storage.database import open_database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/data/waypost.db"


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = await open_database(url)
    yield engine
    await engine.dispose()


@pytest.fixture
def store(engine: AsyncEngine) -> KeyStore:
    return KeyStore(engine)
