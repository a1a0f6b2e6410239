"""The read planner: contract reads and native balances of many requests in few calls, each knowing its block exactly.

Reads of concurrent requests at the same block fold into one `eth_call` of Multicall3's `aggregate3` whose first calls
return the block number and the chain's id: they and the reads come out of one execution, so they cannot be of different
blocks or chains.

`aggregate3` uses CALL: code at one target may change what the next call of the same execution sees. Hence two ways in:
`read_shared` for targets of the gateway's own data (catalogue contracts, Multicall3's own getEthBalance), which
folds different callers together; `read_alone` for addresses that a caller chose, which gives each request an execution
of its own. `read_groups` reads groups of both kinds at one block. All of them leave in one loop turn, so the pool sends
them as one JSON-RPC batch, one HTTP request.
"""

from __future__ import annotations

import asyncio
import copy
import time
from contextlib import nullcontext
from contextvars import Context, copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runtime.tracing import READER, Reader
from server.chains.evm.reads.executions import TOO_MUCH, Answer, Executions, Quarantine, cut, pack
from server.chains.evm.reads.one_block import OneBlock, Piece, newest_of
from server.errors import GatewayError, UpstreamUnavailable
from server.upstream.batcher import BatchDelay
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.reads.multicall import Call, Outcome
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

# What waited in the collection window does not wait once more in the pool, and no two executions are the same: equal
# reads were joined before (`ChainCache.read_state`). Joining them in the pool as well would only cost a task.
_LATEST = CallPolicy(joinable=False, held=True, names_chain=True)
_LATEST_ALONE = replace(_LATEST, is_last=True)
_FREE = nullcontext()
# Calls of the caller's choice may fail with any text.
_LATEST_CHOSEN = replace(_LATEST, may_be_refused=True)


_TURNS = 48
_TURNS_ALONE = 4

LONGEST_SECONDS = 0.002
"""The longest that a read is held, its turns included: in a loop so busy it would wait for the processor otherwise."""


class CollectionWindow:
    """Collects arrivals until none came for some turns of the loop, then calls `leave` once for all of them.

    Reads of one burst do not arrive in one turn: a request may start reads as tasks of its own, and under load
    grpc.aio's thread passes on one call whenever it gets the interpreter. An idle loop makes those turns in some 30
    microseconds, a busy one brings further reads with them. (64 gRPC callers on a local node: reads that left at the
    end of their turn never folded and cost 2.5 times the processor time.) A read that comes when no other waits, as the
    one before it did, waits for its own request's other reads alone: the turns would be a twelfth of its time.

    `delay` states how long the first of them waits for others instead of those turns, where that is longer.
    """

    was_alone = False
    """Whether only one read left when `leave` was called last, and nothing of its request can follow it."""

    def __init__(self, leave: Callable[[], None], delay: BatchDelay) -> None:
        self._leave = leave
        self._delay = delay
        self._waiting: list[asyncio.Future[None]] = []
        self._is_closed = True
        self._turns = 0
        self._arrivals = 0
        self._had_company = True
        self._is_whole = False

    def arrive(self, *, is_whole: bool = False) -> None:
        """Note that a read is there, all that its request reads if it `is_whole`: `leave` is called soon."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        delay = self._delay.seconds(now)
        self._arrivals += 1
        is_alone = self._is_closed and self._delay.is_quiet and not self._had_company
        self._is_whole = is_whole
        self._turns = (1 if is_whole else _TURNS_ALONE) if is_alone else _TURNS
        if self._is_closed:
            self._is_closed = False
            if delay > 0:
                loop.call_later(delay, self._close)
            else:
                loop.call_soon(self._turn, loop, now + LONGEST_SECONDS)

    def wait(self) -> asyncio.Future[None]:
        """Arrive, and return a future of this caller's own, done once `leave` was called."""
        self.arrive()
        # Not one future for all: a caller that disconnects cancels what it awaits.
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def _turn(self, loop: asyncio.AbstractEventLoop, latest: float) -> None:
        self._turns -= 1
        if self._turns > 0 and loop.time() < latest:
            loop.call_soon(self._turn, loop, latest)
        else:
            self._close()

    def _close(self) -> None:
        self._is_closed = True
        self._had_company, self._arrivals = self._arrivals > 1, 0
        self.was_alone = self._is_whole and not self._had_company
        waiting, self._waiting = self._waiting, []
        self._leave()
        for future in waiting:
            if not future.done():
                future.set_result(None)


