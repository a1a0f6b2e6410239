"""Blocks and transactions. Fees are not charged, and block hashes follow a formula of our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devnet.starknet.engine.cairo import (
    Resource,
    ResourceBounds,
    calculate_invoke_transaction_hash,
    get_selector_from_name,
    poseidon_hash_many,
    sign,
)
from devnet.starknet.engine.execution import CHAIN_ID, Failed, Outcome, Signed, run
from devnet.starknet.engine.state import Facts, WorkingState, block_info

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCK_SECONDS = 6
L1_DEPTH = 5
"""Blocks that lie this deep count as accepted on layer 1."""

_BOUNDS = {
    Resource.L1_GAS: ResourceBounds(max_amount=0x186A0, max_price_per_unit=0x2D79883D2000),
    Resource.L2_GAS: ResourceBounds(max_amount=0x5F5E100, max_price_per_unit=0x2540BE400),
    Resource.L1_DATA_GAS: ResourceBounds(max_amount=0x1F4, max_price_per_unit=0x5AF3107A4000),
}
_VALIDATE = get_selector_from_name("__validate__")
_EXECUTE = get_selector_from_name("__execute__")


@dataclass(frozen=True)
class Call:
    """One call of an account's transaction."""

    to: int
    entry_point: str
    calldata: tuple[int, ...]


@dataclass(frozen=True)
class Transaction:
    """An invoke transaction of version 3 with its outcome; `failure` is why it was reverted."""

    signed: Signed
    calldata: tuple[int, ...]
    outcome: Outcome | None
    failure: str | None


@dataclass
class Block:
    """One block and the state after it."""

    number: int
    hash: int
    parent_hash: int
    timestamp: int
    transactions: list[Transaction]
    facts: Facts


@dataclass
class LocalStarknet:
    """The chain: `blocks` by number, `waiting` transactions are executed and in no block yet."""

    compiled: dict[int, Any]
    facts: Facts
    first_timestamp: int
    blocks: list[Block] = field(default_factory=list)
    waiting: list[Transaction] = field(default_factory=list)

    @property
    def head(self) -> Block:
        """The newest block."""
        return self.blocks[-1]

    def state_of(self, facts: Facts, number: int, timestamp: int) -> WorkingState:
        """Return the facts ready for executing; what is executed changes them."""
        return WorkingState(facts, self.compiled, block_info(number, timestamp))

    def mine(self, count: int = 1) -> int:
        """Make blocks, the first of them with the waiting transactions, and return the new height."""
        for _ in range(count):
            number = len(self.blocks)
            parent = self.head.hash if self.blocks else 0
            timestamp = self._next_timestamp()
            hashes = [transaction.signed.hash for transaction in self.waiting]
            block_hash = poseidon_hash_many([number, parent, timestamp, len(hashes), *hashes])
            facts = self.facts if self.waiting or not self.blocks else self.head.facts
            self.blocks.append(Block(number, block_hash, parent, timestamp, self.waiting, facts))
            self.waiting = []
        return self.head.number

    def invoke(self, sender: int, key: int, calls: Sequence[Call]) -> Transaction:
        """Sign a transaction of the account, validate and execute it; it waits for a block.

        A failing `__execute__` is a reverted transaction; Failed is raised where the signature is refused.
        """
        nonce = self.facts.nonces.get(sender, 0)
        calldata = _calls_felts(calls)
        transaction_hash = calculate_invoke_transaction_hash(
            version=3,
            nonce=nonce,
            sender_address=sender,
            nonce_data_availability_mode=0,
            fee_data_availability_mode=0,
            resource_bounds=_BOUNDS,
            tip=0,
            paymaster_data=[],
            calldata=calldata,
            account_deployment_data=[],
            chain_id=CHAIN_ID,
        )
        signed = Signed(sender, nonce, transaction_hash, sign(transaction_hash, key))
        timestamp = self._next_timestamp()
        tried = self.state_of(self.facts.copy(), len(self.blocks), timestamp)
        run(tried, sender, _VALIDATE, calldata, transaction=signed, validates=True)
        tried.increment_nonce(None, sender)
        validated = tried.facts.copy()
        outcome, failure = None, None
        try:
            outcome = run(tried, sender, _EXECUTE, calldata, transaction=signed)
            self.facts = tried.facts
        except Failed as error:
            failure = str(error)
            self.facts = validated
        transaction = Transaction(signed, tuple(calldata), outcome, failure)
        self.waiting.append(transaction)
        return transaction

    def _next_timestamp(self) -> int:
        return self.head.timestamp + BLOCK_SECONDS if self.blocks else self.first_timestamp


def _calls_felts(calls: Sequence[Call]) -> list[int]:
    felts = [len(calls)]
    for call in calls:
        felts += [call.to, get_selector_from_name(call.entry_point), len(call.calldata), *call.calldata]
    return felts
