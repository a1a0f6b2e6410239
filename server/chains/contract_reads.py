"""The capability to call contracts with calldata that another part of the gateway made (see `capabilities`).

For readers of contracts that are no family's business: names, NFTs, published methods, protocols. They share the
planner: what they read folds with everybody else's reads of the same block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.view import ReadView
    from server.contracts.calls import CallGroup, ContractCall, ContractOutcome


class CallsContracts(Protocol):
    """Can call contracts without changing anything."""

    async def call_contracts(
        self, calls: Sequence[ContractCall], view: ReadView, *, are_known: bool
    ) -> list[ContractOutcome]:
        """Return the outcomes of all calls at the view's block, which it settles: one upstream request.

        `are_known` says that every address comes from the gateway's own data: such calls run in one execution with
        those of other requests. Calls to addresses that a caller chose, or that a contract told, run apart.
        A call that reverts is an outcome, not an error; GatewayError means that no node answered.
        """
        ...

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        """Return the outcomes of all groups at one block, which settles the view: one upstream request.

        However many executions it takes, they leave as one JSON-RPC batch. Each group is looked up in the chain's
        memory and kept there by itself: one that does not depend on the wallet serves every wallet of that block. A
        group without calls is not asked. A call that reverts is an outcome.

        Raises:
            MovedOn: the chain moved on, or replaced the block, faster than it was read; with the time to try again.
            GatewayError: no node answered.
        """
        ...
