"""Calls of contracts with their outcomes, and texts that contracts answer."""

from __future__ import annotations

from typing import NamedTuple

from server.contracts.words import word


class ContractCall(NamedTuple):
    """A call of a contract: its canonical address and the calldata.

    `gas` is what it takes at most as a rule. `sender` is set only where the answer depends on `msg.sender`; such a call
    is never folded with others. `is_optional` is set where it matters only what the call returns if it does: a failure
    without data, which may be for want of gas, is not read again then.
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
    """Calls that are cached and folded together.

    `is_known` is set where every address is the gateway's own data: such calls may share executions with those of other
    requests. Groups that hold an address named by a caller, or calls that change state, run in executions of their own.
    """

    calls: tuple[ContractCall, ...]
    is_known: bool = True


MAX_TEXT_BYTES = 256


def clean_text(data: bytes) -> str:
    """Return bytes as text: UTF-8 with replacement, NULs stripped, 256 bytes at most (decisions section 3.2)."""
    text = data[: MAX_TEXT_BYTES * 4].decode("utf-8", "replace").replace("\0", "")
    return text.encode("utf-8")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")


def read_text(data: bytes) -> str | None:
    """Return the string of an ABI answer: a dynamic `string` (or `bytes`), or the `bytes32` of old tokens.

    None where the data is neither, an empty answer included.
    """
    if len(data) == 32:
        return clean_text(data)
    content = dynamic_bytes(data)
    return None if content is None else clean_text(content)


def dynamic_bytes(data: bytes) -> bytes | None:
    """Return the content of a dynamic `string` or `bytes` that is an ABI answer's first value; None where none is."""
    if len(data) < 64:
        return None
    offset = word(data)
    if offset + 32 > len(data):
        return None
    size = int.from_bytes(data[offset : offset + 32], "big")
    start = offset + 32
    return data[start : start + size] if start + size <= len(data) else None
