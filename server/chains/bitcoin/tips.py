"""The tips of indexers, checked against what the nodes have in their best chain."""

from __future__ import annotations

import time
from collections import OrderedDict
from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from server.chains.bitcoin.answers import MAX_HEIGHT, Height, read_height, read_plain_hash
from server.chains.sound_answers import ask_sound, read_sound
from server.errors import GatewayError, NotFound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool

TIP_HASH = "/blocks/tip/hash"
_BLOCK = "/block/"
_REMEMBERED = 32
_PLACED_SECONDS = 15.0
"""How long a tip's place in the nodes' chain is taken for granted."""

_NEWEST = 1
"""Blocks by which indexers and nodes may differ: one has a new block a moment before the other."""


class Standing(Enum):
    """How an indexer's tip stands to the chain of the nodes."""

    GOOD = "good"
    LATE = "late"
    FOREIGN = "foreign"


class Tip(NamedTuple):
    """The newest block of an indexer: its hash, and who told it."""

    hash: str
    endpoint: str


class _Header(msgspec.Struct):
    height: Height
    confirmations: Annotated[int, msgspec.Meta(ge=-1, le=MAX_HEIGHT)]


class _Block(msgspec.Struct):
    id: str
    height: Height


_read_header = msgspec.json.Decoder(_Header).decode


class Tips:
    """Reads and places tips. `clock` is in seconds."""

    def __init__(self, core: Pool, esplora: RestPool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._core = core
        self._esplora = esplora
        self._clock = clock
        # Height of a tip's hash, and when it was last seen in the nodes' chain.
        self._placed: OrderedDict[str, tuple[int, float]] = OrderedDict()

    async def read(self, prefer: str | None, avoid: frozenset[str], view: ReadView) -> Tip:
        """Return the tip of one indexer as it is now; joined with nobody's question, which may have begun earlier."""
        tip, reply = await ask_sound(
            self._esplora,
            TIP_HASH,
            lambda policy: self._esplora.get(
                TIP_HASH, policy=policy, name=TIP_HASH, is_text=True, deadline=view.deadline
            ),
            lambda reply: read_plain_hash(reply.result),
            CallPolicy(joinable=False, prefer=prefer, avoid=avoid),
        )
        return Tip(tip, reply.endpoint)

    async def place(self, tip: Tip, view: ReadView) -> tuple[int, Standing]:
        """Return the height of a tip and how it stands to the nodes' chain.

        Foreign is a block that the nodes have outside of their best chain, or do not have although they are further,
        or of which the indexer itself does not tell the height. Without a node that answers, the indexer is believed.
        """
        height, at = self._placed.get(tip.hash, (0, -_PLACED_SECONDS))
        standing = Standing.GOOD
        if self._clock() - at >= _PLACED_SECONDS:
            try:
                height, standing = await self._ask(tip, view)
            except NotFound:
                return 0, Standing.FOREIGN
            if standing is Standing.GOOD:
                self._placed[tip.hash] = height, self._clock()
                if len(self._placed) > _REMEMBERED:
                    self._placed.popitem(last=False)
        head = self._core.heads.head()
        if standing is Standing.GOOD and head is not None and head - height > _NEWEST:
            standing = Standing.LATE
        return height, standing

    async def _ask(self, tip: Tip, view: ReadView) -> tuple[int, Standing]:
        if self._core.labels:
            try:
                return await self._ask_nodes(tip, view)
            except NotFound:
                return await self._ask_of_unknown(tip, view)
            except GatewayError:
                # No node tells: then the indexer's own word has to do.
                pass
        return await self._ask_indexer(tip, view), Standing.GOOD

    async def _ask_nodes(self, tip: Tip, view: ReadView) -> tuple[int, Standing]:
        header, endpoint = await read_sound(
            self._core, "getblockheader", [tip.hash], _read_header, deadline=view.deadline
        )
        if header.confirmations < 1:
            return header.height, Standing.FOREIGN
        self._core.observe_head(endpoint, header.height + header.confirmations - 1)
        return header.height, Standing.GOOD

    async def _ask_of_unknown(self, tip: Tip, view: ReadView) -> tuple[int, Standing]:
        """Place a block that no node has: a new one is above their heads, by one at most."""
        height = await self._ask_indexer(tip, view)
        head, endpoint = await read_sound(self._core, "getblockcount", [], read_height, deadline=view.deadline)
        self._core.observe_head(endpoint, head)
        return height, Standing.GOOD if head < height <= head + _NEWEST else Standing.FOREIGN

    async def _ask_indexer(self, tip: Tip, view: ReadView) -> int:
        def read(reply: Reply) -> int:
            block = msgspec.json.decode(reply.result, type=_Block)
            if block.id.lower() != tip.hash:
                raise ValueError("another block than the one asked for")
            return block.height

        height, _ = await ask_sound(
            self._esplora,
            _BLOCK,
            lambda policy: self._esplora.get(_BLOCK + tip.hash, policy=policy, name=_BLOCK, deadline=view.deadline),
            read,
            CallPolicy(prefer=tip.endpoint),
        )
        return height
