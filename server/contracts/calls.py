"""Calls of contracts, and what they return."""

from __future__ import annotations

from typing import NamedTuple


class ContractCall(NamedTuple):
    """A call of a contract: its canonical address and the calldata.

    `gas` is what it takes at most as a rule. `sender` is set only where the answer depends on `msg.sender`; such a call
    is never folded with others. `is_optional` is set where it matters only what the call returns if it does: a failure
    without data, which may be for want of gas, is not asked again then.
    """

    to: str
    data: bytes
    gas: int = 50_000
    sender: str | None = None
    is_optional: bool = False


class ContractOutcome(NamedTuple):
    """What a call returned; `data` of a failed one is what it reverted with. Where no code is it succeeds with none."""

    succeeded: bool
    data: bytes


class CallGroup(NamedTuple):
    """Calls that are remembered and folded together.

    `is_known` is set where every address is the gateway's own data: such calls may share executions with those of other
    requests. Groups that hold an address named by a caller, or calls that change state, run in executions of their own.
    """

    calls: tuple[ContractCall, ...]
    is_known: bool = True
