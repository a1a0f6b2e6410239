"""Executes the plans of readers: all that one question, or many, need of a chain leaves together, at one block."""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from server.chains.capabilities.contracts import CallsContracts
from server.chains.view import ATTEMPTS, ReadView, read_in_steps
from server.contracts.calls import CallGroup
from server.errors import (
    DeadlineExceeded,
    GatewayError,
    MovedOn,
    Reverted,
    UpstreamUnavailable,
    release,
)
from server.protocols.plan import NONSENSE, Branch, ContractUnreadable, More, Outcomes, WalletPlan, unreadable
from server.protocols.reader import WalletQuestion
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence

    from server.apis.documents import Document, DocumentRequest
    from server.prices import Price
    from server.protocols.plan import Group, Plan
    from server.protocols.reader import ChainQuestion, Reader, TokenPrices
    from server.protocols.tables import TableStore

    Capability = Callable[[str, type[CallsContracts]], CallsContracts]

# What a load of tables may take: it serves every caller and does not end with the one that began it.
_LOAD_SECONDS = 15.0
# Of the time that is left, documents that come before a read of the chain may take this part.
_DOCUMENTS_SHARE = 0.6
# How long documents are waited for while tables are read, where they only help to explain a failure.
_HINTS_SECONDS = 1.0
# Reads of a chain that follow one another: the plan and what readers may need besides.
_MOST_ROUNDS = 4
_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")
# Replaced by other wallets in plans: no part of it stands in calldata by chance.
_SOME_WALLET = "0x" + secrets.token_bytes(20).hex()


class ReadsTokenPrices(Protocol):
    """Returns current prices of tokens."""

    async def read_tokens(
        self, tokens: Iterable[tuple[str, str]], *, deadline: float | None, cache: CacheContext | None
    ) -> Mapping[tuple[str, str], Price]:
        """Return the prices in US dollars of those tokens that have one, by chain slug and address."""
        ...


class ReadsDocuments(Protocol):
    """Reads documents of off-chain APIs."""

    async def read(self, request: DocumentRequest, *, deadline: float | None, cache: CacheContext | None) -> Document:
        """Return a document; raises GatewayError where its source fails."""
        ...


class _NoDocuments:
    async def read(self, request: DocumentRequest, *, deadline: float | None, cache: CacheContext | None) -> Document:
        raise UpstreamUnavailable(f"{request.source} is not configured", retry_after_ms=60_000)


class Reading(NamedTuple):
    """An answer and the block that it was read at; None where nothing had to be read."""

    answer: Any
    block: int | None


