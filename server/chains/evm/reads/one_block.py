"""Any number of calls at one block, in as many executions as their bounds and the nodes ask for.

At `latest` all executions leave together, in one JSON-RPC batch, and each returns its block: number, time, parent hash,
prevrandao. Where a block was mined or replaced between two of them, those that are not of the newest block are asked
once more, pinned to it, at the endpoint that has it; a second difference is `MovedOn`. An execution that a node finds
too much is halved, and so on, its halves at the block of the others.

Where nodes may answer a pinned read with another block's state nothing is asked again: different blocks are `MovedOn`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from server.chains.evm.reads.executions import TOO_MUCH, Answer, cut
from server.errors import GatewayError, MovedOn
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.reads.executions import Executions
    from server.chains.evm.reads.multicall import Call

_RETRY_MS = 1000


class Piece(NamedTuple):
    """Calls of one execution and how they are asked; `error` is why a single call did not run as one."""

    calls: Sequence[Call]
    policy: CallPolicy
    error: GatewayError | None = None


class OneBlock:
    """Runs calls of one chain at one block."""

    def __init__(self, chain: EvmChain, executions: Executions) -> None:
        self._chain = chain
        self._executions = executions
        self._is_marked = chain.history_is_pinned

    def run(
        self,
        block: int | None,
        calls: Sequence[Call],
        policy: CallPolicy,
        deadline: float | None,
        *,
        is_marked: bool = False,
    ) -> Coroutine[Any, Any, Answer]:
        """Return the outcomes of all calls at one block, `latest` for None; `is_marked` as `Executions.run_once`.

        Raises:
            MovedOn: the chain moved on, or replaced the block, faster than it was read.
            GatewayError: the nodes could not answer.
        """
        if self._executions.are_single(block, calls):
            return self._executions.run_one_by_one(block, calls, policy, deadline)
        if len(calls) > 1 and len(cuts := cut(calls)) > 1:
            return self._run_cuts(block, [Piece(calls, policy) for calls in cuts], deadline)
        return self._executions.execute(
            block,
            calls,
            policy,
            deadline,
            is_marked=is_marked,
            split=lambda error: self._run_halves(block, Piece(calls, policy), error, deadline),
        )

    async def _run_cuts(self, block: int | None, pieces: Sequence[Piece], deadline: float | None) -> Answer:
        return merge(await self.run_pieces(block, pieces, deadline))

    async def run_pieces(
        self,
        block: int | None,
        pieces: Sequence[Piece],
        deadline: float | None,
        ask: Callable[[Piece], Awaitable[Answer]] | None = None,
    ) -> list[Answer]:
        """Return what each piece returned, all at one block.

        `ask` runs a piece in one execution at `block`, with whatever else leaves at that moment; it raises one of
        `TOO_MUCH` where that is too much.

        Raises: as `run`.
        """

        async def ask_now(piece: Piece) -> Answer:
            return await self._run_once(block, piece, deadline)

        executions = self._executions
        single = [executions.are_single(block, piece.calls) for piece in pieces]
        if not self._chain.history_is_pinned or block is not None or not any(single):
            return await self._settle(block, pieces, await _gather(map(ask or ask_now, pieces)), deadline)
        if all(single):
            return await self._run_one_by_one(pieces, deadline)
        # Alone the single calls would read at a block of their own: they follow the executions to theirs.
        running = [piece for piece, is_single in zip(pieces, single, strict=True) if not is_single]
        answers = await self._settle(None, running, await _gather(map(ask or ask_now, running)), deadline)
        following = [piece for piece, is_single in zip(pieces, single, strict=True) if is_single]
        newest = newest_of(answers)
        rest = await asyncio.gather(*(self._ask_again(None, newest, piece, None, deadline) for piece in following))
        in_order = iter(answers), iter(rest)
        return [next(in_order[is_single]) for is_single in single]

    async def _settle(
        self,
        block: int | None,
        pieces: Sequence[Piece],
        answers: Sequence[Answer | GatewayError],
        deadline: float | None,
    ) -> list[Answer]:
        """Return the answers if they are of one block; ask those again that are not of the newest, or too much."""
        complete = [answer for answer in answers if isinstance(answer, Answer)]
        if not complete:
            return await self._split_all(block, pieces, answers, deadline)
        settled: list[Answer | GatewayError] = list(answers)
        newest = newest_of(complete)
        again = self._stale(answers, newest)
        if again:
            wanted = [(pieces[index], answers[index]) for index in again]
            asked = await asyncio.gather(*(self._ask_again(block, newest, *one, deadline) for one in wanted))
            for index, answer in zip(again, asked, strict=True):
                settled[index] = answer
        result = [answer for answer in settled if isinstance(answer, Answer)]
        newest = newest_of(result)
        if not all(answer.is_of_block(newest) for answer in result):
            raise MovedOn(f"{self._chain.slug} moved on while it was read; try again", retry_after_ms=_RETRY_MS)
        return result

    def _stale(self, answers: Sequence[Answer | GatewayError], newest: Answer) -> list[int]:
        """Return which of the answers are to be asked again, by their places."""
        missing = [index for index, answer in enumerate(answers) if not isinstance(answer, Answer)]
        if not self._chain.history_is_pinned:
            return missing
        others = [
            index
            for index, answer in enumerate(answers)
            if isinstance(answer, Answer) and not answer.is_of_block(newest)
        ]
        if any(
            answer.block == newest.block for answer in map(answers.__getitem__, others) if isinstance(answer, Answer)
        ):
            # Two blocks of one height: which of them stands shows once all are asked again.
            return list(range(len(answers)))
        return sorted(missing + others)

    async def _ask_again(
        self,
        block: int | None,
        newest: Answer,
        piece: Piece,
        answer: Answer | GatewayError | None,
        deadline: float | None,
    ) -> Answer:
        """Return what a piece returns at the newest block, where nodes can be asked for a block."""
        if self._chain.history_is_pinned:
            block = newest.block if block is None else block
            piece = piece._replace(policy=_pinned(piece.policy, block, newest.endpoint))
        if isinstance(answer, GatewayError):
            return await self._run_halves(block, piece, answer, deadline)
        return await self.run(block, piece.calls, piece.policy, deadline, is_marked=self._is_marked)

    async def _run_halves(self, block: int | None, piece: Piece, error: GatewayError, deadline: float | None) -> Answer:
        """Return what the calls return that were too much for one execution."""
        return (await self._split_all(block, [piece], [error], deadline))[0]

    async def _split_all(
        self,
        block: int | None,
        pieces: Sequence[Piece],
        errors: Sequence[Answer | GatewayError],
        deadline: float | None,
    ) -> list[Answer]:
        """Return what the pieces return, each of which was too much for one execution."""
        halves: list[Piece] = []
        counts: list[int] = []
        for piece, error in zip(pieces, errors, strict=True):
            middle = len(piece.calls) // 2
            if middle:
                parts = [piece.calls[:middle], piece.calls[middle:]]
                halves += [piece._replace(calls=part) for part in parts]
            elif isinstance(error, GatewayError):
                halves.append(piece._replace(error=error))
            counts.append(2 if middle else 1)
        answers = iter(await self.run_pieces(block, halves, deadline))
        return [merge([next(answers) for _ in range(count)]) for count in counts]

    async def _run_one_by_one(self, pieces: Sequence[Piece], deadline: float | None) -> list[Answer]:
        """Return what the calls of all pieces return at the newest block, each asked by itself."""
        calls = [call for piece in pieces for call in piece.calls]
        policy = next((piece.policy for piece in pieces if piece.policy.may_be_refused), pieces[0].policy)
        answer = await self._executions.run_one_by_one(None, calls, policy, deadline)
        outcomes = iter(answer.outcomes)
        return [answer._replace(outcomes=[next(outcomes) for _ in piece.calls]) for piece in pieces]

    async def _run_once(self, block: int | None, piece: Piece, deadline: float | None) -> Answer:
        calls, policy, error = piece
        if error is not None:
            return await self._executions.fall_back(block, calls, policy, deadline, error)
        return await self._executions.run_once(block, calls, policy, deadline, is_marked=self._is_marked)


def merge(answers: Sequence[Answer]) -> Answer:
    """Return answers of one block as one."""
    if len(answers) == 1:
        return answers[0]
    return newest_of(answers)._replace(outcomes=[outcome for answer in answers for outcome in answer.outcomes])


def newest_of(answers: Sequence[Answer]) -> Answer:
    """Return the last answer of those of the newest block, one with the block's marks if any has them."""
    newest = answers[0]
    for answer in answers:
        if (answer.block, bool(answer.marks)) >= (newest.block, bool(newest.marks)):
            newest = answer
    return newest


def _pinned(policy: CallPolicy, block: int, endpoint: str | None) -> CallPolicy:
    return CallPolicy(
        joinable=False,
        min_block=block,
        prefer=endpoint,
        held=True,
        may_be_refused=policy.may_be_refused,
        names_chain=True,
    )


async def _gather(asked: Iterable[Awaitable[Answer]]) -> list[Answer | GatewayError]:
    """Return the answers, with the error in the place of each execution that was too much."""

    async def take(one: Awaitable[Answer]) -> Answer | GatewayError:
        try:
            return await one
        except TOO_MUCH as error:
            return error

    whole = list(asked)
    # A task of its own would add nothing.
    return [await take(whole[0])] if len(whole) == 1 else await asyncio.gather(*map(take, whole))
