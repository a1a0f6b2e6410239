"""The runner on chains whose nodes know the latest state alone, and which move on between two steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from server.chains.view import ATTEMPTS, ReadView
from server.contracts.calls import ContractCall, ContractOutcome
from server.errors import MovedOn, NotSupported
from server.protocols.plan import Group, More, Outcomes, Plan
from server.protocols.reader import ChainQuestion
from tests.server.protocols.test_runner import Chain, Reader, runner_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import CallGroup


@dataclass
class Moving(Chain):
    """Makes a block after each of the first `moves` requests, and knows the latest state alone."""

    moves: int = 0

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        if view.block not in (None, self.block):
            self.requests.append(list(groups))
            self._move()
            raise NotSupported("another block") if view.is_chosen else MovedOn("moved on", retry_after_ms=1000)
        found = await super().call_groups(groups, view)
        self._move()
        return found

    def _move(self) -> None:
        self.block += self.moves > 0
        self.moves -= self.moves > 0


@dataclass(eq=False)
class TwoSteps(Reader):
    """Its tables take two steps, and so does its answer."""

    extra: bool = True

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Any:
        if "list" in outcomes and "facts" not in outcomes:
            return More(Plan({"facts": Group((ContractCall("0x4", b"\4"),))}))
        return super().load(question, outcomes)


@pytest.mark.parametrize(("moves", "requests"), [(0, 4), (1, 5), (2, 5), (3, 5), (4, 7)])
async def test_where_only_the_latest_state_is_known_steps_begin_again(moves: int, requests: int) -> None:
    chain = Moving(moves=moves)
    view = ReadView()
    found = await runner_on(ethereum=chain).answer(TwoSteps(), ChainQuestion("ethereum"), view)
    assert found.answer == ("reader", 2, chain.block, {})
    assert (found.block, view.block) == (chain.block, chain.block)
    assert len(chain.requests) == requests


async def test_a_chain_that_never_stands_still_says_when_to_try_again() -> None:
    chain = Moving(moves=1000)
    with pytest.raises(MovedOn) as refused:
        await runner_on(ethereum=chain).answer(TwoSteps(), ChainQuestion("ethereum"), ReadView())
    assert refused.value.retry_after_ms == 1000
    # Two steps of the tables, the second of them twice; and two steps of each attempt.
    assert len(chain.requests) == 3 + 2 * ATTEMPTS


async def test_tables_that_became_old_on_such_a_chain_are_read_anew() -> None:
    chain, reader = Moving(), Reader()
    runner = runner_on(ethereum=chain)
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    reader.listed, chain.moves = b"\3", 2
    found = await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert found.answer[1:3] == (3, chain.block)


async def test_a_block_of_the_callers_choice_is_not_exchanged_for_another() -> None:
    chain, reader = Moving(), Reader()
    runner = runner_on(ethereum=chain)
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    with pytest.raises(NotSupported):
        await runner.answer(reader, ChainQuestion("ethereum", block=90), ReadView(block=90))
