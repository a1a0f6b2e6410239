"""Reads one by one, pinned to a block: where Multicall3 is not deployed, does not run, or must not be used."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from server.chains.evm.newest import read_newest_height
from server.chains.evm.reads.multicall import GET_ETH_BALANCE, Call, Outcome
from server.chains.evm.reads.proofs import Proofs
from server.chains.sound_answers import read_sound
from server.contracts.quantity import block_tag, json_data, json_word
from server.errors import OutOfGas, Reverted
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.reads.executions import Quarantine
    from server.upstream.pool import Pool


class UnbatchedReads:
    """Runs the planner's reads as one `eth_call` or `eth_getBalance` each, in one JSON-RPC batch.

    An address that burns all gas even so is put into quarantine.
    """

    def __init__(self, chain: EvmChain, pool: Pool, quarantine: Quarantine) -> None:
        self._chain = chain
        self._pool = pool
        self._quarantine = quarantine
        self._proofs = Proofs(chain, pool)

    async def read(
        self, block: int | None, calls: Sequence[Call], policy: CallPolicy, deadline: float | None
    ) -> tuple[int, str | None, list[Outcome]]:
        """Return block, endpoint and outcomes of `calls`.

        At `latest` the head's number is asked for first and the reads are pinned to it, a second round trip. Where
        nodes may answer with another block's state, the block is the one that they prove to have read.
        """
        if not self._chain.history_is_pinned:
            told = await self._proofs.prove(
                block, lambda steered: self._all(calls, block, steered, deadline), policy, deadline
            )
            return told.block, told.endpoint, [outcome for _, outcome in told.answer]
        if block is None:
            head = await read_newest_height(self._pool, deadline, policy)
            block = head.block
            policy = CallPolicy(min_block=block, prefer=head.endpoint, held=True, may_be_refused=policy.may_be_refused)
        answers = await self._all(calls, block, policy, deadline)
        endpoint = answers[0][0] if answers else policy.prefer
        return block, endpoint, [outcome for _, outcome in answers]

    async def _all(
        self, calls: Sequence[Call], block: int | None, policy: CallPolicy, deadline: float | None
    ) -> list[tuple[str | None, Outcome]]:
        # A contract may fail in whatever words; a balance cannot.
        plain = replace(policy, may_be_refused=False) if policy.may_be_refused else policy
        return await asyncio.gather(*(self._one(call, block, policy, plain, deadline) for call in calls))

    async def _one(
        self, call: Call, block: int | None, policy: CallPolicy, plain: CallPolicy, deadline: float | None
    ) -> tuple[str | None, Outcome]:
        tag = block_tag(block)
        if call.target == self._chain.multicall and call.data.startswith(GET_ETH_BALANCE):
            account = "0x" + call.data[-20:].hex()
            balance, endpoint = await read_sound(
                self._pool, "eth_getBalance", [account, tag], json_word, plain, deadline=deadline
            )
            return endpoint, Outcome(True, balance)
        message = {"to": "0x" + call.target.hex(), "data": "0x" + call.data.hex()}
        if call.sender is not None:
            message["from"] = "0x" + call.sender.hex()
        try:
            data, endpoint = await read_sound(
                self._pool, "eth_call", [message, tag], json_data, policy, deadline=deadline
            )
        except Reverted as error:
            if isinstance(error, OutOfGas):
                self._quarantine.add(call.target)
            return policy.prefer, Outcome(False, error.data or b"")
        return endpoint, Outcome(True, data)
