"""Precompiled contracts: addresses that answer calls although no code stands there.

SHA-256, RIPEMD-160 and the identity answer whatever they are asked, so that a token's function asked of them seems to
return a number. A contract that calls another as Solidity does finds no code there and gives up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.evm.multicall import Outcome
from server.contracts.address import PRECOMPILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.evm.multicall import Call

_NOTHING = Outcome(True, b"")


def without_precompiles(calls: Sequence[Call], outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes of the calls, where a precompile was called that of an address without code."""
    if not any(call.target in PRECOMPILES for call in calls):
        return outcomes
    return [_NOTHING if call.target in PRECOMPILES else outcome for call, outcome in zip(calls, outcomes, strict=True)]
