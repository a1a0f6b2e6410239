"""Rebases of a staking token: the newest report of its oracle, out of the chain's logs.

Source: lidofinance/core, Lido.sol, event TokenRebased; lidofinance/docs, "Last Lido APR for stETH": what a share is
worth after a report against before it, over the seconds that the report is of. The oracle reports once a day, so the
newest report stands in the newest few thousand blocks; where it failed for days, older windows are searched.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from server.apis.documents import DocumentRequest, Fetched
from server.chains.capabilities.logs import BlockRange, SearchesEvents
from server.chains.view import ReadView
from server.contracts.interface import Interface
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.capabilities.logs import ContractLog

    Capability = Callable[[str, Any], SearchesEvents]

NAME = "rebases"

_EVENT = Interface.load("server.yields", "rebasing_token").events["TokenRebased"]
_YEAR_SECONDS = 31_536_000
# As many blocks as most nodes search at once; a day of Ethereum has 7,200.
_WINDOW = 10_000
# Two weeks. A token whose oracle is silent for longer has no rate.
_MOST_WINDOWS = 10
_ANSWER_SECONDS = 15.0
# Clocks of oracle and gateway may differ by that.
_AHEAD_SECONDS = 600.0


class Rebase(NamedTuple):
    """A report: when it is of (UTC), the seconds since the one before, totals of shares and ether, its block."""

    reported_at: datetime
    elapsed: int
    shares_before: int
    ether_before: int
    shares_after: int
    ether_after: int
    block: int

    @property
    def apr(self) -> float:
        """What holders earned, as a fraction per year; below zero where they lost."""
        growth = Fraction(self.ether_after * self.shares_before, self.shares_after * self.ether_before) - 1
        return float(growth * _YEAR_SECONDS / self.elapsed)


class Rebases:
    """See `DocumentSource`. `capability` returns how a chain's logs are searched, `wall` unix seconds."""

    # The hours in which a new report is not noticed: an answer states the time of its report.
    lifetime = 3600.0
    stale_for = 7200.0
    is_refreshed = True

    def __init__(self, capability: Capability, *, wall: Callable[[], float] = time.time) -> None:
        self._capability = capability
        self._wall = wall

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return the newest `Rebase` of a token, None where there was none for two weeks.

        Raises:
            UpstreamUnavailable: the report that the nodes have is none that there can be.
            GatewayError: no node answered.
        """
        chain, token = key
        log = await self._find(chain, token)
        if log is None:
            return Fetched(None)
        found = self._read(chain, log)
        if previous is not None and previous.value == found:
            return previous
        return Fetched(found, read_at=found.reported_at)

    async def _find(self, chain: str, token: str) -> ContractLog | None:
        """Return the newest log of a report."""
        searcher = self._capability(chain, SearchesEvents)
        view = ReadView(deadline=time.monotonic() + _ANSWER_SECONDS)
        blocks = BlockRange(None, None, None)
        for _ in range(_MOST_WINDOWS):
            # The second topic, which may be anything, narrows nothing: it marks the event as rare.
            page = await searcher.search_events(
                blocks,
                token,
                (_EVENT.topic0, None),
                view,
                keep=lambda topics, size: topics == _EVENT.topics and size == _EVENT.least_data,
                limit=1,
                most_blocks=_WINDOW,
            )
            if page.logs:
                return page.logs[0]
            end = _next_end(blocks, page.cursor, view)
            if end is None:
                return None
            blocks = end
        return None

    def _read(self, chain: str, log: ContractLog) -> Rebase:
        reported, elapsed, *totals = _EVENT.read(log.topics, log.data)[:6]
        if not (elapsed and all(totals) and 0 < reported <= self._wall() + _AHEAD_SECONDS):
            raise UpstreamUnavailable(
                f"the newest report of the token {log.address} on {chain} holds figures that cannot be",
                retry_after_ms=60_000,
            )
        return Rebase._make((datetime.fromtimestamp(reported, UTC), elapsed, *totals, log.block))


def newest_rebase(chain: str, token: str) -> DocumentRequest:
    """Return the request of a token's newest `Rebase`, None where it has none."""
    return DocumentRequest(NAME, (chain, token))


def _next_end(blocks: BlockRange, cursor: str | None, view: ReadView) -> BlockRange | None:
    """Return where the search goes on below what was searched, None at the chain's beginning."""
    if cursor is not None:
        return BlockRange(None, blocks.to_block, cursor)
    top = view.block if blocks.to_block is None else int(blocks.to_block)
    if top is None or top < _WINDOW:
        return None
    return BlockRange(None, str(top - _WINDOW), None)
