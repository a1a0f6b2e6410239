from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from server.access.keys import KeyStore

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


@pytest.fixture
def store(database: AsyncEngine) -> KeyStore:
    return KeyStore(database)
