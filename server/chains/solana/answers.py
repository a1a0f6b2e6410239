"""The JSON of nodes' answers, as far as it is read: unknown members and types pass by."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A slot or lamports: no chain comes to more than 63 bits of either."""

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
