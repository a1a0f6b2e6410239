"""The tips of indexers, checked against what the nodes have in their best chain."""

from __future__ import annotations

import time
from collections import OrderedDict
from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from server.chains.bitcoin.answers import MAX_HEIGHT, Height, read_height, read_plain_hash
from server.chains.capabilities.accounts import Balance
from server.chains.shared.validated_reads import ask_validated, read_validated
from server.chains.view import NO_ENDPOINTS
from server.errors import GatewayError, NotFound, UpstreamDisagrees
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool


TIP_HASH = "/blocks/tip/hash"
_BLOCK = "/block/"
_MOST_PLACED = 32
_PLACED_SECONDS = 15.0
"""How long a tip's place in the nodes' chain is taken as known."""

_NEWEST = 1
"""Blocks by which indexers and nodes may differ: one has a new block a moment before the other."""


class Standing(Enum):
    """How an indexer's tip stands to the chain of the nodes."""

    GOOD = "good"
    LATE = "late"
    FOREIGN = "foreign"


class Tip(NamedTuple):
    """The newest block of an indexer: its hash, and the endpoint that reported it."""

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
        """Return the current tip of one indexer; not joined with other callers' reads, which may have begun earlier."""
        tip, reply = await ask_validated(
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
        or whose height the indexer itself does not report. Without a node that answers, the indexer is trusted.
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
                if len(self._placed) > _MOST_PLACED:
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
                # No node answers: the indexer's own answer is used.
                pass
        return await self._ask_indexer(tip, view), Standing.GOOD

    async def _ask_nodes(self, tip: Tip, view: ReadView) -> tuple[int, Standing]:
        header, endpoint = await read_validated(
            self._core, "getblockheader", [tip.hash], _read_header, deadline=view.deadline
        )
        if header.confirmations < 1:
            return header.height, Standing.FOREIGN
        self._core.observe_head(endpoint, header.height + header.confirmations - 1)
        return header.height, Standing.GOOD

    async def _ask_of_unknown(self, tip: Tip, view: ReadView) -> tuple[int, Standing]:
        """Place a block that no node has: a new one is above their heads, by one at most."""
        height = await self._ask_indexer(tip, view)
        head, endpoint = await read_validated(self._core, "getblockcount", [], read_height, deadline=view.deadline)
        self._core.observe_head(endpoint, head)
        return height, Standing.GOOD if head < height <= head + _NEWEST else Standing.FOREIGN

    async def _ask_indexer(self, tip: Tip, view: ReadView) -> int:
        def read(reply: Reply) -> int:
            block = msgspec.json.decode(reply.result, type=_Block)
            if block.id.lower() != tip.hash:
                raise ValueError("another block than the one asked for")
            return block.height

        height, _ = await ask_validated(
            self._esplora,
            _BLOCK,
            lambda policy: self._esplora.get(_BLOCK + tip.hash, policy=policy, name=_BLOCK, deadline=view.deadline),
            read,
            CallPolicy(prefer=tip.endpoint),
        )
        return height


_TRIES = 3
_ADDRESS = "/address/"


_Satoshi = Annotated[int, msgspec.Meta(ge=0)]


class _Stats(msgspec.Struct):
    funded_txo_sum: _Satoshi
    spent_txo_sum: _Satoshi


class _Address(msgspec.Struct, kw_only=True):
    address: str | None = None
    chain_stats: _Stats


class IndexedBalances:
    """Reads confirmed balances from indexers.

    An indexer does not state at which block it answers, so its tip is read before and after: the answer counts only if
    nothing came in between. The tip must be a block of the nodes' best chain, and about their newest: an indexer that
    is behind is passed over while there is another one, and one that is on another chain is not used at all.
    """

    def __init__(self, facts: ChainFacts, core: Pool, esplora: RestPool) -> None:
        self._facts = facts
        self._pool = esplora
        self._tips = Tips(core, esplora)

    async def read_balance(self, address: str, known: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the newest block that they count; settles the view.

        `known` is the address as nodes write it. Raises UpstreamDisagrees where the head moves at every try, or every
        indexer is on another chain than the nodes.
        """
        avoid, late, is_restless = NO_ENDPOINTS, None, False
        while True:
            tip, raw = await self._read(known, avoid, view)
            is_restless = is_restless or raw is None
            height, standing = (0, Standing.FOREIGN) if raw is None else await self._tips.place(tip, view)
            if raw is not None and standing is not Standing.FOREIGN:
                self._pool.observe_head(tip.endpoint, height)
                balance = Balance(address, height, raw, self._facts.native.decimals)
                if standing is Standing.GOOD and not self._pool.heads.is_out_of_step(tip.endpoint):
                    view.settle(height, tip.endpoint)
                    return balance
                if late is None or height > (late[0].block or 0):
                    late = balance, tip.endpoint
            if tip.endpoint in avoid or avoid | {tip.endpoint} == set(self._pool.labels):
                break
            avoid |= {tip.endpoint}
        if late is None:
            slug = self._facts.slug
            if is_restless:
                raise UpstreamDisagrees(f"the head of {slug} moved at every try; try again")
            raise UpstreamDisagrees(f"the indexers of {slug} are on another chain than its nodes; try again")
        balance, endpoint = late
        view.settle(balance.block or 0, endpoint)
        return balance

    async def _read(self, known: str, avoid: frozenset[str], view: ReadView) -> tuple[Tip, int | None]:
        """Return the satoshi that an indexer reports for an address and the tip that it had before and after.

        None instead of them where the tip was another one at every try.
        """
        prefer = None
        for _ in range(_TRIES):
            before = await self._tips.read(prefer, avoid, view)
            # Not joined with another caller's: that one may have begun before the tip was read.
            raw, reply = await ask_validated(
                self._pool,
                _ADDRESS,
                lambda policy: self._pool.get(
                    f"{_ADDRESS}{known}", policy=policy, name=_ADDRESS, deadline=view.deadline
                ),
                lambda reply: _confirmed(reply, known),
                CallPolicy(joinable=False, prefer=before.endpoint, avoid=avoid),
            )
            after = await self._tips.read(reply.endpoint, avoid, view)
            if before == after and before.endpoint == reply.endpoint:
                return after, raw
            prefer = reply.endpoint
        return after, None


def _confirmed(reply: Reply, known: str) -> int:
    """Return the confirmed satoshi of an address in an answer; ValueError, or msgspec's error, where they are none."""
    found = msgspec.json.decode(reply.result, type=_Address)
    if found.address is not None and found.address.lower() != known.lower():
        raise ValueError("another address than the one asked for")
    stats = found.chain_stats
    if stats.funded_txo_sum < stats.spent_txo_sum:
        raise ValueError("more was spent than there was")
    return stats.funded_txo_sum - stats.spent_txo_sum
