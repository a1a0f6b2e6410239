"""Multicall3's `aggregate3`, encoded and decoded by hand.

`aggregate3((address target, bool allowFailure, bytes callData)[]) -> (bool success, bytes returnData)[]` has a layout
so regular that joining prepared words does it; a generic ABI codec takes about forty times as long.

Source: mds1/multicall3, Multicall3.sol; Solidity ABI specification.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from server.contracts.address import PRECOMPILES
from server.contracts.words import address_word, word

if TYPE_CHECKING:
    from collections.abc import Sequence


AGGREGATE3 = bytes.fromhex("82ad56cb")
GET_BLOCK_NUMBER = bytes.fromhex("42cbb15c")
GET_BLOCK_TIME = bytes.fromhex("0f28c97d")
GET_CHAIN_ID = bytes.fromhex("3408e470")
GET_LAST_BLOCK_HASH = bytes.fromhex("27e86d6e")
GET_PREVRANDAO = bytes.fromhex("72425d9d")
GET_ETH_BALANCE = bytes.fromhex("4d2301cc")

# With what pads an address of 20 bytes to a word.
_GET_BALANCE_OF = GET_ETH_BALANCE + bytes(12)

_WORD_32 = (32).to_bytes(32, "big")
_TRUE = (1).to_bytes(32, "big")
_WORD_96 = (96).to_bytes(32, "big")
# What stands between a call's target and its data: allowFailure = true, offset of the data.
_ALLOW_FAILURE = _TRUE + _WORD_96
# How the result of a call that succeeded begins: true, offset of the bytes.
_SUCCEEDED = _TRUE + (64).to_bytes(32, "big")
# By the bytes of a last word that is not full.
_PADDING = tuple(bytes(-size % 32) for size in range(32))


class Call(NamedTuple):
    """One call of a chunk: the target's 20 bytes and the calldata.

    `gas` is what it takes at most as a rule, by which executions are bounded. `sender` is set (20 bytes) only for calls
    whose answer depends on `msg.sender`: those are never folded, because the sender of folded calls is Multicall3.
    `is_optional` is set where a failure without data is enough: it is not read again alone.
    """

    target: bytes
    data: bytes
    gas: int = 50_000
    sender: bytes | None = None
    is_optional: bool = False


class Outcome(NamedTuple):
    """What one call of a chunk returned; `data` of a failed call is what it reverted with."""

    success: bool
    data: bytes


def eth_balance_call(multicall: bytes, account: bytes) -> Call:
    """Return the call of Multicall3's own `getEthBalance(address)`: it touches nothing but the account's balance."""
    return Call(multicall, _GET_BALANCE_OF + account)


def encode_aggregate3(calls: Sequence[Call]) -> bytes:
    """Return the calldata of `aggregate3(calls)`, every call allowed to fail."""
    heads: list[bytes] = [AGGREGATE3, _WORD_32, len(calls).to_bytes(32, "big")]
    tails: list[bytes] = []
    offset = 32 * len(calls)
    for target, data, _, _, _ in calls:
        heads.append(offset.to_bytes(32, "big"))
        size = len(data)
        tails += (_lead(target, size), data, _PADDING[size & 31])
        offset += 160 + size - (size & 31) if size & 31 else 128 + size
    return b"".join(heads) + b"".join(tails)


@lru_cache(4096)
def _lead(target: bytes, size: int) -> bytes:
    """Return what stands before so many bytes of calldata; calls of few contracts are by far the most."""
    return address_word(target) + _ALLOW_FAILURE + size.to_bytes(32, "big")


def decode_aggregate3(data: bytes, count: int) -> list[Outcome]:
    """Return the outcomes of `count` calls from the return data of `aggregate3`.

    Raises:
        ValueError: the data is not such an answer (cut short, other count, offsets outside, results that overlap).
    """
    start = word(data)
    if start + 32 > len(data):
        raise ValueError("the array starts outside the data")
    if int.from_bytes(data[start : start + 32], "big") != count:
        raise ValueError("the answer has another number of results than the call")
    base = start + 32
    outcomes: list[Outcome] = []
    # Offsets may all lead to the same bytes: a long answer would become many copies of it.
    room = length = len(data)
    for head in range(base, base + 32 * count, 32):
        at = base + int.from_bytes(data[head : head + 32], "big")
        lead = data[at : at + 64]
        # Every compiler writes the bytes behind their offset.
        content = at + 64 if lead == _SUCCEEDED else at + int.from_bytes(lead[32:], "big")
        size = int.from_bytes(data[content : content + 32], "big")
        end = content + 32 + size
        room -= size
        if len(lead) < 32 or end > length or room < 0:
            raise ValueError("a result lies outside the data")
        outcomes.append(Outcome(lead[31] == 1, data[content + 32 : end]))
    return outcomes


_NOTHING = Outcome(True, b"")


def without_precompiles(calls: Sequence[Call], outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes of the calls, where a precompile was called that of an address without code."""
    if not any(call.target in PRECOMPILES for call in calls):
        return outcomes
    return [_NOTHING if call.target in PRECOMPILES else outcome for call, outcome in zip(calls, outcomes, strict=True)]