class CallsAtOnce(NamedTuple):
    """A group of calls of one read. `is_known`: all targets are the gateway's own choice, see `read_shared`."""

    calls: Sequence[Call]
    is_known: bool


class Grouped(NamedTuple):
    """What the calls of one group returned; `marks` are those of their block (see `Answer`)."""

    outcomes: list[Outcome]
    marks: bytes


class _Entry(NamedTuple):
    """A read that waits to leave. Its future brings the answer, or None where no other read came: it goes by itself.

    `is_marked`: it is one of several that are to be of one block, and fails where it is too much for an execution.
    `reader` is who waits for it, where that is traced.
    """

    calls: Sequence[Call]
    future: asyncio.Future[Answer | None]
    view: ReadView
    is_marked: bool
    context: Context


class ReadPlanner:
    """Plans the reads of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        self._chain = chain
        self._quarantine = Quarantine(clock)
        self._executions = Executions(chain, pool, self._quarantine, clock)
        self._one_block = OneBlock(chain, self._executions)
        self._window = CollectionWindow(self._leave, BatchDelay(pool))
        self._folds: dict[int | None, list[_Entry]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read_shared(self, view: ReadView, calls: Sequence[Call], *, is_whole: bool = False) -> list[Outcome]:
        """Return the outcomes of `calls`, folded with those of other requests at the same block; settles the view.

        Only for targets of the gateway's own choice: other requests' reads run in the same execution. With `is_whole`
        the request reads nothing else at that time.

        Raises:
            GatewayError: the node could not answer (archive state missing, unreachable, answer of another block).
        """
        async with view.turn() if view.block is None else _FREE:
            if (len(calls) > 1 and len(cut(calls)) > 1) or (self._quarantine.until and self._quarantine.holds(calls)):
                return await self._alone(view, calls, is_chosen=False)
            self._window.arrive(is_whole=is_whole)
            answer = await self._line_up(view, calls)
            if answer is None:
                is_last = self._window.was_alone
                policy = (_LATEST_ALONE if is_last else _LATEST) if view.block is None else _policy(view)
                answer = await self._one_block.run(view.block, calls, policy, view.deadline)
            doubtful = self._accept(view, calls, answer)
            return await self._ask_again(view, calls, answer, doubtful) if doubtful else answer.outcomes

    async def read_alone(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        """Return the outcomes of `calls` to addresses that one caller chose, in an execution of their own.

        Raises: as `read_shared`.
        """
        async with view.turn() if view.block is None else _FREE:
            return await self._alone(view, calls)

    async def read_groups(self, view: ReadView, groups: Sequence[CallsAtOnce]) -> list[Grouped]:
        """Return the outcomes of several groups, all of one block; settles the view.

        Known groups are folded with the reads of other requests, each of the others gets executions of its own. All
        leave together.

        Raises:
            MovedOn: the chain moved on, or replaced the block, faster than it was read.
            GatewayError: as `read_shared`.
        """
        async with view.turn() if view.block is None else _FREE:
            return await self._groups(view, groups)

    def in_turn(self) -> asyncio.Future[None]:
        """Return what is done once all planned reads leave, so that more can leave with them."""
        return self._window.wait()

    async def close(self) -> None:
        """Give up the chunks that wait or are in flight; their readers are to try again."""
        folds, self._folds = self._folds, {}
        for entries in folds.values():
            _abandon(entries)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _line_up(
        self, view: ReadView, calls: Sequence[Call], *, is_marked: bool = False
    ) -> asyncio.Future[Answer | None]:
        """Return what will be the answer to the calls, None for those that leave alone, sent by their reader."""
        entry = _Entry(calls, asyncio.get_running_loop().create_future(), view, is_marked, copy_context())
        fold = self._folds.get(view.block)
        if fold is None:
            self._folds[view.block] = [entry]
        else:
            fold.append(entry)
        return entry.future

    async def _alone(self, view: ReadView, calls: Sequence[Call], *, is_chosen: bool = True) -> list[Outcome]:
        await self._window.wait()
        answer = await self._one_block.run(view.block, calls, _policy(view, is_chosen=is_chosen), view.deadline)
        doubtful = self._accept(view, calls, answer)
        return await self._ask_again(view, calls, answer, doubtful) if doubtful else answer.outcomes

    async def _groups(self, view: ReadView, groups: Sequence[CallsAtOnce]) -> list[Grouped]:
        block, shared, alone = view.block, _policy(view), _policy(view, is_chosen=True)
        is_marked = self._chain.history_is_pinned
        pieces: list[Piece] = []
        # Of each group: where its calls stand in the order of their pieces, and how many pieces these are.
        layout: list[tuple[list[int], int]] = []
        for calls, is_known in groups:
            apart = self._apart(block, calls) if is_known else []
            order = [*(place for place in range(len(calls)) if place not in apart), *apart]
            together = [calls[place] for place in order[: len(calls) - len(apart)]]
            cuts = cut(together) if together else []
            if apart:
                cuts.append([calls[place] for place in apart])
            layout.append((order, len(cuts)))
            pieces += [Piece(piece, shared if is_known else alone) for piece in cuts]

        async def ask(piece: Piece) -> Answer:
            if piece.error is None and piece.policy is shared and not self._executions.are_single(block, piece.calls):
                self._window.arrive()
                answer = await self._line_up(view, piece.calls, is_marked=is_marked)
                if answer is not None:
                    return answer
            else:
                await self._window.wait()
            return await self._executions.run_once(block, piece.calls, piece.policy, view.deadline, is_marked=is_marked)

        if block is None and all(self._executions.are_single(block, piece.calls) for piece in pieces):
            # Nothing is folded: what is asked one by one leaves with that of others all the same.
            await self._window.wait()
        answers = await self._one_block.run_pieces(block, pieces, view.deadline, ask)
        newest = newest_of(answers)
        in_order, settled, again = iter(answers), [], []
        for (calls, _), (order, count) in zip(groups, layout, strict=True):
            outcome_at = dict(zip(order, (one for _ in range(count) for one in next(in_order).outcomes), strict=True))
            answer = newest._replace(outcomes=[outcome_at[place] for place in range(len(calls))])
            doubtful = self._accept(view, calls, answer)
            if doubtful:
                again.append(self._ask_again(view, calls, answer, doubtful))
            settled.append(Grouped(answer.outcomes, newest.marks))
        if again:
            await asyncio.gather(*again)
        return settled

    def _apart(self, block: int | None, calls: Sequence[Call]) -> list[int]:
        """Return the places of those calls that are to be asked one by one, so that the others need not be."""
        are_single = self._executions.are_single
        return (
            [place for place, call in enumerate(calls) if are_single(block, [call])] if are_single(block, calls) else []
        )

    def _leave(self) -> None:
        folds, self._folds = self._folds, {}
        for block, entries in folds.items():
            for chunk in (entries,) if len(entries) == 1 else pack(entries):
                if len(chunk) == 1:
                    # A task of its own would add nothing.
                    if not chunk[0].future.done():
                        chunk[0].future.set_result(None)
                    continue
                # The execution is its first read's, the others travel with it.
                opener = chunk[0].context
                opener.run(READER.set, _readers(chunk))
                task = asyncio.get_running_loop().create_task(self._run_chunk(block, chunk), context=opener)
                for entry in chunk[1:]:
                    if entry.view.cache is not None:
                        entry.view.cache.folded += 1
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _run_chunk(self, block: int | None, entries: list[_Entry]) -> None:
        """Run one chunk for all its entries; the task belongs to the planner, so no caller's cancellation ends it."""
        try:
            await self._answer(block, entries)
        except BaseException as error:
            _abandon(entries)
            if not isinstance(error, asyncio.CancelledError):
                raise

    async def _answer(self, block: int | None, entries: list[_Entry]) -> None:
        """Give every entry its answer or error; a chunk that fails as a whole is halved."""
        calls = [call for entry in entries for call in entry.calls]
        deadlines = [entry.view.deadline for entry in entries]
        deadline = None if None in deadlines else max(filter(None, deadlines), default=None)
        policy = _policy(entries[0].view)
        # Halves may come down to one entry.
        is_marked = any(entry.is_marked for entry in entries)
        run = self._executions.run_once if len(entries) > 1 or is_marked else self._one_block.run
        try:
            answer = await run(block, calls, policy, deadline, is_marked=is_marked)
        except GatewayError as error:
            if isinstance(error, TOO_MUCH) and len(entries) > 1:
                middle = len(entries) // 2
                await asyncio.gather(self._answer(block, entries[:middle]), self._answer(block, entries[middle:]))
                return
            for entry in entries:
                if not entry.future.done():
                    # A copy for each: an exception raised twice would grow one traceback for all.
                    entry.future.set_exception(copy.copy(error))
            return
        start = 0
        for entry in entries:
            end = start + len(entry.calls)
            if not entry.future.done():
                entry.future.set_result(answer._replace(outcomes=answer.outcomes[start:end]))
            start = end

    def _accept(self, view: ReadView, calls: Sequence[Call], answer: Answer) -> list[int]:
        """Settle the view on the answer's block, if it is the view's; return the places of doubtful outcomes.

        These are failures without return data, of calls that are not optional: their neighbours
        may have used up the gas.
        """
        if view.block is not None:
            self._chain.check_block(view, answer.block)
        view.settle(answer.block, answer.endpoint)
        doubtful: list[int] = []
        for index, (success, data) in enumerate(answer.outcomes):
            if not success and not data and not calls[index].is_optional:
                doubtful.append(index)
        return doubtful if self._chain.history_is_pinned else []

    async def _ask_again(
        self, view: ReadView, calls: Sequence[Call], answer: Answer, doubtful: Sequence[int]
    ) -> list[Outcome]:
        """Return the outcomes, those in the doubtful places asked again alone."""
        # That they fail is known: the question is whether they fail alone.
        block, policy = view.block, _policy(view, is_chosen=True)
        suspects = [calls[index] for index in doubtful]
        again = await self._executions.run_one_by_one(block, suspects, policy, view.deadline)
        for index, outcome in zip(doubtful, again.outcomes, strict=True):
            answer.outcomes[index] = outcome
        return answer.outcomes


def _readers(entries: Sequence[_Entry]) -> Reader | None:
    """Return all who wait for the entries as one reader, None where none of them is traced."""
    parts = [reader for entry in entries if (reader := entry.context.get(READER)) is not None]
    return Reader(parts=parts) if parts else None


def _policy(view: ReadView, *, is_chosen: bool = False) -> CallPolicy:
    if view.block is None:
        return _LATEST_CHOSEN if is_chosen else _LATEST
    return CallPolicy(
        joinable=False,
        min_block=view.block,
        prefer=view.endpoint,
        held=True,
        may_be_refused=is_chosen,
        names_chain=True,
    )


def _abandon(entries: list[_Entry]) -> None:
    for entry in entries:
        if not entry.future.done():
            entry.future.set_exception(UpstreamUnavailable("the read was abandoned; try again"))
