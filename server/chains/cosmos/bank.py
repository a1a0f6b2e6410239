"""Amounts of denoms: balances, supplies, and what the bank module has about a denom."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

import msgspec
from waypost.v1 import token_pb2

from server.chains.capabilities.accounts import (
    Balance,
    Holding,
    Holdings,
    ReadsHoldings,
    ReadsSupplies,
    ReadsTokenBalances,
    ReadsTokenMetadata,
    is_accepted,
)
from server.chains.cosmos.answers import Digits  # noqa: TC001 - msgspec evaluates the annotations
from server.chains.cosmos.names import parse_account, parse_denom
from server.chains.shared.cache import CachedState
from server.chains.view import ReadView
from server.errors import HeightMissing, NotFound, NotSupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities.accounts import KnownAsset
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.shared.cache import ChainCache


Answer = TypeVar("Answer")

_BALANCE = "/cosmos/bank/v1beta1/balances/by_denom"


_DOTS = frozenset((".", ".."))


# The creator of a denom describes it, and chains bound exponents by 32 bits alone: an amount of two thousand million
# places would take all memory. Tokens of other families have 255 decimals at most.
_MOST_DECIMALS = 255
_MOST_EXPONENT = (1 << 31) - 1

_Exponent = Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)]


class _Route(NamedTuple):
    """A route and the version of the SDK that brought it."""

    path: str
    since: tuple[int, int] = (0, 40)


_SUPPLY = _Route("/cosmos/bank/v1beta1/supply/by_denom", since=(0, 46))
_SUPPLY_PATH = _Route("/cosmos/bank/v1beta1/supply")
_METADATA = _Route("/cosmos/bank/v1beta1/denoms_metadata_by_query_string", since=(0, 50))
_METADATA_PATH = _Route("/cosmos/bank/v1beta1/denoms_metadata")


_Packed = tuple[str, int | None, str, int | None, str | None]
_PACKED = msgspec.msgpack.Decoder(_Packed)


def _pack(found: Balance) -> bytes:
    # Amounts go beyond the integers of any packed format.
    packed: _Packed = (found.address, found.block, str(found.raw), found.decimals, found.token)
    return msgspec.msgpack.encode(packed)


def _unpack(data: bytes) -> Balance:
    address, block, raw, decimals, token = _PACKED.decode(data)
    return Balance(address, block, int(raw), decimals, token)


_CACHED_BALANCE = CachedState("balance", _pack, _unpack)
_CACHED_METADATA = CachedState(
    "metadata",
    token_pb2.GetTokenMetadataResponse.SerializeToString,
    token_pb2.GetTokenMetadataResponse.FromString,
)
_CACHED_SUPPLY = CachedState("supply", token_pb2.DenomSupply.SerializeToString, token_pb2.DenomSupply.FromString)


class _Coin(msgspec.Struct):
    denom: str
    amount: Digits


class _BalanceAnswer(msgspec.Struct):
    balance: _Coin


class _SupplyAnswer(msgspec.Struct):
    amount: _Coin


class _Unit(msgspec.Struct):
    denom: str
    exponent: _Exponent = 0
    aliases: list[str] | None = None


class _Metadata(msgspec.Struct):
    base: str
    description: str = ""
    denom_units: list[_Unit] = []
    display: str = ""
    name: str = ""
    symbol: str = ""
    uri: str = ""
    uri_hash: str = ""


class _MetadataAnswer(msgspec.Struct):
    metadata: _Metadata


class BankReader(ReadsTokenBalances, ReadsTokenMetadata, ReadsSupplies):
    """Reads the bank module of one chain."""

    def __init__(self, nodes: CosmosNodes, cache: ChainCache) -> None:
        self._nodes = nodes
        self._cache = cache
        # Exponents never change once a denom is described.
        self._exponents: dict[str, int] = cache.facts("exponent")

    def check_token(self, token: str) -> str:
        """Return the denom as the bank module writes it; InvalidArgument for what is none."""
        return parse_denom(token, "token")

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of a denom the account holds; 0 for an unknown account or denom."""
        return await self._cache.read_state(
            view, _CACHED_BALANCE, f"{address} {token}".encode(), lambda: self._balance(address, token, view)
        )

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """Return what the bank module has about a denom; NotFound where it has nothing."""
        return await self._cache.read_state(
            view, _CACHED_METADATA, address.encode(), lambda: self._token_metadata(address, view)
        )

    async def read_supply(self, denom: str, view: ReadView) -> token_pb2.DenomSupply:
        """Return how much of a denom exists; 0 for an unknown one."""
        wanted = parse_denom(denom, "denom")
        return await self._cache.read_state(view, _CACHED_SUPPLY, wanted.encode(), lambda: self._supply(wanted, view))

    async def _balance(self, address: str, token: str, view: ReadView) -> Balance:
        account = parse_account(address, self._nodes.facts.bech32, "address")
        denom = parse_denom(token, "token")
        path = f"/cosmos/bank/v1beta1/balances/{account}/by_denom"
        found = await self._nodes.get(
            _BALANCE, view, partial(_read_balance, denom), path=path, query=[("denom", denom)]
        )
        decimals = await self._exponent(denom, view)
        block = view.block if view.is_chosen else None
        return Balance(address=address, block=block, raw=int(found.amount), decimals=decimals, token=token)

    async def _token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        found = await self._metadata(parse_denom(address, "address"), view)
        if max((unit.exponent for unit in found.denom_units), default=0) > _MOST_EXPONENT:
            raise NotSupported(
                f"{self._nodes.slug} describes {address} with an exponent that is no token's", field="address"
            )
        units = [
            token_pb2.DenomUnit(denom=unit.denom, exponent=unit.exponent, aliases=unit.aliases or ())
            for unit in found.denom_units
        ]
        metadata = token_pb2.DenomMetadata(
            description=found.description,
            denom_units=units,
            base=found.base,
            display=found.display,
            name=found.name,
            symbol=found.symbol,
            uri=found.uri,
            uri_hash=found.uri_hash,
        )
        return token_pb2.GetTokenMetadataResponse(
            address=address, cosmos=token_pb2.CosmosTokenMetadata(metadata=metadata)
        )

    async def _supply(self, wanted: str, view: ReadView) -> token_pb2.DenomSupply:
        found = await self._by_denom(_SUPPLY, _SUPPLY_PATH, wanted, partial(_read_supply, wanted), view)
        return token_pb2.DenomSupply(denom=found.denom, amount=str(int(found.amount)))

    async def _exponent(self, denom: str, view: ReadView) -> int | None:
        native = self._nodes.facts.native
        known = native.decimals if denom == native.denom else self._exponents.get(denom)
        if known is not None:
            return known
        if view.cache is not None:
            view.cache.is_not_final()
        try:
            # The newest description will do: it is no part of the state that the balance is of.
            found = await self._metadata(denom, ReadView(deadline=view.deadline))
        except (NotFound, NotSupported):
            return None
        shown = next((unit.exponent for unit in found.denom_units if unit.denom == found.display), None)
        if shown is not None and shown > _MOST_DECIMALS:
            return None
        if shown is not None:
            self._exponents[denom] = shown
        return shown

    async def _metadata(self, denom: str, view: ReadView) -> _Metadata:
        """Ask by query string, the only way that takes every denom; older nodes accept the path alone."""
        try:
            found = await self._by_denom(_METADATA, _METADATA_PATH, denom, partial(_read_metadata, denom), view)
        except HeightMissing:
            raise
        except NotFound:
            raise self._undescribed(denom) from None
        return found

    async def _by_denom(
        self, by_query: _Route, by_path: _Route, denom: str, read: Callable[[bytes], Answer], view: ReadView
    ) -> Answer:
        """Ask first in the way that the nodes' version should have, and in the other one where they do not."""
        is_old = self._nodes.version.is_before(*by_query.since)
        ways = [by_path, by_query] if is_old else [by_query, by_path]
        # Parts of a path that mean another path: such a denom would name another route of the node.
        if not _DOTS.isdisjoint(denom.split("/")):
            ways = [by_query]
        for route in ways:
            is_path = route is by_path
            path = f"{route.path}/{denom}" if is_path else None
            query = () if is_path else (("denom", denom),)
            try:
                return await self._nodes.get(route.path, view, read, path=path, query=query)
            except NotSupported as error:
                lacking = error
        raise lacking

    def _undescribed(self, denom: str) -> NotFound:
        return NotFound(f"the bank module of {self._nodes.slug} does not describe {denom}")


