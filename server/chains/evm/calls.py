"""Calls that callers make up themselves: simulation and gas estimates. They are never folded with anybody's reads.

A made-up call cannot be wrapped to report its block, because a wrapper would change `msg.sender`. So at `latest` the
head's number is asked for first and the call is pinned to it: exact, for one more round trip. Where nodes ignore the
block of a call (chains of unproved history) it runs at `latest` between two looks at the block number, and counts if
both agree.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from server.chains.capabilities import CallRequest, CallResult, GasEstimate
from server.chains.evm.address import parse_address
from server.chains.evm.answers import data_of, number_of
from server.chains.evm.probe import code_proof_program, parse_code_proof
from server.chains.evm.quantity import UINT256_MAX, block_tag
from server.chains.evm.reverts import is_revert_payload, reverted
from server.errors import InvalidArgument, UpstreamDisagrees, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.evm.chain import EvmChain
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_MADE_UP = CallPolicy(heavy=True, caller_made=True)
_ALONE = CallPolicy(joinable=False)
_LOOKS = 4


class CallReader:
    """Runs callers' own calls on one chain."""

    def __init__(self, chain: EvmChain, pool: Pool) -> None:
        self._chain = chain
        self._pool = pool

    async def simulate_call(self, call: CallRequest, view: ReadView) -> CallResult:
        """Return the raw return data and the block that the call ran at; raises Reverted with the decoded reason."""
        params = _params(call)
        if not self._chain.history_is_pinned:
            data = await self._bracketed(params, view)
        else:
            if view.block is None:
                view.settle(*await self._head(view))
            data = await self._run(params, view.block, view)
        if is_revert_payload(data):
            raise reverted(data)
        return CallResult(data, view.block or 0)

    async def estimate_gas(self, call: CallRequest, view: ReadView) -> GasEstimate:
        """Return the gas estimate, with the newest block that the nodes told at the same time."""
        estimate, (block, _) = await asyncio.gather(
            self._pool.call("eth_estimateGas", [_params(call)], _MADE_UP, deadline=view.deadline), self._head(view)
        )
        return GasEstimate(number_of(estimate), block)

    async def _run(self, params: dict[str, Any], block: int | None, view: ReadView) -> bytes:
        policy = CallPolicy(heavy=True, caller_made=True, min_block=block, prefer=view.endpoint)
        reply = await self._pool.call("eth_call", [params, block_tag(block)], policy, deadline=view.deadline)
        return data_of(reply)

    async def _bracketed(self, params: dict[str, Any], view: ReadView) -> bytes:
        asked = view.block
        before = await self._number(asked, view)
        for _ in range(_LOOKS):
            self._chain.check_block(view, before)
            data = await self._run(params, asked, view)
            after = await self._number(asked, view)
            if after == before:
                view.settle(after, None)
                return data
            before = after
        raise UpstreamDisagrees(f"{self._chain.slug} moves on faster than the call runs; try again")

    async def _number(self, block: int | None, view: ReadView) -> int:
        """Return the block that an execution asked for at `block` really runs at."""
        program = "0x" + code_proof_program(self._chain, bytes(20)).hex()
        params = [{"data": program}, block_tag(block)]
        reply = await self._pool.call("eth_call", params, _ALONE, deadline=view.deadline)
        try:
            return parse_code_proof(data_of(reply)).block
        except ValueError:
            raise UpstreamUnavailable(f"endpoint {reply.endpoint} does not tell the block of a call") from None

    async def _head(self, view: ReadView) -> tuple[int, str]:
        reply = await self._pool.call("eth_blockNumber", [], deadline=view.deadline)
        return number_of(reply), reply.endpoint


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
