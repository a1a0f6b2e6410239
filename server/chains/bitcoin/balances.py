"""Balances of addresses, from indexers: nodes keep no index of addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.bitcoin.address import parse_address
from server.chains.bitcoin.answers import malformed, read_height
from server.chains.bitcoin.heads import TIP
from server.chains.capabilities import Balance
from server.errors import NotSupported, UpstreamDisagrees
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.policy import Reply
    from server.upstream.rest import RestPool

_TRIES = 3
_ADDRESS = "/address/"


class _Stats(msgspec.Struct):
    funded_txo_sum: int
    spent_txo_sum: int


class _Address(msgspec.Struct):
    chain_stats: _Stats


class BalanceReader:
    """Reads confirmed balances.

    An indexer does not say at which block it answers, so its tip is read before and after: the answer counts only if
    nothing came in between. No two of these reads may be joined with others', which may have begun earlier.
    """

    def __init__(self, facts: ChainFacts, pool: RestPool) -> None:
        self._facts = facts
        self._pool = pool

    def check(self, address: str, view: ReadView) -> str:
        """Return the address as nodes write it.

        Raises:
            InvalidArgument: it is no address of the chain.
            NotSupported: the caller named a block, or no indexer is configured.
        """
        known = parse_address(address)
        if view.is_chosen:
            message = "blockHeight: indexers of Bitcoin know no balances of the past; leave it out"
            raise NotSupported(message, field="blockHeight")
        if not self._pool.labels:
            raise NotSupported(f"balances on {self._facts.slug} need a configured endpoint of kind esplora")
        return known

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the newest block that they count; settles the view."""
        known = self.check(address, view)
        prefer = None
        for _ in range(_TRIES):
            before, endpoint = await self._tip(prefer, view)
            reply = await self._get(f"{_ADDRESS}{known}", _ADDRESS, endpoint, view)
            after, last = await self._tip(reply.endpoint, view)
            if before == after and endpoint == reply.endpoint == last:
                view.settle(after, last)
                return Balance(address, after, _confirmed(reply), self._facts.native.decimals)
            prefer = reply.endpoint
        raise UpstreamDisagrees(f"the head of {self._facts.slug} moved at every try; try again")

    async def _tip(self, prefer: str | None, view: ReadView) -> tuple[int, str]:
        reply = await self._get(TIP, TIP, prefer, view, is_text=True)
        try:
            height = read_height(reply.result)
        except ValueError:
            raise malformed(reply, "height") from None
        self._pool.observe_head(reply.endpoint, height)
        return height, reply.endpoint

    async def _get(self, path: str, name: str, prefer: str | None, view: ReadView, *, is_text: bool = False) -> Reply:
        policy = CallPolicy(joinable=False, prefer=prefer)
        return await self._pool.get(path, policy=policy, name=name, is_text=is_text, deadline=view.deadline)


def _confirmed(reply: Reply) -> int:
    try:
        stats = msgspec.json.decode(reply.result, type=_Address).chain_stats
    except (msgspec.MsgspecError, RecursionError):
        raise malformed(reply, "address") from None
    if stats.funded_txo_sum < stats.spent_txo_sum:
        raise malformed(reply, "address")
    return stats.funded_txo_sum - stats.spent_txo_sum
