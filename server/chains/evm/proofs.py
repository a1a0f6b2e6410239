"""Reads on chains of unproved history: between two looks at the block that the node really runs calls at.

A look is an execution that returns its own block number. If the same endpoint tells the same block before and after a
read, the read is of that block, whatever block was asked for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from server.chains.evm.probe import code_proof_program, parse_code_proof
from server.chains.evm.quantity import block_tag, check_count, json_data
from server.chains.shared.newest import BlockAnswer
from server.chains.sound_answers import OtherChain, read_sound
from server.errors import UpstreamDisagrees

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from server.chains.evm.chain import EvmChain
    from server.upstream.policy import CallPolicy
    from server.upstream.pool import Pool

    Answer = TypeVar("Answer")

LOOKS = 4
"""How often a read is made again because the chain moved on meanwhile."""


def look_at(chain: EvmChain, block: int | None) -> tuple[str, list[object]]:
    """Return the call, method and parameters, that tells the block it runs at when asked to run at `block`."""
    return "eth_call", [{"data": "0x" + code_proof_program(chain, bytes(20)).hex()}, block_tag(block)]


def read_look(chain: EvmChain, result: bytes) -> int:
    """Return the block that an execution really ran at; ValueError where the answer does not tell it."""
    return check_count(parse_code_proof(chain, json_data(result)).block)


class Proofs:
    """Proves the blocks of reads on one chain."""

    def __init__(self, chain: EvmChain, pool: Pool) -> None:
        self._chain = chain
        self._pool = pool

    async def prove(
        self,
        block: int | None,
        ask: Callable[[CallPolicy], Awaitable[Answer]],
        policy: CallPolicy,
        deadline: float | None,
    ) -> BlockAnswer[Answer]:
        """Return what `ask` brings, made with the policy that it is given, and the block that it proves to be of.

        That need not be `block`. For reads whose failure is an answer: such a failure would fail a bundle as a whole,
        and the looks in it.

        Raises:
            UpstreamDisagrees: the chain moves on faster than it is read.
            GatewayError: why nodes could not be asked, or what `ask` raises.
        """
        method, params = look_at(self._chain, block)
        look = replace(policy, joinable=False, may_be_refused=False)
        read = partial(read_look, self._chain)
        for _ in range(LOOKS):
            before, endpoint = await read_sound(self._pool, method, params, read, look, deadline=deadline)
            steered = replace(policy, prefer=endpoint, avoid=frozenset(self._pool.labels) - {endpoint})
            answer = await ask(steered)
            again = replace(steered, joinable=False, may_be_refused=False)
            reply = await self._pool.call(method, params, again, deadline=deadline)
            try:
                after = read(reply.result)
            except ValueError as error:
                if isinstance(error, OtherChain):
                    self._pool.hear_chain(reply, error.reason)
                look = replace(look, prefer=None, disbelieved=look.disbelieved | {reply.endpoint})
                continue
            if endpoint == reply.endpoint and before == after:
                return BlockAnswer(answer, endpoint, after)
        raise UpstreamDisagrees(f"{self._chain.slug} moves on faster than the call runs; try again")