class Runner:
    """Runs readers.

    `capability` returns how a chain's contracts are called; `prices` returns prices of tokens, `documents` what
    off-chain APIs state.
    """

    def __init__(
        self,
        capability: Callable[[str, Any], CallsContracts],
        store: TableStore,
        prices: ReadsTokenPrices,
        documents: ReadsDocuments | None = None,
    ) -> None:
        self._capability = capability
        self._store = store
        self._prices = prices
        self._documents = documents or _NoDocuments()
        # Plans of wallets' questions with the tables that they were made with.
        self._plans: dict[tuple[Reader[Any, Any], Hashable], tuple[Any, WalletPlan]] = {}

    async def answer(self, reader: Reader[Any, Any], question: ChainQuestion, view: ReadView) -> Reading:
        """Return the answer of one reader at the view's block, which is settled.

        Where the chain moves on between two steps, and its nodes know the latest state alone, the answer begins again.

        Raises:
            GatewayError: a node, a contract or the question stands in the way; see the reader.
        """

        async def read(trial: ReadView) -> Any:
            [found] = await self.answer_all([(reader, question)], trial)
            if isinstance(found, GatewayError):
                raise found
            return found

        return Reading(await read_in_steps(view, read), view.block)

    async def answer_all(
        self,
        questions: Sequence[tuple[Reader[Any, Any], ChainQuestion]],
        view: ReadView,
        *,
        load_timeout: float | None = None,
    ) -> list[Any | GatewayError]:
        """Return each reader's answer or its failure, in order; all of the view's chain is read at one block.

        `load_timeout` is how long, in seconds, tables may take that were not read before; a reader whose tables take
        longer fails with DeadlineExceeded, and finds them the next time.

        Raises:
            GatewayError: nothing of the chain could be read for any of them; the first failure.
        """
        branches = [Branch(reader, question, self._plan) for reader, question in questions]
        views = {question.chain: view for _, question in questions}
        await _side_by_side([self._prepare(branch, load_timeout) for branch in branches])
        steps = 0
        for _ in range(2 * _MOST_ROUNDS):
            waiting = [branch for branch in branches if branch.result is None]
            # Documents determine what to read: by themselves they are no step.
            steps += any(branch.plan.groups for branch in waiting)
            if not waiting or steps > _MOST_ROUNDS:
                break
            await self._read(waiting, views)
            stale = [branch for branch in waiting if branch.advance()]
            for branch in waiting:
                if branch.renewed is not None:
                    self._store.keep(branch.reader.subject(branch.question), branch.renewed)
            await _side_by_side([self._renew(branch, view) for branch in stale])
        results = [branch.close() for branch in branches]
        if results and not any(branch.was_answered for branch in branches):
            raise results[0]
        return results

    def _plan(self, reader: Reader[Any, Any], question: ChainQuestion, tables: Any) -> Plan:
        """Return the reader's plan; that of a wallet is made anew for other tables alone."""
        if type(question) is not WalletQuestion or question.block is not None:
            return reader.plan(question, tables)
        if _ADDRESS.fullmatch(question.address) is None:
            return reader.plan(question, tables)
        key = reader, reader.subject(question)
        kept = self._plans.get(key)
        if kept is None or kept[0] is not tables:
            plan = reader.plan(WalletQuestion(question.chain, address=_SOME_WALLET), tables)
            kept = self._plans[key] = tables, WalletPlan(plan, _SOME_WALLET)
        return kept[1].of_wallet(question.address)

    async def _prepare(self, branch: Branch, load_timeout: float | None) -> None:
        """Give the branch its tables and its plan."""
        key = branch.reader.subject(branch.question)
        kept = self._store.find(key)
        if kept is not None:
            branch.begin(kept.tables)
            return
        deadline = time.monotonic() + _LOAD_SECONDS
        try:
            async with asyncio.timeout(load_timeout):
                tables = await self._store.load(key, key, lambda: self._load(branch, ReadView(deadline=deadline)))
        except TimeoutError:
            branch.result = DeadlineExceeded(
                f"the tables of the protocol on {branch.question.chain} take longer than {load_timeout:g} s to read; "
                "try again in a moment",
                retry_after_ms=1000,
            )
        except GatewayError as error:
            branch.result = error
        else:
            branch.begin(tables)

    async def _renew(self, branch: Branch, view: ReadView) -> None:
        """Read tables that proved to be old once more, at the block of the answer that showed it, and plan again."""
        if branch.is_renewed:
            branch.result = UpstreamUnavailable(
                f"the protocol's lists on {branch.question.chain} change while they are read; try again",
                retry_after_ms=1000,
            )
            return
        branch.is_renewed = True
        key = branch.reader.subject(branch.question)
        self._store.drop(key, branch.tables)
        pinned = ReadView(block=view.block if view.is_chosen else None, deadline=view.deadline)
        if view.block is not None:
            pinned.settle(view.block, view.endpoint)
        try:
            tables = await self._store.load(key, (key, view.block), lambda: self._load(branch, pinned))
        except GatewayError as error:
            branch.result = error
        else:
            branch.begin(tables)

    async def _load(self, branch: Branch, view: ReadView) -> Any:
        """Return the tables of a branch's subject, read at the view's block.

        Where that is gone before the last step, the rest is of a later one: what tables hold is compared in the read
        that uses them.
        """
        outcomes, attempts = Outcomes(), ATTEMPTS
        views = {branch.question.chain: view}
        while True:
            try:
                loaded = branch.reader.load(branch.question, outcomes)
            except NONSENSE as error:
                raise unreadable(branch.question.chain, error) from None
            if not isinstance(loaded, More):
                return loaded
            jobs = [(outcomes, loaded.plan)]
            failures, _ = await asyncio.gather(
                self._execute(branch.question.chain, jobs, views), self._fetch(jobs, view, _HINTS_SECONDS)
            )
            for failure in failures:
                attempts -= failure is not None
                if isinstance(failure, MovedOn) and attempts:
                    # What is kept of the chain's head is of the block that is gone.
                    view = ReadView(deadline=view.deadline, cache=CacheContext(bypass=True))
                    views = {branch.question.chain: view}
                elif failure is not None:
                    raise failure

    async def _read(self, branches: Sequence[Branch], views: dict[str, ReadView]) -> None:
        chain = branches[0].question.chain
        jobs = [(branch.outcomes, branch.plan) for branch in branches]
        tokens = {token: None for branch in branches for token in branch.plan.prices}
        view = views[chain]
        prices: TokenPrices = {}
        if tokens or any(plan.documents for _, plan in jobs):
            failures, prices, _ = await asyncio.gather(
                self._execute(chain, jobs, views),
                self._prices.read_tokens(tokens, deadline=view.deadline, cache=view.cache) if tokens else _no_prices(),
                self._fetch(jobs, view),
            )
        else:
            failures = await self._execute(chain, jobs, views)
        for branch, failure in zip(branches, failures, strict=True):
            branch.prices = {**branch.prices, **prices}
            if failure is not None:
                branch.result = failure

    async def _fetch(self, jobs: Sequence[tuple[Outcomes, Plan]], view: ReadView, most: float = math.inf) -> None:
        """Give all plans their documents, or what their sources failed with; one that several name is read once.

        Where the view has a deadline they are waited for `most` seconds at the longest.
        """
        wanted: dict[DocumentRequest, list[Outcomes]] = {}
        deadline = view.deadline
        if deadline is not None:
            # A reader may do without: what a source that hangs leaves has to be enough for the chain.
            now = time.monotonic()
            deadline = now + min(_DOCUMENTS_SHARE * (deadline - now), most)
        for outcomes, plan in jobs:
            for request in plan.documents:
                if not outcomes.has_document(request):
                    wanted.setdefault(request, []).append(outcomes)

        async def read(request: DocumentRequest, readers: list[Outcomes]) -> None:
            found: Document | GatewayError
            try:
                found = await self._documents.read(request, deadline=deadline, cache=view.cache)
            except GatewayError as error:
                release(error)
                found = error
            for outcomes in readers:
                outcomes.add_document(request, found)

        await asyncio.gather(*(read(*item) for item in wanted.items()))

    async def _execute(
        self, chain: str, jobs: Sequence[tuple[Outcomes, Plan]], views: dict[str, ReadView]
    ) -> list[GatewayError | None]:
        """Run all groups of all plans, those of one chain together; return what failed each plan.

        What is known already is not read again.
        """
        together: dict[_Where, list[_Job]] = {}
        for index, (outcomes, plan) in enumerate(jobs):
            for name, group in plan.groups.items():
                if name not in outcomes:
                    where = _Where(group.chain or chain, group.seconds_back, group.any_block)
                    together.setdefault(where, []).append(_Job(index, name, group))
        main = views[chain]
        failures: list[GatewayError | None] = [None] * len(jobs)

        async def run(where: _Where, of_block: list[_Job]) -> None:
            view = ReadView(deadline=main.deadline, cache=main.cache)
            if not where.any_block:
                view = views.setdefault(where.chain, view)
            groups = [CallGroup(job.group.calls, job.group.is_known) for job in of_block]
            contracts = self._capability(where.chain, CallsContracts)
            block: int | None
            try:
                if where.seconds_back:
                    past = await contracts.call_groups_back(groups, where.seconds_back, view)
                    block, found = (None, None) if past is None else past
                else:
                    found = await contracts.call_groups(groups, view)
                    block = view.block
            except GatewayError as error:
                # What readers call is no choice of the caller, so that it cannot be run is none of their mistakes.
                failure = _refused(where.chain, error) if isinstance(error, Reverted) else error
                for job in of_block:
                    failures[job.place] = failures[job.place] or failure
                return
            for number, job in enumerate(of_block):
                if found is None:
                    jobs[job.place][0].add_absent(job.name)
                else:
                    jobs[job.place][0].add(job.name, where.chain, block or 0, job.group, found[number])

        await _side_by_side([run(*item) for item in together.items()])
        return failures


class _Where(NamedTuple):
    """What groups are read together by: see `Group`."""

    chain: str
    seconds_back: float
    any_block: bool


class _Job(NamedTuple):
    place: int
    name: str
    group: Group


def _refused(chain: str, error: Reverted) -> ContractUnreadable:
    """Return the failure of an execution that nodes refuse to run as a whole."""
    return ContractUnreadable(
        f"the contracts of the protocol on {chain} cannot be read: {error.message}", retry_after_ms=1000
    )


async def _side_by_side(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all works; a single one without the tasks and the turns of the loop that several cost."""
    if len(works) == 1:
        await works[0]
    else:
        await asyncio.gather(*works)


async def _no_prices() -> TokenPrices:
    return {}
