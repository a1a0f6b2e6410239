"""The newest block, and whether the nodes can be read at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from server.chains.judgement import Heard, Judgement, is_fresh, stale_after
from server.chains.newest import Told, read_newest
from server.chains.sound_answers import read_sound
from server.chains.starknet.answers import json_members, json_number
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.capabilities import Health, State
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


NEWEST: tuple[str, list[object]] = ("starknet_getBlockWithTxHashes", ["latest"])
"""The call, method and parameters, that brings the newest accepted block: `starknet_blockNumber` has no time."""


class NewestBlock(NamedTuple):
    """The newest block of an endpoint: its number, and when it was made in unix seconds."""

    number: int
    made_at: int


class HeadReader:
    """Reads the head of the chain. `judges_age` is False for local nodes that make blocks only when told to."""

    def __init__(self, facts: ChainFacts, pool: Pool, *, judges_age: bool) -> None:
        self._pool = pool
        self._stale_after = stale_after(facts.block_time) if judges_age else None
        self._judgement = Judgement(pool)

    async def read_height(self, view: ReadView) -> int:
        """Return the number of the newest accepted block, as one node answers it now."""

        async def read(avoid: frozenset[str]) -> Told[None]:
            policy = CallPolicy(avoid=avoid)
            newest, endpoint = await read_sound(self._pool, *NEWEST, parse_newest, policy, deadline=view.deadline)
            return Told(None, endpoint, newest.number, newest.made_at)

        told = await read_newest(self._pool, read)
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


def parse_newest(result: bytes) -> NewestBlock:
    """Return what an answer to `NEWEST` holds; ValueError for what is no block."""
    header = json_members(result)
    try:
        return NewestBlock(json_number(header["block_number"]), json_number(header["timestamp"]))
    except KeyError:
        raise ValueError("not a block") from None


def _parse_head(result: bytes | None) -> NewestBlock | None:
    try:
        return None if result is None else parse_newest(result)
    except ValueError:
        return None
