"""The JSON of nodes' answers, as far as it is read (unknown members pass by), and reads of the newest state."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import msgspec

from server.chains.shared.validated_reads import read_validated
from server.chains.view import BlockAnswer, NewestBlock, NewestCall, read_newest
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

Answer = TypeVar("Answer")
Value = TypeVar("Value", covariant=True)

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A slot or lamports: no chain comes to more than 63 bits of either."""

COMMITMENT = "confirmed"
"""What reads of the latest state ask for: a supermajority voted for it; blocks cannot be had below it."""

SLOT = ("getSlot", [{"commitment": COMMITMENT}])

_slot = msgspec.json.Decoder(Count)


class Context(msgspec.Struct):
    """The slot that a state was read at."""

    slot: Count


class Account(msgspec.Struct):
    """An account; `data` is `[text, encoding]`, or an object where the node parsed it."""

    owner: str
    data: Any


class Amount(msgspec.Struct):
    """`{"context", "value"}` of `getBalance`."""

    context: Context
    value: Count


class Accounts(msgspec.Struct):
    """`{"context", "value"}` of `getMultipleAccounts`."""

    context: Context
    value: list[Account | None]


class Keyed(msgspec.Struct):
    """A row of `getTokenAccountsByOwner`."""

    pubkey: str
    account: Account


class Holdings(msgspec.Struct):
    """`{"context", "value"}` of `getTokenAccountsByOwner`."""

    context: Context
    value: list[Keyed]


_accounts = msgspec.json.Decoder(Accounts)

read_amount = msgspec.json.Decoder(Amount).decode
"""Return the answer to `getBalance`; ValueError or msgspec's error if it is none."""

read_holdings = msgspec.json.Decoder(Holdings).decode
"""Return the answer to `getTokenAccountsByOwner`; ValueError or msgspec's error if it is none."""


def read_accounts(result: bytes, count: int) -> Accounts:
    """Return the answer to `getMultipleAccounts` about so many; ValueError or msgspec's error if it is none."""
    answer = _accounts.decode(result)
    if len(answer.value) != count:
        raise ValueError("not the accounts that were asked for")
    for account in answer.value:
        if account is not None and account_bytes(account) is None and not isinstance(account.data, dict):
            raise ValueError("an account without data")
    return answer


def read_slot(result: bytes) -> int:
    """Return the slot of a `getSlot` answer; ValueError if it is none."""
    try:
        return _slot.decode(result)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a slot") from None


def _newest(result: bytes) -> NewestBlock:
    return NewestBlock(read_slot(result))


NEWEST_CALL = NewestCall(*SLOT, _newest)


def account_bytes(account: Account) -> bytes | None:
    """Return the data of an account that came in base64, None where it came otherwise."""
    data = account.data
    if not (isinstance(data, list) and len(data) == 2 and data[1] == "base64" and isinstance(data[0], str)):
        return None
    try:
        return base64.b64decode(data[0], validate=True)
    except (binascii.Error, ValueError):
        return None


def parsed_info(account: Account, kind: str) -> dict[str, Any] | None:
    """Return `info` of an account that the node parsed as `mint` or `account`, None where it did not."""
    data = account.data
    parsed = data.get("parsed") if isinstance(data, dict) else None
    if not isinstance(parsed, dict) or parsed.get("type") != kind:
        return None
    info = parsed.get("info")
    return info if isinstance(info, dict) else None


class Slotted(Protocol[Value]):
    """A result with the slot that it is of."""

    @property
    def context(self) -> Context:
        """Where the slot stands."""

    @property
    def value(self) -> Value:
        """What was asked for."""


async def read_settled(
    pool: Pool, read: Callable[[frozenset[str]], Awaitable[BlockAnswer[Answer]]], view: ReadView
) -> BlockAnswer[Answer]:
    """Return what `read` brings of the newest state, as `read_newest` does, with the view settled at its slot."""
    block_answer = await read_newest(pool, read)
    view.settle(block_answer.block, block_answer.endpoint)
    return block_answer


async def read_value(
    pool: Pool, method: str, params: Sequence[object], read: Callable[[bytes], Slotted[Answer]], view: ReadView
) -> BlockAnswer[Answer]:
    """Return the value of one call's result, with the view settled at its slot."""

    async def ask(avoid: frozenset[str]) -> BlockAnswer[Answer]:
        policy = CallPolicy(avoid=avoid)
        found, endpoint = await read_validated(pool, method, params, read, policy, deadline=view.deadline)
        return BlockAnswer(found.value, endpoint, found.context.slot)

    return await read_settled(pool, ask, view)
