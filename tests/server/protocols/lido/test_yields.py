"""stake-a's row in the comparison: made of a report, the token's supply and its price; which of them may be missing."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from server.apis.documents import Document, DocumentRequest
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.prices import Price
from server.protocols.lido.yields import YIELDS
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.yields.rebases import Rebase, newest_rebase
from tests.server.protocols.scripted import World

TOKEN = "0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84"
NOW = 1_800_000_000
NOON = datetime.fromtimestamp(NOW, UTC)
REPORTED = NOON - timedelta(hours=20)
# 10^18 shares are worth 1.2 ether, and 0.01 % more after the day.
REBASE = Rebase(REPORTED, 86_400, 10**24, 12 * 10**23, 10**24, 12 * 10**23 + 12 * 10**19, 99)
PRICE = Price(Decimal("2500.5"), NOON - timedelta(minutes=5), ("x",))


class Sources:
    """The report and the price, as a test has them."""

    def __init__(self, report: Any = REBASE, price: Price | None = PRICE) -> None:
        self.report, self.price = report, price

    async def read(self, request: DocumentRequest, *, deadline: Any, cache: Any) -> Document:
        assert request == newest_rebase("ethereum", TOKEN)
        if isinstance(self.report, Exception):
            raise self.report
        return Document(self.report, REPORTED)

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Price]:
        assert list(tokens) == [("ethereum", TOKEN)]
        return {} if self.price is None else {("ethereum", TOKEN): self.price}


def staked() -> World:
    world = World()
    world.put("0xcA11bde05977b3631167028862bE2a173976CA11", "getCurrentBlockTimestamp()", "uint256", NOW)
    world.put(TOKEN, "totalSupply()", "uint256", 1_000 * 10**18)
    return world


async def row(sources: Sources, world: World | None = None) -> Any:
    world = world or staked()
    runner = Runner(lambda _slug, _wanted: world, TableStore(), sources, sources)
    assert YIELDS.best is not None
    [found] = (await runner.answer(YIELDS.best, ChainQuestion("ethereum"), ReadView())).answer
    assert len(world.requests) == 1
    return found.row


async def test_the_row() -> None:
    found = await row(Sources())
    assert (found.pool, found.symbol, found.block_height) == (TOKEN, "stETH", 100)
    assert found.apy == pytest.approx(math.expm1(365 * 0.0001) * 100, rel=1e-6)
    assert found.tvl == 2_500_500.0
    assert found.updated_at.ToDatetime(UTC) == REPORTED


async def test_without_a_price_its_size_is_unknown() -> None:
    found = await row(Sources(price=None))
    assert not found.HasField("tvl")
    assert found.apy > 0


async def test_without_a_report_for_weeks_it_has_no_rate() -> None:
    found = await row(Sources(report=None))
    assert math.isnan(found.apy)
    assert found.updated_at.ToDatetime(UTC) == PRICE.updated_at


async def test_logs_that_cannot_be_searched_are_its_failure() -> None:
    with pytest.raises(UpstreamUnavailable, match="no node has the logs"):
        await row(Sources(report=UpstreamUnavailable("no node has the logs")))


async def test_a_token_that_does_not_answer_is_its_failure() -> None:
    world = staked()
    world.remove(TOKEN, "totalSupply()")
    with pytest.raises(ContractUnreadable, match=f"totalSupply of the contract {TOKEN}"):
        await row(Sources(), world)


async def test_a_report_of_growth_beyond_numbers_is_its_failure() -> None:
    beyond = REBASE._replace(ether_after=2**255, elapsed=1)
    with pytest.raises(ContractUnreadable, match="figures that cannot be"):
        await row(Sources(report=beyond))


def test_it_stands_in_the_comparison_alone() -> None:
    assert (YIELDS.chains, dict(YIELDS.readers)) == (("ethereum",), {})
