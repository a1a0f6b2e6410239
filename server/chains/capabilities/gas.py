"""Capabilities to read what gas costs, and how much of it a transaction takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from server.chains.capabilities.contracts import CallRequest
    from server.chains.view import ReadView


@dataclass(frozen=True, slots=True)
class GasEstimate:
    """Gas that a transaction would use, and the newest block when that was asked."""

    gas: int
    block: int


@dataclass(frozen=True, slots=True)
class GasPrice:
    """What gas costs now, in wei: base fee of the newest block (0 on chains without one) and priority fee per gas.

    `l1_fee` is what posting a plain transfer to layer 1 costs besides, None where nothing is charged for it or the
    chain does not tell.
    """

    base_fee: int
    priority_fee: int
    l1_fee: int | None


class ReadsGasPrices(Protocol):
    """Can tell what gas costs."""

    async def read_gas_price(self, view: ReadView) -> GasPrice:
        """Return the fees of the newest block."""
        ...


class EstimatesGas(Protocol):
    """Can estimate a transaction's gas."""

    async def estimate_gas(self, call: CallRequest, view: ReadView) -> GasEstimate:
        """Return the estimate; Reverted with the decoded reason where the transaction would revert."""
        ...
