"""The newest block, and whether the nodes can be read at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.chains.evm.newest import NEWEST, NewestBlock, parse_newest, read_newest_height
from server.chains.judgement import Heard, Judgement, is_fresh, stale_after

if TYPE_CHECKING:
    from server.chains.capabilities import Health, State
    from server.chains.evm.chain import EvmChain
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


class HeadReader:
    """Reads the head of one chain. `judges_age` is False for local nodes that make blocks only while somebody asks."""

    def __init__(self, chain: EvmChain, pool: Pool, *, judges_age: bool = True) -> None:
        self._chain = chain
        self._pool = pool
        self._stale_after = stale_after(chain.facts.block_time) if judges_age else None
        self._judgement = Judgement(pool)

    async def read_height(self, view: ReadView) -> int:
        """Return the number of the newest block, as one node answers it now."""
        told = await read_newest_height(self._pool, view.deadline)
        view.settle(told.block, told.endpoint)
        return told.block

    async def read_health(self) -> Health:
        """Ask every endpoint for its newest block and judge the best answer (decisions section 3.1)."""
        asked_at = datetime.now(UTC)
        answers = await self._pool.probe(*NEWEST)
        heard: list[Heard] = []
        for answer in answers:
            head = _parse_head(answer.result)
            if head is None:
                continue
            height, made_at = head
            fresh = is_fresh(made_at, self._stale_after)
            heard.append(Heard(answer.endpoint, height, answer.latency, fresh, made_at))
        return self._judgement.judge_heads(heard, answers, asked_at)

    def last_state(self) -> State | None:
        """Return the last known state; see `Judgement`."""
        return self._judgement.last_state()


def _parse_head(result: bytes | None) -> NewestBlock | None:
    try:
        return None if result is None else parse_newest(result)
    except ValueError:
        return None
