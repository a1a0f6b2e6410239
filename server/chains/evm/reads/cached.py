"""The planner's reads through the cache, and contract calls by them: repeated reads of a block ask no node."""

from __future__ import annotations

import itertools
import time
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from server.chains.capabilities.contracts import CallsContracts
from server.chains.evm.newest import read_newest_height
from server.chains.evm.reads.multicall import Call, Outcome, without_precompiles
from server.chains.evm.reads.planner import CallsAtOnce, Grouped
from server.chains.shared.cache import CachedState, Question
from server.chains.view import ReadView
from server.contracts.address import address_bytes
from server.contracts.calls import ContractOutcome
from server.errors import ArchiveRequired, InvalidArgument, MovedOn, NotFound, UpstreamDisagrees

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.newest import Heights
    from server.chains.evm.reads.planner import ReadPlanner
    from server.chains.shared.cache import ChainCache
    from server.contracts.calls import CallGroup, ContractCall
    from server.upstream.pool import Pool

_SIZE_BYTES = 4
_IS_OPTIONAL = attrgetter("is_optional")
_STATELESS_SECONDS = 60.0
# With these nodes report that they have no state of a block; one that answers with another block's has none either.
_NO_STATE = (ArchiveRequired, NotFound, InvalidArgument, UpstreamDisagrees)


class _Sizes(dict[int, bytes]):
    """Lengths as bytes; calls and outcomes have few different ones."""

    def __missing__(self, length: int) -> bytes:
        size = length.to_bytes(_SIZE_BYTES)
        if length < _KEPT_SIZES:
            self[length] = size
        return size


_KEPT_SIZES = 1024
_SIZES = _Sizes()


