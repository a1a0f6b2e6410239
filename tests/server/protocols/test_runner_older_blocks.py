"""Groups of an older block: what the runner asks for beside the newest block, and what readers find."""

from __future__ import annotations

from typing import Any

import pytest

from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.protocols.plan import Group, Outcomes, Plan, WalletPlan
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.tokens import BALANCE_OF, DECIMALS
from tests.server.protocols.archive import Archive
from tests.server.protocols.scripted import NoPrices, World, address

TOKEN = address(7)
WEEK = 7 * 86_400.0


class Reader:
    """Reads a token's decimals now and then."""

    def subject(self, question: ChainQuestion) -> str:
        return "token"

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        return None

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        calls = (DECIMALS.call(TOKEN),)
        return Plan({"now": Group(calls), "then": Group(calls, seconds_back=WEEK)})

    def build(self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: Any) -> Any:
        now, then = outcomes["now"], outcomes.find("then")
        assert "then" in outcomes
        before = None if then is None else (then[0].read_one(DECIMALS), outcomes.block_of("then"))
        return (now[0].read_one(DECIMALS), outcomes.block_of("now")), before


def worlds() -> Archive:
    world = Archive(past=World(block=40))
    world.token(TOKEN, "NEW", 18)
    assert world.past is not None
    world.past.token(TOKEN, "OLD", 6)
    return world


async def ask(world: World) -> Any:
    return await Runner(lambda _slug, _wanted: world, TableStore(), NoPrices()).answer(
        Reader(), ChainQuestion("ethereum"), ReadView()
    )


async def test_each_group_is_of_its_block() -> None:
    world = worlds()
    found = await ask(world)
    assert found.answer == ((18, 100), (6, 40))
    assert found.block == 100
    assert world.asked == [WEEK]
    assert len(world.requests) == 1


async def test_a_reader_is_reported_that_no_node_has_the_older_state() -> None:
    world = worlds()
    world.past = None
    assert (await ask(world)).answer == ((18, 100), None)


async def test_a_failure_is_no_missing_state() -> None:
    world = worlds()
    world.failure = UpstreamUnavailable("no endpoint answers")
    with pytest.raises(UpstreamUnavailable, match="no endpoint answers"):
        await ask(world)


def test_a_plan_for_another_wallet_is_of_the_same_block() -> None:
    wallets = "0x00000000000000000000000000000000000000AA", "0x00000000000000000000000000000000000000bB"
    plan = Plan({"then": Group((BALANCE_OF.call(TOKEN, wallets[0]),), seconds_back=WEEK)})
    made = WalletPlan(plan, wallets[0]).of_wallet(wallets[1])
    assert made.groups["then"].seconds_back == WEEK
    assert made.groups["then"].calls == (BALANCE_OF.call(TOKEN, wallets[1]),)


def test_a_name_stands_for_one_group() -> None:
    outcomes = Outcomes()
    outcomes.add_absent("then")
    with pytest.raises(ValueError, match="read already"):
        outcomes.add_absent("then")
