from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from server.apis.endpoints import ApiErrors
from server.upstream import RestPool, open_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.recordings.replay import Replay


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
