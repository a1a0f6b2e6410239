"""Callers' own calls: simulation and gas estimates. They are never folded with other reads.

Such a call cannot be wrapped to report its block, because a wrapper would change `msg.sender`. So at `latest` it
travels between two looks at the block number, all three in one request; if both looks agree, that is its block. If they
differ, it runs again, pinned to the second. Where nodes ignore the block of a call (chains of unproved history) the
looks are executions themselves, and the three are repeated until both agree; a revert at a block of the caller's choice
is proved on its own, because it fails the whole request and the looks in it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from server.chains.capabilities.contracts import CallRequest, CallResult, EstimatesGas, GasEstimate, SimulatesCalls
from server.chains.evm.newest import NEWEST, parse_newest, read_newest_height
from server.chains.evm.reads.unbatched import LOOKS, Proofs, look_at, read_look
from server.chains.shared.validated_reads import read_validated, read_validated_together
from server.chains.view import NO_ENDPOINTS, BlockAnswer, NewestBlock, read_newest
from server.contracts.address import parse_address
from server.contracts.reverts import is_revert_payload, reverted
from server.contracts.words import UINT256_MAX, block_tag, json_count, json_data
from server.errors import InvalidArgument, Reverted, UpstreamDisagrees, UpstreamUnavailable
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.newest import Heights
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool


Answer = TypeVar("Answer")

PLAIN_CALLS = frozenset({"eth_call", "eth_estimateGas"})
"""Methods that run one call, so that what all nodes refuse is the call. Other interfaces fall back on these."""


class CallReader(SimulatesCalls, EstimatesGas):
    """Runs callers' own calls on one chain."""

    def __init__(self, chain: EvmChain, pool: Pool, heights: Heights) -> None:
        self._chain = chain
        self._pool = pool
        self._heights = heights
        self._proofs = Proofs(chain, pool)

    async def simulate_call(self, call: CallRequest, view: ReadView) -> CallResult:
        """Return the raw return data and the block that the call ran at; raises Reverted with the decoded reason."""
        read = self.run("eth_call", self.params(call), view, json_data)
        data = await self._heights.explain_block_error(read, view, "block")
        if is_revert_payload(data):
            raise reverted(data)
        return CallResult(data, view.block or 0)

    async def estimate_gas(self, call: CallRequest, view: ReadView) -> GasEstimate:
        """Return the gas estimate and the block that it was made at; raises Reverted with the decoded reason."""
        gas = await self.run("eth_estimateGas", self.params(call), view, json_count)
        return GasEstimate(gas, view.block or 0)

    def params(self, call: CallRequest) -> dict[str, Any]:
        """Return the call as nodes take it; InvalidArgument for an address or a value that is none."""
        return _params(call)

    async def run(
        self, method: str, params: dict[str, Any], view: ReadView, read: Callable[[bytes], Answer], *options: object
    ) -> Answer:
        """Return what `read` makes of the answer to a call at the view's block.

        It settles the view on the block that the call ran at. The parameters of `method` are `params`, the block, and
        then the options. An answer at which `read` raises ValueError is asked of other endpoints.
        """
        if not self._chain.history_is_pinned:
            return await self._between_proofs(method, params, view, read, options)
        if view.block is None:
            return await self._at_latest(method, params, view, read, options)
        return await self._pinned(method, params, view, read, options)

    async def settle(self, view: ReadView) -> None:
        """Pin the view to the newest block, for a call that is to run there or fail there."""
        if view.block is not None:
            return
        if self._chain.history_is_pinned:
            newest = await read_newest_height(self._pool, view.deadline)
            view.settle(newest.block, newest.endpoint)
        else:
            look = look_at(self._chain, None)
            view.settle(
                *await read_validated(self._pool, *look, partial(read_look, self._chain), deadline=view.deadline)
            )

    async def _pinned(
        self,
        method: str,
        params: dict[str, Any],
        view: ReadView,
        read: Callable[[bytes], Answer],
        options: tuple[object, ...],
    ) -> Answer:
        whole = [params, block_tag(view.block), *options]
        answer, _ = await read_validated(self._pool, method, whole, read, _policy(method, view), deadline=view.deadline)
        return answer

    async def _at_latest(
        self,
        method: str,
        params: dict[str, Any],
        view: ReadView,
        read: Callable[[bytes], Answer],
        options: tuple[object, ...],
    ) -> Answer:
        # The first number is compared with the second block's alone: that one's time is looked at.
        look: tuple[str, list[object]] = ("eth_blockNumber", [])
        calls = (look, (method, [params, "latest", *options]), NEWEST)

        def read_all(results: Sequence[bytes]) -> tuple[int, Answer, NewestBlock]:
            before, result, after = results
            return json_count(before), read(result), parse_newest(after)

        async def ask(avoid: frozenset[str]) -> BlockAnswer[tuple[int, Answer]]:
            (before, answer, after), endpoint = await read_validated_together(
                self._pool, calls, read_all, _policy(method, view, avoid), deadline=view.deadline
            )
            return BlockAnswer((before, answer), endpoint, after.height, after.made_at)

        block_answer = await read_newest(self._pool, ask)
        (before, answer), after = block_answer.answer, block_answer.block
        view.settle(after, block_answer.endpoint)
        return answer if before == after == view.block else await self._pinned(method, params, view, read, options)

    async def _between_proofs(
        self,
        method: str,
        params: dict[str, Any],
        view: ReadView,
        read: Callable[[bytes], Answer],
        options: tuple[object, ...],
    ) -> Answer:
        look = look_at(self._chain, view.block)
        call: tuple[str, list[object]] = (method, [params, block_tag(view.block), *options])

        def read_all(results: Sequence[bytes]) -> tuple[int, Answer, int]:
            before, result, after = results
            return read_look(self._chain, before), read(result), read_look(self._chain, after)

        for _ in range(LOOKS):
            try:
                (before, answer, after), endpoint = await read_validated_together(
                    self._pool, (look, call, look), read_all, _policy(method, view), deadline=view.deadline
                )
            except Reverted:
                if view.block is None:
                    raise
                reply = await self._reverted(call, view)
                try:
                    return read(reply.result)
                except ValueError:
                    raise _malformed(reply) from None
            self._chain.check_block(view, before)
            if before == after:
                view.settle(after, endpoint)
                return answer
        raise UpstreamDisagrees(f"{self._chain.slug} moves on faster than the call runs; try again")

    async def _reverted(self, call: tuple[str, list[object]], view: ReadView) -> Reply:
        """Raise the revert of a call if it is of the view's block; return the answer if it succeeds this time."""

        async def ask(policy: CallPolicy) -> Reply | Reverted:
            try:
                return await self._pool.call(*call, policy, deadline=view.deadline)
            except Reverted as error:
                return error

        block_answer = await self._proofs.prove(view.block, ask, _policy(call[0], view), view.deadline)
        self._chain.check_block(view, block_answer.block)
        if isinstance(block_answer.answer, Reverted):
            raise block_answer.answer
        return block_answer.answer


def _malformed(reply: Reply) -> UpstreamUnavailable:
    return UpstreamUnavailable(f"endpoint {reply.endpoint} answered with what cannot be its answer")


def _policy(method: str, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> CallPolicy:
    return CallPolicy(
        heavy=True,
        caller_made=True,
        min_block=view.block,
        prefer=view.endpoint,
        avoid=avoid,
        may_be_refused=method in PLAIN_CALLS,
    )


def _params(call: CallRequest) -> dict[str, Any]:
    params: dict[str, Any] = {"to": parse_address(call.to, "to")}
    if call.sender is not None:
        params["from"] = parse_address(call.sender, "from")
    if call.value is not None:
        if not 0 <= call.value <= UINT256_MAX:
            raise InvalidArgument("value: wei do not go beyond 2^256-1", field="value")
        params["value"] = hex(call.value)
    if call.data is not None:
        params["data"] = call.data
    return params
