"""The read planner: contract reads and native balances of many requests in few calls, each knowing its block exactly.

Reads of concurrent requests at the same block fold into one `eth_call` of Multicall3's `aggregate3` whose first call
returns the block number: number and reads come out of one execution, so they cannot be of different blocks.

`aggregate3` uses CALL: code at one target may change what the next call of the same execution sees. Hence two ways in:
`read_shared` for targets that the gateway itself knows (catalogue contracts, Multicall3's own getEthBalance), which
folds different callers together; `read_alone` for addresses that a caller chose, which gives each request an execution
of its own. All of them leave in one loop turn, so the pool sends them as one JSON-RPC batch, one HTTP request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from server.chains.evm.gate import Gate
from server.chains.evm.multicall import Call, Outcome, decode_aggregate3, encode_aggregate3
from server.chains.evm.quantity import block_tag, json_data, word
from server.chains.evm.singles import SingleReads
from server.errors import (
    GatewayError,
    InvalidArgument,
    NotSupported,
    Reverted,
    UpstreamDisagrees,
    UpstreamUnavailable,
)
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

# Bounds of one execution: nodes cap the gas of an eth_call (10 million at the strictest met) and the size of a request.
MAX_CALLS = 200
MAX_BYTES = 64 * 1024

_LATEST = CallPolicy()
# By these a node says that it cannot or will not run the aggregate; the reads may still work one by one.
_REFUSALS = (Reverted, NotSupported, InvalidArgument)


class _Answer(NamedTuple):
    block: int
    endpoint: str | None
    outcomes: list[Outcome]


class _Entry(NamedTuple):
    calls: Sequence[Call]
    future: asyncio.Future[_Answer]
    view: ReadView


class ReadPlanner:
    """Plans the reads of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool) -> None:
        self._chain = chain
        self._pool = pool
        self._multicall = "0x" + chain.multicall.hex()
        self._singles = SingleReads(chain, pool)
        self._gate = Gate(self._leave)
        self._folds: dict[int | None, list[_Entry]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read_shared(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        """Return the outcomes of `calls`, folded with those of other requests at the same block; settles the view.

        Only for targets of the gateway's own choice: other requests' reads run in the same execution.

        Raises:
            GatewayError: the node could not answer (archive state missing, unreachable, answer of another block).
        """
        if view.block is None:
            async with view.turn():
                return await self._shared(view, calls)
        return await self._shared(view, calls)

    async def read_alone(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        """Return the outcomes of `calls` to addresses that one caller chose, in an execution of their own.

        Raises: as `read_shared`.
        """
        if view.block is None:
            async with view.turn():
                return await self._alone(view, calls)
        return await self._alone(view, calls)

    async def in_turn(self) -> None:
        """Wait until all planned reads leave, so that more can leave with them."""
        await self._gate.arrive()

    async def close(self) -> None:
        """Give up the chunks in flight; their readers are told to try again."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _shared(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        if len(calls) > MAX_CALLS:
            outcomes = await self._shared(view, calls[:MAX_CALLS])
            return outcomes + await self._shared(view, calls[MAX_CALLS:])
        gate = self._gate.arrive()
        entry = _Entry(calls, gate.get_loop().create_future(), view)
        fold = self._folds.get(view.block)
        if fold is None:
            self._folds[view.block] = [entry]
        else:
            fold.append(entry)
        return await self._accept(view, calls, await entry.future)

    async def _alone(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        await self._gate.arrive()
        answer = await self._execute(view.block, calls, _policy(view), view.deadline)
        return await self._accept(view, calls, answer)

    def _leave(self) -> None:
        folds, self._folds = self._folds, {}
        for block, entries in folds.items():
            for chunk in _chunks(entries):
                task = asyncio.get_running_loop().create_task(self._run_chunk(block, chunk))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _run_chunk(self, block: int | None, entries: list[_Entry]) -> None:
        """Run one chunk for all its entries; the task belongs to the planner, so no caller's cancellation ends it."""
        calls = [call for entry in entries for call in entry.calls]
        deadlines = [entry.view.deadline for entry in entries]
        deadline = None if None in deadlines else max(filter(None, deadlines), default=None)
        try:
            answer = await self._execute(block, calls, _policy(entries[0].view), deadline)
        except GatewayError as error:
            for entry in entries:
                if not entry.future.done():
                    entry.future.set_exception(_copy(error))
            return
        except BaseException as error:
            for entry in entries:
                if not entry.future.done():
                    entry.future.set_exception(UpstreamUnavailable("the read was abandoned; try again"))
            if not isinstance(error, asyncio.CancelledError):
                raise
            return
        start = 0
        for entry in entries:
            end = start + len(entry.calls)
            if not entry.future.done():
                entry.future.set_result(_Answer(answer.block, answer.endpoint, answer.outcomes[start:end]))
            start = end

    async def _execute(
        self, block: int | None, calls: Sequence[Call], policy: CallPolicy, deadline: float | None
    ) -> _Answer:
        chain = self._chain
        if block is not None and block < chain.deploy_block and chain.history_is_pinned:
            return _Answer(*await self._singles.read(block, calls, policy, deadline))
        data = "0x" + encode_aggregate3([chain.number_call, *calls]).hex()
        try:
            reply = await self._pool.call(
                "eth_call", [{"to": self._multicall, "data": data}, block_tag(block)], policy, deadline=deadline
            )
        except _REFUSALS as error:
            return await self._fall_back(block, calls, policy, deadline, error)
        try:
            number, *outcomes = decode_aggregate3(json_data(reply.result), len(calls) + 1)
            height = word(number.data)
        except ValueError:
            return await self._fall_back(block, calls, policy, deadline, None)
        if block is None:
            self._pool.observe_head(reply.endpoint, height)
        return _Answer(height, reply.endpoint, outcomes)

    async def _fall_back(
        self,
        block: int | None,
        calls: Sequence[Call],
        policy: CallPolicy,
        deadline: float | None,
        error: GatewayError | None,
    ) -> _Answer:
        """Read one by one where Multicall3 is not there or failed as a whole, if the nodes are honest about heights."""
        if not self._chain.history_is_pinned:
            raise error or UpstreamDisagrees(f"the nodes of {self._chain.slug} do not run Multicall3")
        return _Answer(*await self._singles.read(block, calls, policy, deadline))

    async def _accept(self, view: ReadView, calls: Sequence[Call], answer: _Answer) -> list[Outcome]:
        """Return the outcomes if they are of the view's block, and settle the view on it.

        Failures without return data are asked again alone first: they may have been starved of gas by their neighbours.
        """
        self._chain.check_block(view, answer.block)
        view.settle(answer.block, answer.endpoint)
        outcomes = answer.outcomes
        doubtful = [index for index, (success, data) in enumerate(outcomes) if not success and not data]
        if not doubtful or not self._chain.history_is_pinned:
            return outcomes
        block, policy = view.block, _policy(view)
        _, _, again = await self._singles.read(block, [calls[index] for index in doubtful], policy, view.deadline)
        for index, outcome in zip(doubtful, again, strict=True):
            outcomes[index] = outcome
        return outcomes


def _policy(view: ReadView) -> CallPolicy:
    if view.block is None:
        return _LATEST
    return CallPolicy(min_block=view.block, prefer=view.endpoint)


def _chunks(entries: list[_Entry]) -> list[list[_Entry]]:
    """Split a fold into chunks within the bounds; the calls of one entry stay together."""
    chunks: list[list[_Entry]] = [[]]
    count = size = 0
    for entry in entries:
        entry_size = sum(len(call.data) for call in entry.calls)
        if chunks[-1] and (count + len(entry.calls) > MAX_CALLS or size + entry_size > MAX_BYTES):
            chunks.append([])
            count = size = 0
        chunks[-1].append(entry)
        count += len(entry.calls)
        size += entry_size
    return chunks


def _copy(error: GatewayError) -> GatewayError:
    """Return an equal error for another caller: an exception raised twice would grow one traceback for all."""
    return type(error)(
        error.message, field=error.field, retry_after_ms=error.retry_after_ms, metadata=dict(error.metadata)
    )