class CachedReads:
    """Reads like the planner, through the chain's cache.

    The calls of one read are cached together, under all of them in their order: a contract that a caller chose may
    change what the calls after it see, and that must reach no caller with other calls.
    """

    def __init__(self, planner: ReadPlanner, cache: ChainCache) -> None:
        self._planner = planner
        self._cache = cache
        self.facts = cache.facts

    def read_shared(
        self, view: ReadView, calls: Sequence[Call], *, is_whole: bool = False
    ) -> Coroutine[Any, Any, list[Outcome]]:
        """See `ReadPlanner.read_shared`."""
        read = partial(self._planner.read_shared, view, calls, is_whole=is_whole)
        return self._cache.read_state(view, _cached(_SHARED, calls), pack_calls(calls), read)

    async def read_alone(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        """See `ReadPlanner.read_alone`; addresses of callers may be those of precompiles, which are no contracts."""
        outcomes = await self._cache.read_state(
            view, _cached(_ALONE, calls), pack_calls(calls), lambda: self._planner.read_alone(view, calls)
        )
        return without_precompiles(calls, outcomes)

    async def read_groups(self, view: ReadView, groups: Sequence[CallsAtOnce]) -> list[list[Outcome]]:
        """See `ReadPlanner.read_groups`; each group is looked up and cached by itself.

        What is cached names its block as what is read does: if the block was replaced meanwhile, all is read again.
        """
        wanted = [place for place, group in enumerate(groups) if group.calls]

        async def read(places: Sequence[int]) -> list[Grouped]:
            return await self._planner.read_groups(view, [groups[wanted[place]] for place in places])

        questions = [_question(groups[place]) for place in wanted]
        answers = await self._cache.read_states(view, questions, read)
        if _differ(answers):
            self._cache.drop_recent()
            answers = await self._cache.read_states(view, questions, read)
            if _differ(answers):
                raise MovedOn("the block was replaced while it was read; try again", retry_after_ms=1000)
        outcomes: list[list[Outcome]] = [[] for _ in groups]
        for place, answer in zip(wanted, answers, strict=True):
            calls, is_known = groups[place]
            outcomes[place] = answer.outcomes if is_known else without_precompiles(calls, answer.outcomes)
        return outcomes


def pack_calls(calls: Sequence[Call]) -> bytes:
    """Return the calls as bytes that no other calls have."""
    parts: list[bytes] = []
    for target, data, _, sender, is_optional in calls:
        if sender is None:
            parts += (b"\2" if is_optional else b"\0", target, _SIZES[len(data)], data)
        else:
            parts += (b"\3" if is_optional else b"\1", sender, target, _SIZES[len(data)], data)
    return b"".join(parts)


def pack_outcomes(outcomes: Sequence[Outcome]) -> bytes:
    """Return the outcomes as bytes."""
    parts: list[bytes] = []
    for success, data in outcomes:
        parts += (b"\1" if success else b"\0", _SIZES[len(data)], data)
    return b"".join(parts)


def unpack_outcomes(packed: bytes) -> list[Outcome]:
    """Return the outcomes that `pack_outcomes` was given."""
    outcomes: list[Outcome] = []
    at = 0
    while at < len(packed):
        start = at + 1 + _SIZE_BYTES
        end = start + int.from_bytes(packed[at + 1 : start])
        outcomes.append(Outcome(packed[at] == 1, packed[start:end]))
        at = end
    return outcomes


def _are_there(outcomes: Sequence[Outcome]) -> bool:
    return all(itertools.chain.from_iterable(outcomes))


def _pack_grouped(answer: Grouped) -> bytes:
    return bytes([len(answer.marks)]) + answer.marks + pack_outcomes(answer.outcomes)


def _unpack_grouped(packed: bytes) -> Grouped:
    end = 1 + packed[0]
    return Grouped(unpack_outcomes(packed[end:]), packed[1:end])


_SHARED = CachedState("shared", pack_outcomes, unpack_outcomes, _are_there)
_ALONE = CachedState("alone", pack_outcomes, unpack_outcomes, _are_there)
_GROUP = CachedState("group", _pack_grouped, _unpack_grouped)
_KNOWN_GROUP = CachedState("known group", _pack_grouped, _unpack_grouped)


def _differ(answers: Sequence[Grouped]) -> bool:
    """Return whether answers are of different blocks of one height.

    Those without the same kinds of marks (kept before chains.toml changed, or read one by one) do not count.
    """
    marks = {answer.marks for answer in answers if answer.marks}
    return len(marks) > len({len(one) for one in marks})


def _question(group: CallsAtOnce) -> Question[Grouped]:
    are_there = _lasts(group.calls)
    state = _KNOWN_GROUP if group.is_known else _GROUP
    return Question(state._replace(lasts=lambda answer: are_there(answer.outcomes)), pack_calls(group.calls))


def _cached(state: CachedState[list[Outcome]], calls: Sequence[Call]) -> CachedState[list[Outcome]]:
    return state._replace(lasts=_lasts(calls)) if any(map(_IS_OPTIONAL, calls)) else state


def _lasts(calls: Sequence[Call]) -> Callable[[Sequence[Outcome]], bool]:
    """Return whether nothing is missing in outcomes of these calls: of optional ones nothing ever is."""
    wanted = [index for index, call in enumerate(calls) if not call.is_optional]
    if len(wanted) == len(calls):
        return _are_there
    return lambda outcomes: _are_there([outcomes[index] for index in wanted])


class ContractCaller(CallsContracts):
    """Calls contracts through the chain's planner and cache; failures at a chosen block are explained."""

    def __init__(
        self,
        chain: EvmChain,
        pool: Pool,
        reads: CachedReads,
        heights: Heights,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain = chain
        self._pool = pool
        self._reads = reads
        self._heights = heights
        self._clock = clock
        # How many blocks back no endpoint had the state, and until when that is kept.
        self._stateless_from = 0
        self._stateless_until = 0.0

    async def call_contracts(
        self, calls: Sequence[ContractCall], view: ReadView, *, are_known: bool
    ) -> list[ContractOutcome]:
        """See `CallsContracts`."""
        read = self._reads.read_shared if are_known else self._reads.read_alone
        outcomes = await self._heights.explain_block_error(read(view, _planned(calls)), view)
        return [ContractOutcome(*outcome) for outcome in outcomes]

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        """See `CallsContracts`."""
        answers = await self._heights.explain_block_error(self._reads.read_groups(view, _planned_groups(groups)), view)
        return [list(map(ContractOutcome._make, outcomes)) for outcomes in answers]

    async def call_groups_back(
        self, groups: Sequence[CallGroup], seconds: float, view: ReadView
    ) -> tuple[int, list[list[ContractOutcome]]] | None:
        """See `CallsContracts`; None where nodes may answer with another block's state as well."""
        if not self._chain.history_is_pinned:
            return None
        newest = self._pool.heads.head() if view.block is None else view.block
        if newest is None:
            newest = (await read_newest_height(self._pool, view.deadline)).block
        distance = round(seconds / self._chain.facts.block_time)
        block = newest - distance
        if block < 0 or (distance >= self._stateless_from and self._clock() < self._stateless_until):
            return None
        past = ReadView(block=block, deadline=view.deadline, cache=view.cache)
        try:
            answers = await self._reads.read_groups(past, _planned_groups(groups))
        except _NO_STATE:
            # All endpoints were asked: for a while they need not be asked for this, or for older state.
            self._stateless_from, self._stateless_until = distance, self._clock() + _STATELESS_SECONDS
            return None
        return block, [list(map(ContractOutcome._make, outcomes)) for outcomes in answers]


def _planned_groups(groups: Sequence[CallGroup]) -> list[CallsAtOnce]:
    return [CallsAtOnce(_planned(calls), is_known) for calls, is_known in groups]


def _planned(calls: Sequence[ContractCall]) -> list[Call]:
    """Return calls as the planner takes them."""
    return [
        Call(
            address_bytes(call.to),
            call.data,
            call.gas,
            address_bytes(call.sender) if call.sender else None,
            call.is_optional,
        )
        for call in calls
    ]
