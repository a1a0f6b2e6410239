"""Who sent lamports to whom, where a transaction is a plain transfer.

A plain transfer has one instruction that moves anything: `Transfer` of the System program. Instructions that only set
the fee, leave a note or spend a durable nonce may stand beside it; any other instruction makes it another transaction.
Source: `SystemInstruction` of the Solana SDK (bincode: the variant in four bytes, little-endian, then its fields).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

_SYSTEM_PROGRAM = "11111111111111111111111111111111"
# Programs that move nothing: ComputeBudget and both versions of Memo.
_ASIDE = frozenset(
    {
        "ComputeBudget111111111111111111111111111111",
        "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
        "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    }
)
_TRANSFER = (2).to_bytes(4, "little")
_TRANSFER_BYTES = 12
_ADVANCE_NONCE = (4).to_bytes(4, "little")
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# Twelve bytes take at most so many letters of Base58; what is longer is another instruction.
_MOST_LETTERS = 17


class Instruction(msgspec.Struct):
    """An instruction as the `json` encoding writes it: indices into the accounts, the data in Base58."""

    programIdIndex: int  # noqa: N815 - the node's own name
    accounts: list[int]
    data: str


class Transfer(NamedTuple):
    """A plain transfer: who the lamports came from, who received them."""

    sender: str
    receiver: str


def plain_transfer(instructions: list[Instruction], accounts: list[str]) -> Transfer | None:
    """Return the one transfer that a transaction consists of; None where it is anything else, or cannot be read.

    `accounts` are those of the message, then those that it takes from look-up tables: writable ones, then the others.
    """
    found: Transfer | None = None
    for instruction in instructions:
        program = _account(accounts, instruction.programIdIndex)
        if program in _ASIDE:
            continue
        if program != _SYSTEM_PROGRAM or len(instruction.data) > _MOST_LETTERS:
            return None
        data = _decode(instruction.data)
        if data == _ADVANCE_NONCE:
            continue
        if data is None or len(data) != _TRANSFER_BYTES or not data.startswith(_TRANSFER) or found is not None:
            return None
        ends = [_account(accounts, index) for index in instruction.accounts[:2]]
        if len(ends) < 2 or ends[0] is None or ends[1] is None:
            return None
        found = Transfer(ends[0], ends[1])
    return found


def _account(accounts: list[str], index: int) -> str | None:
    return accounts[index] if 0 <= index < len(accounts) else None


def _decode(text: str) -> bytes | None:
    """Return the bytes of Base58; None for what is none."""
    number = 0
    for letter in text:
        digit = _ALPHABET.find(letter)
        if digit < 0:
            return None
        number = number * len(_ALPHABET) + digit
    zeros = len(text) - len(text.lstrip(_ALPHABET[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
