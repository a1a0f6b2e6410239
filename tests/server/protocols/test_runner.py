"""The runner against a scripted chain: what leaves together, what tables cost, what fails alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from server.chains.view import ReadView
from server.contracts.calls import ContractCall, ContractOutcome
from server.errors import (
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    Reverted,
    UpstreamUnavailable,
)
from server.protocols.plan import ContractUnreadable, Group, More, Outcomes, Plan, Renewed, StaleTables, Token
from server.protocols.reader import ChainQuestion, ProtocolEntry, ProtocolReaders, WalletQuestion
from server.protocols.runner import Runner
from server.protocols.tables import KEPT_SECONDS, TableStore

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from server.contracts.calls import CallGroup

WALLET = "0x00000000000000000000000000000000000000AA"


@dataclass
class Chain:
    """Answers every call with its own calldata, in requests that are counted; a block per request while unpinned."""

    block: int = 100
    requests: list[list[CallGroup]] = field(default_factory=list)
    failure: GatewayError | None = None
    answer: Callable[[ContractCall], ContractOutcome] = lambda call: ContractOutcome(True, call.data)

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        self.requests.append(list(groups))
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        view.settle(self.block, "node")
        return [[self.answer(call) for call in group.calls] for group in groups]


@dataclass
class Prices:
    asked: list[set[Token]] = field(default_factory=list)

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Token, Any]:
        self.asked.append(set(tokens))
        return dict.fromkeys(tokens, 7)


@dataclass(eq=False)
class Reader:
    """Reads a list (its tables) and then a row for each entry; the list is checked in the same read."""

    name: str = "reader"
    listed: bytes = b"\2"
    loads: int = 0
    broken: type[Exception] | None = None
    extra: bool = False
    prices: tuple[Token, ...] = ()
    elsewhere: str | None = None

    def subject(self, question: ChainQuestion) -> Hashable:
        return self.name, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Any:
        if "list" not in outcomes:
            self.loads += 1
            return More(Plan({"list": Group((self._list(),))}))
        return outcomes["list"][0].outcome.data

    def plan(self, question: ChainQuestion, tables: bytes) -> Plan:
        if isinstance(question, WalletQuestion) and question.address == "refused":
            raise InvalidArgument("address: no", field="address")
        rows = tuple(ContractCall("0x1", bytes([index])) for index in range(tables[0]))
        groups = {"list": Group((self._list(),)), "rows": Group(rows, is_known=False)}
        if self.elsewhere:
            groups["rate"] = Group((ContractCall("0x3", b"\x09"),), chain=self.elsewhere)
        return Plan(groups, self.prices)

    def build(self, question: ChainQuestion, outcomes: Outcomes, tables: bytes, prices: Any) -> Any:
        if self.broken is not None:
            raise self.broken("broken")
        if outcomes["list"][0].outcome.data != tables:
            raise StaleTables
        if self.extra and "extra" not in outcomes:
            return More(Plan({"extra": Group((ContractCall("0x2", b"\7"),))}))
        return self.name, len(outcomes["rows"]), outcomes.block_of("rows"), dict(prices)

    def _list(self) -> ContractCall:
        return ContractCall("0xlist", self.listed)


def runner_on(prices: Prices | None = None, clock: Callable[[], float] | None = None, **chains: Chain) -> Runner:
    def capability(slug: str, _wanted: Any) -> Any:
        return chains[slug]

    store = TableStore() if clock is None else TableStore(clock)
    return Runner(capability, store, prices or Prices())


async def test_tables_are_read_once_and_then_one_request_answers() -> None:
    chain, reader = Chain(), Reader()
    runner = runner_on(ethereum=chain)
    view = ReadView()
    found = await runner.answer(reader, ChainQuestion("ethereum"), view)
    assert found == (("reader", 2, 100, {}), 100)
    assert len(chain.requests) == 2
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert len(chain.requests) == 3
    assert [group.is_known for group in chain.requests[-1]] == [True, False]


async def test_tables_are_read_anew_after_a_day() -> None:
    now = [0.0]
    chain, reader = Chain(), Reader()
    runner = runner_on(clock=lambda: now[0], ethereum=chain)
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    now[0] = KEPT_SECONDS - 1
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert reader.loads == 1
    now[0] = KEPT_SECONDS
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert reader.loads == 2


async def test_callers_at_one_time_share_a_load() -> None:
    chain, reader = Chain(), Reader()
    runner = runner_on(ethereum=chain)
    await asyncio.gather(*(runner.answer(reader, ChainQuestion("ethereum"), ReadView()) for _ in range(5)))
    assert reader.loads == 1


async def test_a_changed_list_costs_a_request_more_and_never_a_wrong_answer() -> None:
    chain, reader = Chain(), Reader()
    runner = runner_on(ethereum=chain)
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    del chain.requests[:]
    reader.listed = b"\3"
    found = await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert found.answer[1] == 3
    # The read that showed it, the list again, the rows again.
    assert len(chain.requests) == 3


async def test_tables_that_a_read_renews_are_kept() -> None:
    class Renewing(Reader):
        def build(self, question: ChainQuestion, outcomes: Outcomes, tables: bytes, prices: Any) -> Any:
            return Renewed(("answer", tables), b"\5")

    reader, runner = Renewing(), runner_on(ethereum=Chain())
    found = await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    again = await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert (found.answer, again.answer) == (("answer", b"\2"), ("answer", b"\5"))
    assert reader.loads == 1


async def test_a_list_that_never_settles_is_an_error() -> None:
    chain, reader = Chain(), Reader()
    counter = iter(range(2, 100))
    chain.answer = lambda call: ContractOutcome(True, bytes([next(counter)]) if call.to == "0xlist" else b"")
    with pytest.raises(UpstreamUnavailable, match="change while they are read"):
        await runner_on(ethereum=chain).answer(reader, ChainQuestion("ethereum"), ReadView())


async def test_what_is_needed_besides_is_read_alone() -> None:
    chain, reader = Chain(), Reader(extra=True)
    await runner_on(ethereum=chain).answer(reader, ChainQuestion("ethereum"), ReadView())
    assert [len(groups) for groups in chain.requests] == [1, 2, 1]


async def test_a_reader_that_always_wants_more_ends() -> None:
    class Endless(Reader):
        def build(self, question: ChainQuestion, outcomes: Outcomes, tables: bytes, prices: Any) -> Any:
            return More(Plan({f"more{len(chain.requests)}": Group((ContractCall("0x2", b"\7"),))}))

    chain = Chain()
    with pytest.raises(UpstreamUnavailable, match="steps"):
        await runner_on(ethereum=chain).answer(Endless(), ChainQuestion("ethereum"), ReadView())


async def test_many_readers_leave_in_one_request() -> None:
    chain, readers = Chain(), [Reader("a"), Reader("b"), Reader("c")]
    runner = runner_on(ethereum=chain)
    questions = [(reader, WalletQuestion("ethereum", address=WALLET)) for reader in readers]
    await runner.answer_all(questions, ReadView())
    del chain.requests[:]
    found = await runner.answer_all(questions, ReadView())
    assert [one[0] for one in found] == ["a", "b", "c"]
    assert [len(groups) for groups in chain.requests] == [6]


@pytest.mark.parametrize("broken", [ZeroDivisionError, ValueError, KeyError, UpstreamUnavailable])
async def test_one_that_fails_leaves_the_others(broken: type[Exception]) -> None:
    readers = [Reader("a"), Reader("b", broken=broken)]
    question = WalletQuestion("ethereum", address=WALLET)
    found = await runner_on(ethereum=Chain()).answer_all([(reader, question) for reader in readers], ReadView())
    assert found[0][0] == "a"
    assert isinstance(found[1], UpstreamUnavailable)


async def test_lists_that_cannot_be_are_an_error() -> None:
    class Odd(Reader):
        def load(self, question: ChainQuestion, outcomes: Outcomes) -> Any:
            return dict[str, str]()["missing"]

    with pytest.raises(ContractUnreadable):
        await runner_on(ethereum=Chain()).answer(Odd(), ChainQuestion("ethereum"), ReadView())


async def test_a_question_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        await runner_on(ethereum=Chain()).answer(Reader(), WalletQuestion("ethereum", address="refused"), ReadView())


async def test_another_chain_that_is_down_costs_only_who_needs_it() -> None:
    ethereum, base = Chain(failure=UpstreamUnavailable("ethereum is down")), Chain(block=5)
    readers = [Reader("a"), Reader("b", elsewhere="ethereum")]
    question = WalletQuestion("base", address=WALLET)
    view = ReadView()
    found = await runner_on(ethereum=ethereum, base=base).answer_all([(one, question) for one in readers], view)
    assert found[0][0] == "a"
    assert isinstance(found[1], UpstreamUnavailable)
    assert view.block == 5


async def test_a_chain_of_which_nothing_can_be_read_is_no_row_but_an_error() -> None:
    """Also where the block is known already, by what is kept of it."""
    ethereum, base = Chain(), Chain(block=5)
    readers = [Reader("a"), Reader("b", elsewhere="ethereum")]
    runner = runner_on(ethereum=ethereum, base=base)
    questions = [(one, WalletQuestion("base", address=WALLET)) for one in readers]
    await runner.answer_all(questions, ReadView())
    base.failure = UpstreamUnavailable("base is down")
    for view in (ReadView(), ReadView(block=5)):
        with pytest.raises(UpstreamUnavailable, match="base is down"):
            await runner.answer_all(questions, view)


async def test_a_contract_that_does_not_answer_is_a_row_also_where_it_is_the_only_one() -> None:
    class Broken(Reader):
        def load(self, question: ChainQuestion, outcomes: Outcomes) -> Any:
            if "list" in outcomes:
                raise ContractUnreadable("no contract is there")
            return super().load(question, outcomes)

    question = WalletQuestion("base", address=WALLET)
    [found] = await runner_on(base=Chain()).answer_all([(Broken(), question)], ReadView())
    assert isinstance(found, ContractUnreadable)


async def test_prices_are_asked_beside_the_read() -> None:
    token, prices = Token("ethereum", WALLET), Prices()
    found = await runner_on(prices, ethereum=Chain()).answer(
        Reader(prices=(token,)), ChainQuestion("ethereum"), ReadView()
    )
    assert prices.asked == [{token}]
    assert found.answer[3] == {token: 7}


async def test_tables_that_take_too_long_are_there_the_next_time() -> None:
    released = asyncio.Event()

    class Slow(Chain):
        async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
            if not released.is_set():
                await released.wait()
            return await super().call_groups(groups, view)

    reader, runner = Reader(), runner_on(ethereum=Slow())
    question = WalletQuestion("ethereum", address=WALLET)
    with pytest.raises(DeadlineExceeded):
        await runner.answer_all([(reader, question)], ReadView(), load_timeout=0.05)
    released.set()
    [found] = await runner.answer_all([(reader, question)], ReadView(), load_timeout=5)
    assert found[0] == "reader"
    assert reader.loads == 1


RPCS = {
    "lend_c": "GetLendCUserPositions",
    "lend_a_v3": "GetLendAV3UserPositions",
    "pool_a_lend": "GetPoolALend",
}


def register(*readers: tuple[str, Reader]) -> list[ProtocolEntry]:
    return [
        ProtocolEntry(member, {RPCS[member]: reader}, in_summary=RPCS[member], member=member)
        for member, reader in readers
    ]


async def test_the_summary_has_seven_rows_in_order() -> None:
    chain = Chain()
    book = ProtocolReaders(
        register(
            ("lend_c", Reader("c")),
            ("lend_a_v3", Reader("a", broken=ContractUnreadable)),
            ("pool_a_lend", Reader("p")),
        ),
        runner_on(base=chain),
    )
    rows = await book.summarize("base", WALLET, ReadView())
    assert [row.member for row in rows] == [
        "lend_a_v2",
        "lend_a_v3",
        "lend_b_v2",
        "lend_b_v3",
        "lend_c",
        "stake_a",
        "pool_a_lend",
    ]
    outcomes = {row.member: row.outcome for row in rows}
    assert outcomes["lend_c"][0] == "c"
    assert isinstance(outcomes["lend_a_v3"], ContractUnreadable)
    assert outcomes["pool_a_lend"] is None


async def test_a_chain_without_any_of_them_is_not_asked() -> None:
    view = ReadView()
    rows = await ProtocolReaders(register(("lend_c", Reader())), runner_on()).summarize("monad", WALLET, view)
    assert all(row.outcome is None for row in rows)
    assert view.block is None


async def test_a_chain_that_does_not_answer_at_all_is_no_summary() -> None:
    chain = Chain(failure=UpstreamUnavailable("no node answered"))
    with pytest.raises(UpstreamUnavailable, match="no node answered"):
        await ProtocolReaders(register(("lend_c", Reader())), runner_on(ethereum=chain)).summarize(
            "ethereum", WALLET, ReadView()
        )


def test_two_readers_of_one_rpc_are_refused() -> None:
    one = ProtocolEntry("a", {"GetX": Reader()})
    with pytest.raises(ValueError, match="GetX"):
        ProtocolReaders([one, one], runner_on())


async def test_an_execution_that_nodes_refuse_is_no_mistake_of_the_caller() -> None:
    chain, reader = Chain(), Reader()
    runner = runner_on(ethereum=chain)
    await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    chain.failure = Reverted("the call fails in the virtual machine")
    with pytest.raises(ContractUnreadable, match="ethereum cannot be read: the call fails") as refused:
        await runner.answer(reader, ChainQuestion("ethereum"), ReadView())
    assert refused.value.reason == "UPSTREAM_UNAVAILABLE"
