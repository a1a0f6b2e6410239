"""Why a contract call reverted, from the bytes it reverted with.

Sources: Solidity documentation, "Panic via assert and Error via require" (codes) and "Errors and the Revert Statement".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.contracts.calls import read_text
from server.contracts.words import word
from server.errors import Reverted

if TYPE_CHECKING:
    from server.contracts.calls import ContractOutcome

ERROR_STRING = bytes.fromhex("08c379a0")
PANIC = bytes.fromhex("4e487b71")

_PANICS = {
    0x00: "generic panic of the compiler",
    0x01: "assertion failed",
    0x11: "arithmetic overflow or underflow",
    0x12: "division or modulo by zero",
    0x21: "value outside of an enum",
    0x22: "badly encoded storage byte array",
    0x31: "pop of an empty array",
    0x32: "array index out of bounds",
    0x41: "too much memory allocated",
    0x51: "call of an uninitialised function",
}

# What of a custom error's arguments the message shows; rows and simulations have no other place for them.
_SHOWN_ARGUMENTS = 128


@dataclass(frozen=True, slots=True)
class Revert:
    """What a call reverted with.

    `data` is all of it, `selector` its first four bytes, by which `Interface.errors` finds custom errors (empty where
    there are less). `reason` is the text of `Error(string)`, as the contract wrote it, None for everything else.
    """

    data: bytes
    selector: bytes
    reason: str | None

    @classmethod
    def of(cls, outcome: ContractOutcome) -> Revert:
        """Return the revert of a call that failed; ValueError for one that did not."""
        if outcome.succeeded:
            raise ValueError("the call did not revert")
        data = outcome.data
        selector = data[:4] if len(data) >= 4 else b""
        return cls(data, selector, read_text(data[4:]) if selector == ERROR_STRING else None)


def describe_revert(data: bytes) -> str:
    """Return the reason in words: the text of `Error(string)`, what a `Panic(uint256)` means, or a custom error."""
    selector, arguments = data[:4], data[4:]
    if not data:
        return "execution reverted without a reason"
    if selector == ERROR_STRING and (text := read_text(arguments)) is not None:
        return f"execution reverted: {_printable(text)}"
    if selector == PANIC and len(arguments) == 32:
        code = word(arguments)
        return f"execution reverted: panic {code:#04x} ({_PANICS.get(code, 'unknown code')})"
    if len(data) < 4:
        return f"execution reverted with data 0x{data.hex()}"
    shown = arguments[:_SHOWN_ARGUMENTS].hex() + ("..." if len(arguments) > _SHOWN_ARGUMENTS else "")
    return f"execution reverted with custom error 0x{selector.hex()}" + (f" and data 0x{shown}" if shown else "")


def reverted(data: bytes) -> Reverted:
    """Return the failure of a call that reverted with `data`."""
    return Reverted(describe_revert(data), data=data)


def is_revert_payload(data: bytes) -> bool:
    """Return whether return data is in truth a revert: some nodes return `Error(string)` or `Panic` as a result.

    ABI-encoded return data is a multiple of 32 bytes long, a revert payload has four more.
    """
    return len(data) % 32 == 4 and data[:4] in (ERROR_STRING, PANIC)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()
