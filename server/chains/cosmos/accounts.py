"""Accounts: whatever their kind, in one flat shape."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import cosmos_pb2

from server.chains.capabilities.accounts import ReadsAccounts
from server.chains.cosmos.answers import Digits, members_of, native
from server.chains.cosmos.names import parse_account
from server.chains.shared.cache import CachedState
from server.errors import HeightMissing, NotFound

if TYPE_CHECKING:
    from server.chains.cosmos.answers import Members
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView

_ROUTE = "/cosmos/auth/v1beta1/accounts"
_DEEPEST = 6
_KEYS = ("pub_key", "public_key")

_ACCOUNT = CachedState("account", cosmos_pb2.CosmosAccount.SerializeToString, cosmos_pb2.CosmosAccount.FromString)


class _Answer(msgspec.Struct):
    account: msgspec.Raw


class AccountReader(ReadsAccounts):
    """Reads the auth module of one chain."""

    def __init__(self, nodes: CosmosNodes, cache: ChainCache) -> None:
        self._nodes = nodes
        self._cache = cache

    async def read_account(self, address: str, view: ReadView) -> cosmos_pb2.CosmosAccount:
        """Return the account; NotFound for an address that was never used."""
        account = parse_account(address, self._nodes.facts.bech32, "address")
        return await self._cache.read_state(view, _ACCOUNT, account.encode(), lambda: self._read(account, view))

    async def _read(self, account: str, view: ReadView) -> cosmos_pb2.CosmosAccount:
        try:
            return await self._nodes.get(_ROUTE, view, partial(_read, account), path=f"{_ROUTE}/{account}")
        except HeightMissing:
            raise
        except NotFound:
            raise NotFound(f"{self._nodes.slug} has no account of that address: it was never used") from None


def _read(account: str, body: bytes) -> cosmos_pb2.CosmosAccount:
    """Return the account of that address; ValueError, or msgspec's error, for what is none, or another one."""
    found = flatten(members_of(msgspec.json.decode(body, type=_Answer).account))
    if found.address != account:
        raise ValueError("another account than the one asked for")
    return found


def flatten(account: Members) -> cosmos_pb2.CosmosAccount:
    """Return any kind of account flat: `@type` is the outer one, the rest stands where `account_number` does.

    Kinds wrap the base account under members of many names, one or two levels deep, and chains add kinds of their own.
    Raises ValueError, or msgspec's error, where there is no base account.
    """
    base = _find_base(account, _DEEPEST)
    if base is None:
        raise ValueError("no base account")
    key = next((base[name] for name in _KEYS if name in base and bytes(base[name]) not in (b"null", b'""')), None)
    return cosmos_pb2.CosmosAccount(
        type=_text(account.get("@type")),
        address=_text(base["address"]),
        pub_key=None if key is None else native(key),
        account_number=_number(base.get("account_number")),
        sequence=_number(base.get("sequence")),
    )


def _find_base(members: Members, deepest: int) -> Members | None:
    if "account_number" in members and "address" in members:
        return members
    if deepest == 0:
        return None
    for raw in members.values():
        if bytes(raw)[:1] == b"{":
            found = _find_base(members_of(raw), deepest - 1)
            if found is not None:
                return found
    return None


def _text(raw: msgspec.Raw | None) -> str:
    if raw is None:
        raise ValueError("an account lacks members")
    return msgspec.json.decode(raw, type=str)


def _number(raw: msgspec.Raw | None) -> str:
    """Return an integer as decimal text; accounts in the flat form of older types write numbers bare."""
    if raw is None:
        return "0"
    digits = bytes(raw).strip(b'"').decode()
    return str(int(msgspec.convert(digits, Digits)))
