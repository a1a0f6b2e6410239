"""The number of the newest block, as an endpoint tells it that keeps pace with the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from server.chains.evm.answers import number_of
from server.chains.newest import Told, read_newest
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.upstream.pool import Pool

_PLAIN = CallPolicy()


async def read_newest_height(pool: Pool, deadline: float | None, policy: CallPolicy = _PLAIN) -> Told[None]:
    """Return the newest block and who told it; raises as `Pool.call` and `read_newest`."""

    async def read(avoid: frozenset[str]) -> Told[None]:
        reply = await pool.call("eth_blockNumber", [], replace(policy, avoid=avoid), deadline=deadline)
        return Told(None, reply.endpoint, number_of(reply))

    return await read_newest(pool, read)
