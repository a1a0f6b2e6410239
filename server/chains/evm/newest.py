"""The number of the newest block, as an endpoint tells it that keeps pace with the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from server.chains.evm.quantity import json_count
from server.chains.newest import Told, read_newest
from server.chains.sound_answers import read_sound
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.upstream.pool import Pool

_PLAIN = CallPolicy()


async def read_newest_height(pool: Pool, deadline: float | None, policy: CallPolicy = _PLAIN) -> Told[None]:
    """Return the newest block and who told it; raises as `Pool.call` and `read_newest`."""

    async def read(avoid: frozenset[str]) -> Told[None]:
        steered = replace(policy, avoid=avoid)
        block, endpoint = await read_sound(pool, "eth_blockNumber", [], json_count, steered, deadline=deadline)
        return Told(None, endpoint, block)

    return await read_newest(pool, read)