# A cache that ignores the query of a request may answer about another denom. Each raises ValueError, or
# msgspec's error, for what is not about this one.


def _read_balance(denom: str, body: bytes) -> _Coin:
    return _of_denom(denom, msgspec.json.decode(body, type=_BalanceAnswer).balance)


def _read_supply(denom: str, body: bytes) -> _Coin:
    return _of_denom(denom, msgspec.json.decode(body, type=_SupplyAnswer).amount)


def _read_metadata(denom: str, body: bytes) -> _Metadata:
    metadata = msgspec.json.decode(body, type=_MetadataAnswer).metadata
    if metadata.base != denom:
        raise ValueError("another denom than the one asked for")
    return metadata


def _of_denom(denom: str, coin: _Coin) -> _Coin:
    if coin.denom != denom:
        raise ValueError("another denom than the one asked for")
    return coin


_BALANCES = "/cosmos/bank/v1beta1/balances"


class _Answer(msgspec.Struct):
    balances: list[_Coin]


class HoldingReader(ReadsHoldings):
    """Reads the holdings of one chain's accounts."""

    def __init__(self, nodes: CosmosNodes) -> None:
        self._nodes = nodes

    def check_holder(self, address: str) -> str:
        """Return the address; InvalidArgument for what is no account of the chain."""
        return parse_account(address, self._nodes.facts.bech32, "address")

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an account of the chain."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the account's balances of the own and the known denoms; one request per 200 denoms that it holds."""
        native = self._nodes.facts.native
        account = self.check_holder(address)
        coins = await self._nodes.pages(
            _BALANCES, view, _read_coins, lambda coin: coin.denom, path=f"{_BALANCES}/{account}"
        )
        amounts = {coin.denom: int(coin.amount) for coin in coins}
        rows = [Holding(None, amounts.get(native.denom or "", 0), native.decimals)]
        rows += [Holding(asset.address, amounts.get(asset.address, 0), asset.decimals) for asset in assets]
        return Holdings(address, view.block, tuple(row for row in rows if row.raw))


def _read_coins(body: bytes) -> list[_Coin]:
    return msgspec.json.decode(body, type=_Answer).balances
