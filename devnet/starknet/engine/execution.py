"""Runs entry points of contracts on the Cairo VM."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devnet.starknet.engine.cairo import (
    EntryPointType,
    ExecuteEntryPoint,
    ExecutionMode,
    ExecutionResourcesManager,
    RunResources,
    StarkException,
    StarknetChainId,
    StarknetGeneralConfig,
    TransactionExecutionContext,
    get_selector_from_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devnet.starknet.engine.state import WorkingState

_GAS = 10**10
_STEPS = 4_000_000
_CONSTRUCTOR = get_selector_from_name("constructor")
_FELT = re.compile(r"0x[0-9a-f]+")

CHAIN_ID: int = StarknetChainId.MAINNET.value
# The engine takes the chain from its configuration, whose default is a test network.
_DEFAULTS = StarknetGeneralConfig()
CONFIG = dataclasses.replace(
    _DEFAULTS, starknet_os_config=dataclasses.replace(_DEFAULTS.starknet_os_config, chain_id=CHAIN_ID)
)


class NoContract(Exception):
    """There is no contract at the address."""


class NoEntryPoint(Exception):
    """The contract has no entry point of that selector."""


class Failed(Exception):
    """The execution failed; the text is the engine's, or the contract's own words."""


@dataclass(frozen=True)
class Signed:
    """What of a transaction its execution sees."""

    sender: int
    nonce: int
    hash: int
    signature: tuple[int, ...]
    version: int = 3


@dataclass(frozen=True)
class Outcome:
    """What an execution returned, its events as (emitter, keys, data), and the steps it took."""

    returned: list[int]
    events: list[tuple[int, list[int], list[int]]]
    steps: int


def run(
    state: WorkingState,
    address: int,
    selector: int,
    calldata: Sequence[int],
    *,
    transaction: Signed | None = None,
    validates: bool = False,
    constructs: bool = False,
) -> Outcome:
    """Run an entry point of the contract at the address on the state, which it changes.

    Raises NoContract, NoEntryPoint and Failed; the state may have been changed by then.
    """
    class_hash = state.facts.classes.get(address)
    if class_hash is None:
        raise NoContract(hex(address))
    kind = EntryPointType.CONSTRUCTOR if constructs else EntryPointType.EXTERNAL
    entry_points = state.get_compiled_class_by_class_hash(class_hash).entry_points_by_type[kind]
    if selector not in {entry_point.selector for entry_point in entry_points}:
        raise NoEntryPoint(hex(selector))
    entry_point = ExecuteEntryPoint.create(
        contract_address=address,
        calldata=list(calldata),
        entry_point_selector=selector,
        caller_address=0,
        initial_gas=_GAS,
        entry_point_type=kind,
    )
    try:
        call = entry_point.execute(
            state=state,
            resources_manager=ExecutionResourcesManager.empty(),
            tx_execution_context=_context(transaction, validates),
            general_config=CONFIG,
            support_reverted=False,
        )
    except StarkException as error:
        raise Failed(_words(error.message or str(error.code))) from None
    return Outcome(list(call.execution.retdata), _events(call), call.resources.n_steps)


def construct(state: WorkingState, address: int, class_hash: int, calldata: Sequence[int]) -> None:
    """Make the address a contract of the class and run its constructor."""
    state.set_class_hash_at(address, class_hash)
    run(state, address, _CONSTRUCTOR, calldata, constructs=True)


def short_text(text: str) -> int:
    """Return a text of at most 31 ASCII characters as the felt that Cairo writes it in."""
    return int.from_bytes(text.encode("ascii"), "big")


def _context(transaction: Signed | None, validates: bool) -> Any:
    signed = transaction or Signed(0, 0, 0, (), 0)
    return TransactionExecutionContext(
        account_contract_address=signed.sender,
        transaction_hash=signed.hash,
        signature=list(signed.signature),
        max_fee=0,
        nonce=signed.nonce,
        version=signed.version,
        run_resources=RunResources(n_steps=_STEPS),
        n_emitted_events=0,
        n_sent_messages=0,
        execution_mode=ExecutionMode.VALIDATE if validates else ExecutionMode.EXECUTE,
    )


def _events(call: Any) -> list[tuple[int, list[int], list[int]]]:
    found: list[tuple[int, int, list[int], list[int]]] = []

    def walk(one: Any) -> None:
        found.extend((event.order, one.contract_address, event.keys, event.data) for event in one.execution.events)
        for inner in one.inner_calls:
            walk(inner)

    walk(call)
    return [(emitter, keys, data) for _, emitter, keys, data in sorted(found, key=lambda event: event[0])]


def _words(message: str) -> str:
    """Return the engine's message with the short texts that its felts spell, as nodes write them."""

    def spell(match: re.Match[str]) -> str:
        value = int(match[0], 16)
        data = value.to_bytes((value.bit_length() + 7) // 8, "big")
        is_text = 4 <= len(data) <= 31 and all(32 <= byte < 127 for byte in data)
        return f"{match[0]} ('{data.decode('ascii')}')" if is_text else match[0]

    return _FELT.sub(spell, message)
