"""What the engine does not have: slots, blocks, times and the transactions in them."""

import json
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.clock import Clock
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from devnet import known_solana as known

_SLOTS_PER_EPOCH = 432_000


class Rejected(Exception):
    """A transaction that cannot be in a block; `reason` is the runtime's name of the error."""

    def __init__(self, reason: Any, logs: list[str]) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.logs = logs


@dataclass(frozen=True)
class Executed:
    """A transaction in a block, with what the engine reports about it and the balances around it."""

    transaction: VersionedTransaction
    slot: int
    keys: list[Pubkey]
    meta: dict[str, Any]
    error: Any
    before: dict[Pubkey, Any]
    after: dict[Pubkey, Any]


@dataclass(frozen=True)
class Block:
    """One block; `time` is in unix seconds."""

    slot: int
    parent_slot: int
    height: int
    blockhash: str
    previous: str
    time: int
    transactions: list[Executed] = field(default_factory=list)


class Ledger:
    """The engine and its chain of blocks, one transaction in each. Every block counts as final at once."""

    def __init__(self) -> None:
        self.svm = LiteSVM()
        self.blocks: dict[int, Block] = {}
        self.executed: dict[str, Executed] = {}
        self._height = known.FIRST_BLOCK_HEIGHT
        self.slot = known.FIRST_SLOT - 1
        self._add(known.FIRST_SLOT, known.FIRST_TIME, None)

    @property
    def head(self) -> Block:
        """The newest block."""
        return self.blocks[self.slot]

    @property
    def first(self) -> int:
        """The oldest slot that is kept."""
        return known.FIRST_SLOT

    def slots(self, first: int, last: int) -> list[int]:
        """Return the slots with a block in a range, both ends included."""
        every = list(self.blocks)
        return [slot for slot in every[: bisect_right(every, last)] if slot >= first]

    def execute(
        self,
        instructions: list[Instruction],
        signers: list[Keypair],
        *,
        legacy: bool = True,
        tables: list[AddressLookupTableAccount] | None = None,
    ) -> Executed:
        """Build, sign and execute a transaction in the next slot that has a block; the first signer pays."""
        payer, blockhash = signers[0].pubkey(), self.svm.latest_blockhash()
        message = (
            Message.new_with_blockhash(instructions, payer, blockhash)
            if legacy
            else MessageV0.try_compile(payer, instructions, tables or [], blockhash)
        )
        return self.submit(VersionedTransaction(message, signers))

    def submit(self, transaction: VersionedTransaction, at: int | None = None) -> Executed:
        """Execute a transaction in a block of its own; a failing one is in the block as well.

        Raises Rejected for one that no block would take: unsigned, unpaid, of an old blockhash.
        """
        slot = self._next_slot()
        self._set_clock(slot, self._time_of(slot) if at is None else at)
        keys = self._keys(transaction)
        before = {key: self.svm.get_account(key) for key in keys}
        outcome = self.svm.send_transaction(transaction)
        failed = isinstance(outcome, FailedTransactionMetadata)
        meta = outcome.meta() if isinstance(outcome, FailedTransactionMetadata) else outcome
        error = _error_of(outcome) if isinstance(outcome, FailedTransactionMetadata) else None
        if failed and not meta.logs():
            # The runtime charges and records what it has begun to run; anything else never reaches a block.
            raise Rejected(error, meta.logs())
        after = {key: self.svm.get_account(key) for key in keys}
        executed = Executed(transaction, slot, keys, _meta_of(meta), error, before, after)
        self.executed[str(transaction.signatures[0])] = executed
        self._add(slot, self._time_of(slot) if at is None else at, executed)
        return executed

    def advance(self, *, at: int | None = None) -> Block:
        """Make a block without transactions."""
        slot = self._next_slot()
        self._add(slot, self._time_of(slot) if at is None else at, None)
        return self.head

    def _next_slot(self) -> int:
        slot = self.slot + 1
        while slot in known.SKIPPED:
            slot += 1
        return slot

    def _time_of(self, slot: int) -> int:
        seeded = known.FIRST_TIME + int((slot - known.FIRST_SLOT) * known.SLOT_SECONDS)
        return max(seeded, self.head.time)

    def _add(self, slot: int, at: int, executed: Executed | None) -> None:
        previous = str(self.svm.latest_blockhash())
        self.svm.expire_blockhash()
        blockhash = str(self.svm.latest_blockhash())
        transactions = [] if executed is None else [executed]
        self.blocks[slot] = Block(slot, self.slot, self._height, blockhash, previous, at, transactions)
        self.slot = slot
        self._height += 1
        self._set_clock(slot, at)

    def _set_clock(self, slot: int, at: int) -> None:
        epoch = slot // _SLOTS_PER_EPOCH
        self.svm.set_clock(Clock(slot, at, epoch, epoch, at))

    def _keys(self, transaction: VersionedTransaction) -> list[Pubkey]:
        """Return the accounts of a transaction, those from look-up tables last: writable ones, then the others."""
        message = transaction.message
        keys = list(message.account_keys)
        if isinstance(message, MessageV0):
            writable, readonly = self.looked_up(message)
            keys += writable + readonly
        return keys

    def looked_up(self, message: MessageV0) -> tuple[list[Pubkey], list[Pubkey]]:
        """Return the accounts that a message takes from look-up tables: writable, read-only."""
        writable: list[Pubkey] = []
        readonly: list[Pubkey] = []
        for lookup in message.address_table_lookups:
            table = self.svm.get_account(lookup.account_key)
            addresses = [] if table is None else _table_of(table.data)
            writable += [addresses[index] for index in lookup.writable_indexes if index < len(addresses)]
            readonly += [addresses[index] for index in lookup.readonly_indexes if index < len(addresses)]
        return writable, readonly


def _table_of(data: bytes) -> list[Pubkey]:
    """Return the addresses of a look-up table account, which begin after 56 bytes."""
    return [Pubkey.from_bytes(data[start : start + 32]) for start in range(56, len(data), 32)]


def _error_of(outcome: FailedTransactionMetadata) -> Any:
    return json.loads(outcome.to_json())["err"]


def _meta_of(meta: Any) -> dict[str, Any]:
    return {
        "fee": meta.fee(),
        "logs": list(meta.logs()),
        "units": meta.compute_units_consumed(),
        "inner": [
            [(inner.instruction(), inner.stack_height()) for inner in instructions]
            for instructions in meta.inner_instructions()
        ],
        "returned": meta.return_data(),
    }
