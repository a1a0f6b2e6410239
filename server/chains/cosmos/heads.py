"""The newest block, and whether the nodes can be read at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.chains.cosmos.members import Height, timestamp_of
from server.chains.judgement import Heard, Judgement, is_fresh, stale_after
from server.chains.newest import Told, read_newest
from server.chains.sound_answers import read_sound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.capabilities import Health, State
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.view import ReadView

LATEST = "/cosmos/base/tendermint/v1beta1/blocks/latest"


class _Header(msgspec.Struct):
    height: Height
    time: str
    chain_id: str = ""


class _Block(msgspec.Struct):
    header: _Header


class _Latest(msgspec.Struct):
    block: _Block


class Head(NamedTuple):
    """The newest block as a node tells it: height, and when it was made in unix seconds."""

    height: int
    made_at: int


class HeadReader:
    """Reads the head of one chain. `judges_age` is False for local nodes, whose age says nothing."""

    def __init__(self, nodes: CosmosNodes, *, judges_age: bool = True) -> None:
        self._nodes = nodes
        stale = stale_after(nodes.facts.block_time)
        self._stale_after = stale if judges_age else None
        self._judgement = Judgement(nodes.rest)

    async def read_height(self, view: ReadView) -> int:
        """Return the height of the newest block, as one node answers it now."""
        rest = self._nodes.rest

        async def read(avoid: frozenset[str]) -> Told[None]:
            head, endpoint = await read_sound(
                rest, LATEST, [], parse_head, CallPolicy(avoid=avoid), deadline=view.deadline
            )
            return Told(None, endpoint, head.height, head.made_at)

        told = await read_newest(rest, read)
        view.settle(told.block, told.endpoint)
        return told.block

    async def read_health(self) -> Health:
        """Ask every REST endpoint for its newest block and judge the best answer (decisions section 3.1)."""
        asked_at = datetime.now(UTC)
        heard: list[Heard] = []
        answers = await self._nodes.rest.probe(LATEST, [])
        for answer in answers:
            if answer.result is None:
                continue
            try:
                head = parse_head(answer.result)
            except ValueError:
                continue
            fresh = is_fresh(head.made_at, self._stale_after)
            heard.append(Heard(answer.endpoint, head.height, answer.latency, fresh, head.made_at))
        return self._judgement.judge_heads(heard, answers, asked_at)

    def last_state(self) -> State | None:
        """Return the last known state; see `Judgement`."""
        return self._judgement.last_state()


def parse_head(result: bytes) -> Head:
    """Return the head that a latest block tells; ValueError for what is none."""
    try:
        header = msgspec.json.decode(result, type=_Latest).block.header
        return Head(int(header.height), timestamp_of(header.time).seconds)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None


def parse_chain(result: bytes) -> str:
    """Return the id of the chain that a latest block is of; ValueError for what does not tell it."""
    try:
        named = msgspec.json.decode(result, type=_Latest).block.header.chain_id
    except (msgspec.MsgspecError, RecursionError):
        named = ""
    if not named:
        raise ValueError("not a block that names its chain")
    return named
