"""Calls of contracts whose calldata other parts of the gateway made: `CallsContracts` of EVM chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.evm.multicall import Call
from server.chains.evm.planner import CallsAtOnce
from server.contracts.address import address_bytes
from server.contracts.calls import ContractOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.evm.heights import Heights
    from server.chains.evm.reads import RememberedReads
    from server.chains.view import ReadView
    from server.contracts.calls import CallGroup, ContractCall


class ContractCaller:
    """Calls contracts through the chain's planner and memory; failures at a chosen block are explained."""

    def __init__(self, reads: RememberedReads, heights: Heights) -> None:
        self._reads = reads
        self._heights = heights

    async def call_contracts(
        self, calls: Sequence[ContractCall], view: ReadView, *, are_known: bool
    ) -> list[ContractOutcome]:
        """See `CallsContracts`."""
        read = self._reads.read_shared if are_known else self._reads.read_alone
        outcomes = await self._heights.explain(read(view, _planned(calls)), view)
        return [ContractOutcome(*outcome) for outcome in outcomes]

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        """See `CallsContracts`."""
        planned = [CallsAtOnce(_planned(calls), is_known) for calls, is_known in groups]
        answers = await self._heights.explain(self._reads.read_groups(view, planned), view)
        return [list(map(ContractOutcome._make, outcomes)) for outcomes in answers]


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
