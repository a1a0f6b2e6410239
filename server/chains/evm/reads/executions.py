"""Runs calls in one execution where that works, one by one where it does not.

An execution is one `eth_call` of Multicall3's `aggregate3` whose first calls return block number, time and chain id: an
endpoint that turns out to serve another chain is excluded, and another one is asked. Where it is one of several, parent
hash and prevrandao stand beside these. A call that fails alone is asked without Multicall3. So are calls below its
deployment, calls that depend on their sender, calls to addresses that burnt gas lately, and all calls where the nodes
run no Multicall3. `one_block` runs as many executions as it takes.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from runtime.tracing import begin_fold, end_fold
from runtime.upstream_metrics import observe_fold
from server.chains.evm.reads.multicall import Call, Outcome, decode_aggregate3, encode_aggregate3
from server.chains.evm.reads.unbatched import UnbatchedReads
from server.chains.view import NO_ENDPOINTS, BlockAnswer, is_newest
from server.contracts.words import check_count, json_data, word
from server.errors import (
    GatewayError,
    InvalidArgument,
    NotSupported,
    OutOfGas,
    RangeTooLarge,
    ResponseTooLarge,
    Reverted,
    TooMuchWork,
    UpstreamDisagrees,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.reads.multicall import Call
    from server.upstream.connector import CallPolicy, Reply
    from server.upstream.pool import Pool


# Bounds of one execution: nodes cap the gas of an eth_call (10 million at the strictest met) and the size of a request.
MAX_CALLS = 200
MAX_GAS = 10_000_000
MAX_BYTES = 64 * 1024

TOO_MUCH = (OutOfGas, TooMuchWork, RangeTooLarge, ResponseTooLarge)
"""With these a node reports that an execution as a whole is too much; less of it may work."""

# With these a node reports that it cannot or will not run the aggregate; the reads may still work one by one.
_REFUSALS = (Reverted, NotSupported, InvalidArgument)
_AVOIDED_SECONDS = 600.0
# What a call of an address without code returns.
_NOTHING = b'"0x"'
_WORD = 32


class Read(Protocol):
    """A read of several calls."""

    @property
    def calls(self) -> Sequence[Call]:
        """Its calls."""
        ...


Packed = TypeVar("Packed", bound=Read)


class Answer(NamedTuple):
    """What a number of calls returned, the block that they ran at, and the endpoint that ran (the first of) them.

    `marks` are the words that distinguish the block from others of its height: time, parent hash, prevrandao, where the
    chain has them; empty where they were not asked for.
    """

    block: int
    endpoint: str | None
    outcomes: list[Outcome]
    marks: bytes = b""

    def is_of_block(self, other: Answer) -> bool:
        """Return whether both are of the same block, as far as their marks show."""
        return self.block == other.block and (self.marks == other.marks or not self.marks or not other.marks)


class Executions:
    """Runs calls on one chain."""

    def __init__(
        self, chain: EvmChain, pool: Pool, quarantine: Quarantine, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._chain = chain
        self._pool = pool
        self._quarantine = quarantine
        self._clock = clock
        self._multicall = "0x" + chain.multicall.hex()
        self._unbatched = UnbatchedReads(chain, pool, quarantine)
        self._avoided_until = 0.0
        self._chain_word = int(chain.facts.chain_id).to_bytes(_WORD, "big")

    async def run_once(
        self,
        block: int | None,
        calls: Sequence[Call],
        policy: CallPolicy,
        deadline: float | None,
        *,
        is_marked: bool = False,
    ) -> Answer:
        """Return the outcomes of calls in one execution at a block, `latest` for None.

        With `is_marked` the answer brings what sets its block apart from others of that height.

        Raises:
            GatewayError: the nodes could not answer; one of `TOO_MUCH` where that is too much for one execution.
        """
        if self.are_single(block, calls):
            return await self.run_one_by_one(block, calls, policy, deadline)
        return await self.execute(block, calls, policy, deadline, is_marked=is_marked)

    async def execute(
        self,
        block: int | None,
        calls: Sequence[Call],
        policy: CallPolicy,
        deadline: float | None,
        *,
        is_marked: bool = False,
        split: Callable[[GatewayError], Awaitable[Answer]] | None = None,
    ) -> Answer:
        """Return what `run_once` does, of calls that are not to be asked one by one.

        With `split` that brings the answer where the calls are too much for one execution.
        """
        # From a fold that fails as a whole nothing follows for the calls in it.
        folded = replace(policy, may_be_refused=False) if policy.may_be_refused else policy
        mark_calls = self._chain.mark_calls if is_marked else ()
        places = 3 + len(mark_calls)
        data = "0x" + encode_aggregate3([*self._chain.place_calls, *mark_calls, *calls]).hex()
        params = [{"to": self._multicall, "data": data}, "latest" if block is None else hex(block)]

        # Those whose block is not the one asked for, and besides these one whose answer could not be read.
        avoid = last = NO_ENDPOINTS
        pool = self._pool
        try:
            while True:
                steered = replace(folded, avoid=last) if last else folded
                fold = begin_fold(len(calls))
                try:
                    reply = await pool.call("eth_call", params, steered, deadline=deadline)
                finally:
                    end_fold(fold)
                try:
                    found = self._read(reply, calls, places)
                except ValueError:
                    # Multicall3 need not exist on the other chain.
                    if not await pool.confirm(reply):
                        continue
                    if last or (reply.result == _NOTHING and len(pool.labels) == 1):
                        raise
                    # The answer is not Multicall3's, or is nothing as where there is no contract: that may be this
                    # endpoint's fault alone.
                    last = frozenset({reply.endpoint})
                    continue
                if found is None:
                    continue
                endpoint, number = found.endpoint, found.block
                if block is None:
                    pool.observe_head(endpoint, number, found.made_at)
                    if pool.heads.is_claimed(endpoint):
                        await pool.prove_head(endpoint, is_last=endpoint in avoid)
                    if is_newest(pool, found, avoid):
                        break
                elif number == block or endpoint in avoid:
                    break
                avoid = last = avoid | {endpoint}
        except TOO_MUCH as error:
            if split is None:
                raise
            return await split(error)
        except _REFUSALS as error:
            await pool.confirm()
            return await self.fall_back(block, calls, policy, deadline, error)
        except ValueError:
            return await self.fall_back(block, calls, policy, deadline, None)
        observe_fold(self._chain.slug, len(calls))
        whole = found.answer
        marks = _join_marks(whole[1], *whole[3:places]) if is_marked else b""
        return Answer(number, endpoint, whole[places:], marks)

    def _read(self, reply: Reply, calls: Sequence[Call], places: int) -> BlockAnswer[list[Outcome]] | None:
        """Return what an execution returned, with what its first `places` calls did; None if it is of another chain.

        Raises ValueError for what Multicall3 cannot have returned.
        """
        whole = decode_aggregate3(json_data(reply.result), len(calls) + places)
        number, made_at, chain_id = whole[:3]
        if chain_id.data == self._chain_word and chain_id.success:
            self._pool.observe_chain(reply, None)
        elif not self._is_of_this_chain(reply, chain_id):
            return None
        self._check_own(calls, whole, places)
        # Multicall3 does not return the time of every chain's blocks.
        seconds = int.from_bytes(made_at.data) if made_at.success and len(made_at.data) == _WORD else None
        return BlockAnswer(whole, reply.endpoint, check_count(word(number.data)), seconds)

    def _is_of_this_chain(self, reply: Reply, chain_id: Outcome) -> bool:
        """Return whether an execution ran on this chain, or reports none; an endpoint of another one is excluded."""
        if not chain_id.success or len(chain_id.data) != _WORD:
            return True
        reason = self._chain.wrong_chain(word(chain_id.data))
        self._pool.observe_chain(reply, reason)
        return reason is None

    def _check_own(self, calls: Sequence[Call], outcomes: Sequence[Outcome], start: int) -> None:
        """Raise ValueError where Multicall3's own functions, which return balances, returned less than a word.

        `start` is where the outcomes of the calls begin.
        """
        multicall = self._chain.multicall
        for place, call in enumerate(calls, start):
            outcome = outcomes[place]
            if call.target == multicall and outcome.success and len(outcome.data) < _WORD:
                raise ValueError("not what Multicall3 answers")

    async def run_one_by_one(
        self, block: int | None, calls: Sequence[Call], policy: CallPolicy, deadline: float | None
    ) -> Answer:
        """Return the outcomes of calls that share no execution, and the block that they are of."""
        if policy.names_chain:
            policy = replace(policy, names_chain=False)
        return Answer(*await self._unbatched.read(block, calls, policy, deadline))

    def are_single(self, block: int | None, calls: Sequence[Call]) -> bool:
        """Return whether the calls are to be asked one by one."""
        for call in calls:
            if call.sender is not None:
                return True
        if not self._chain.history_is_pinned:
            return False
        if block is not None and block < self._chain.deploy_block:
            return True
        return self._avoided_until > self._clock() or (bool(self._quarantine.until) and self._quarantine.holds(calls))

    async def fall_back(
        self,
        block: int | None,
        calls: Sequence[Call],
        policy: CallPolicy,
        deadline: float | None,
        error: GatewayError | None,
    ) -> Answer:
        """Read one by one where Multicall3 is not there or failed, if the nodes read at the block asked for."""
        if not self._chain.history_is_pinned:
            raise error or UpstreamDisagrees(f"the nodes of {self._chain.slug} do not run Multicall3")
        answer = await self.run_one_by_one(block, calls, policy, deadline)
        if block is None and (error is None or isinstance(error, NotSupported)):
            # The reads work and Multicall3 does not, at this very block: not asked again for a while.
            self._avoided_until = self._clock() + _AVOIDED_SECONDS
        return answer


def _join_marks(*marks: Outcome) -> bytes:
    """Return the words that executions returned of their block as one; zeros for what Multicall3 does not return."""
    return b"".join(mark.data if mark.success and len(mark.data) == _WORD else bytes(_WORD) for mark in marks)


def fits(count: int, gas: int, size: int) -> bool:
    """Return whether calls of that number, gas and bytes of calldata may share one execution."""
    return count <= MAX_CALLS and gas <= MAX_GAS and size <= MAX_BYTES


def cut(calls: Sequence[Call]) -> list[Sequence[Call]]:
    """Return the calls in as many pieces as the bounds of one execution ask for."""
    pieces: list[Sequence[Call]] = []
    start = gas = size = 0
    for index, call in enumerate(calls):
        gas, size = gas + call.gas, size + len(call.data)
        if index > start and not fits(index - start + 1, gas, size):
            pieces.append(calls[start:index])
            start, gas, size = index, call.gas, len(call.data)
    pieces.append(calls[start:])
    return pieces


def pack(reads: list[Packed]) -> list[list[Packed]]:
    """Return the reads in groups that one execution holds, each in the first with room for all of its calls.

    Where one group is not enough the largest reads go first, which takes fewer groups.
    """
    sized: list[tuple[int, int, int, Packed]] = []
    for read in reads:
        gas = size = 0
        for call in read.calls:
            gas, size = gas + call.gas, size + len(call.data)
        sized.append((gas, len(read.calls), size, read))
    if fits(sum(one[1] for one in sized), sum(one[0] for one in sized), sum(one[2] for one in sized)):
        return [reads]
    sized.sort(key=lambda one: -one[0])
    groups: list[list[Packed]] = []
    filled: list[tuple[int, int, int]] = []
    for gas, count, size, read in sized:
        for index, (calls, all_gas, all_size) in enumerate(filled):
            if fits(calls + count, all_gas + gas, all_size + size):
                groups[index].append(read)
                filled[index] = (calls + count, all_gas + gas, all_size + size)
                break
        else:
            groups.append([read])
            filled.append((count, gas, size))
    return groups


QUARANTINE_SECONDS = 600.0
"""How long an address is kept apart after it burnt the gas."""

_MAX_ADDRESSES = 1024


class Quarantine:
    """The addresses kept apart on one chain, the latest 1024 of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.until: OrderedDict[bytes, float] = OrderedDict()
        """Until when, by address, in seconds of the clock."""

    def add(self, address: bytes) -> None:
        """Keep the address apart from now on, for ten minutes."""
        self.until[address] = self._clock() + QUARANTINE_SECONDS
        self.until.move_to_end(address)
        if len(self.until) > _MAX_ADDRESSES:
            self.until.popitem(last=False)

    def holds(self, calls: Sequence[Call]) -> bool:
        """Return whether any of the calls goes to an address that is kept apart."""
        now = self._clock()
        return any(self.until.get(call.target, 0.0) > now for call in calls)
