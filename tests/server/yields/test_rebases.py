"""The newest report of a staking token out of a chain's logs: windows that are searched, figures that cannot be."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from server.chains.capabilities.logs import BlockRange, ContractLog, EventPage
from server.errors import UpstreamUnavailable
from server.yields.rebases import Rebase, Rebases, newest_rebase

if TYPE_CHECKING:
    from server.apis.documents import Fetched
    from server.chains.view import ReadView

TOKEN = "0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84"
TOPIC = keccak(text="TokenRebased(uint256,uint256,uint256,uint256,uint256,uint256,uint256)")
NOW = 1_800_000_000
HEAD = 23_000_000
# A day with 10^8 ether, of which 9 % of 8,219 earned are fees: about 2.7 % per year.
DAY = (NOW - 3_600, 86_400, 8 * 10**24, 10**25, 8 * 10**24 + 5 * 10**19, 10**25 + 8 * 10**20, 5 * 10**19)


def log(figures: Any = DAY, block: int = HEAD - 100) -> ContractLog:
    reported, *others = figures
    data = encode(["uint256"] * 6, others)
    return ContractLog(TOKEN, block, "0x" + "11" * 32, 3, (TOPIC, reported.to_bytes(32, "big")), data)


class Chain:
    """Searches logs: pages in the order in which they are asked for, none after those."""

    def __init__(self, *pages: EventPage | Exception, head: int = HEAD) -> None:
        self.pages, self.head = list(pages), head
        self.asked: list[BlockRange] = []

    async def search_events(self, blocks: BlockRange, address: str, topics: Any, view: ReadView, **rest: Any) -> Any:
        assert (address, tuple(topics), rest["limit"], rest["most_blocks"]) == (TOKEN, (TOPIC, None), 1, 10_000)
        assert rest["keep"](2, 192)
        assert not rest["keep"](1, 192)
        assert not rest["keep"](2, 224)
        view.settle(self.head, "node")
        self.asked.append(blocks)
        page = self.pages.pop(0) if self.pages else EventPage((), None)
        if isinstance(page, Exception):
            raise page
        return page


async def fetch(chain: Chain, previous: Fetched | None = None) -> Fetched:
    source = Rebases(lambda _slug, _kind: chain, wall=lambda: float(NOW))
    return await source.fetch(newest_rebase("ethereum", TOKEN).key, previous)


async def test_the_newest_report() -> None:
    chain = Chain(EventPage((log(),), None))
    found = await fetch(chain)
    assert found.value == Rebase(datetime.fromtimestamp(DAY[0], UTC), *DAY[1:6], HEAD - 100)
    assert found.read_at == datetime.fromtimestamp(DAY[0], UTC)
    expected = (Fraction(DAY[5], DAY[4]) / Fraction(DAY[3], DAY[2]) - 1) * 365
    assert found.value.apr == pytest.approx(float(expected), rel=1e-12)
    assert chain.asked == [BlockRange(None, None, None)]


async def test_a_report_that_is_known_is_the_same_document() -> None:
    found = await fetch(Chain(EventPage((log(),), None)))
    assert await fetch(Chain(EventPage((log(),), None)), found) is found
    newer = await fetch(Chain(EventPage((log((NOW, *DAY[1:])),), None)), found)
    assert newer.value.reported_at > found.value.reported_at


async def test_where_the_oracle_was_silent_older_blocks_are_searched() -> None:
    chain = Chain(EventPage((), None), EventPage((), f"{HEAD - 12_000}"), EventPage((log(block=HEAD - 15_000),), None))
    assert (await fetch(chain)).value.block == HEAD - 15_000
    below = str(HEAD - 10_000)
    assert chain.asked == [
        BlockRange(None, None, None),
        BlockRange(None, below, None),
        BlockRange(None, below, f"{HEAD - 12_000}"),
    ]


async def test_the_search_ends_after_two_weeks() -> None:
    chain = Chain()
    found = await fetch(chain)
    assert (found.value, found.read_at) == (None, None)
    assert [one.to_block for one in chain.asked] == [None, *(str(HEAD - 10_000 * step) for step in range(1, 10))]


async def test_the_search_ends_at_the_chains_beginning() -> None:
    chain = Chain(head=10_500)
    assert (await fetch(chain)).value is None
    assert [one.to_block for one in chain.asked] == [None, "500"]


async def test_a_chain_that_does_not_answer_is_no_rate() -> None:
    with pytest.raises(UpstreamUnavailable, match="away"):
        await fetch(Chain(UpstreamUnavailable("away")))


@pytest.mark.parametrize("place", [1, 2, 3, 4, 5])
async def test_nothing_where_something_must_be_is_refused(place: int) -> None:
    figures = tuple(0 if at == place else figure for at, figure in enumerate(DAY))
    with pytest.raises(UpstreamUnavailable, match=f"{TOKEN} on ethereum holds figures that cannot be"):
        await fetch(Chain(EventPage((log(figures),), None)))


@pytest.mark.parametrize("reported", [0, NOW + 601, 2**256 - 1])
async def test_a_report_of_a_time_that_cannot_be_is_refused(reported: int) -> None:
    with pytest.raises(UpstreamUnavailable, match="cannot be"):
        await fetch(Chain(EventPage((log((reported, *DAY[1:])),), None)))


@given(st.integers(1, 2**32), st.tuples(*[st.integers(1, 2**128)] * 4))
def test_any_figures_are_a_rate(elapsed: int, totals: tuple[int, int, int, int]) -> None:
    apr = Rebase(datetime.fromtimestamp(NOW, UTC), elapsed, *totals, HEAD).apr
    shares, ether, shares_after, ether_after = totals
    assert (apr > 0) is (ether_after * shares > ether * shares_after)
    assert apr >= -31_536_000
