"""Balances of addresses as indexers with Esplora's routes tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from server.chains.bitcoin.tips import Standing, Tips
from server.chains.capabilities import Balance
from server.chains.shared.newest import NO_ENDPOINTS
from server.chains.sound_answers import ask_sound
from server.errors import UpstreamDisagrees
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.bitcoin.tips import Tip
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool

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

    An indexer does not say at which block it answers, so its tip is read before and after: the answer counts only if
    nothing came in between. The tip must be a block of the nodes' best chain, and about their newest: an indexer that
    is behind is passed over while there is another one, and one that is on another chain is not believed at all.
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
        """Return the satoshi that an indexer tells of an address and the tip that it had before and after.

        None instead of them where the tip was another one at every try.
        """
        prefer = None
        for _ in range(_TRIES):
            before = await self._tips.read(prefer, avoid, view)
            # Not joined with anybody's: that one may have begun before the tip was read.
            raw, reply = await ask_sound(
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
