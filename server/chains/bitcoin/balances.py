"""Balances of addresses, which nodes keep no index of: by whichever way endpoints are configured for."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from server.chains.bitcoin.answers import Height  # noqa: TC001 - msgspec evaluates the annotations
from server.chains.capabilities.accounts import Balance, Holding, Holdings, ReadsBalances, ReadsHoldings, is_accepted
from server.chains.shared.cache import CachedState
from server.chains.shared.validated_reads import read_validated
from server.errors import (
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    NotSupported,
    TooMuchWork,
    UpstreamDisagrees,
    UpstreamUnavailable,
)
from server.upstream.connector import CallPolicy
from server.upstream.single_flight import SingleFlight, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities.accounts import KnownAsset
    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


# Sources: BIP-173 (Bech32), BIP-350 (Bech32m), BIP-13 (P2SH) and Base58Check as of the first release.

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_PREFIX = "bc"
_VERSIONS = frozenset((0x00, 0x05))
_LONGEST_BASE58 = 35
_LONGEST_BECH32 = 90
_CHECKSUM_LENGTH = 6
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
# What the checksum comes out as: version 0 is written in Bech32, later versions in Bech32m.
_BECH32_SUM = 1
_BECH32M_SUM = 0x2BC830A3


def parse_address(text: str) -> str:
    """Return the address as nodes write it (witness programs in lower case).

    Raises:
        InvalidArgument: it is no address of the main network (field `address`).
    """
    if text[:3].lower() == f"{_PREFIX}1":
        return _parse_witness(text)
    return _parse_base58(text)


def _parse_base58(text: str) -> str:
    if not 0 < len(text) <= _LONGEST_BASE58 or any(character not in _BASE58 for character in text):
        raise _refuse("it is neither Base58 nor Bech32 of the main network (1..., 3..., bc1...)")
    number = 0
    for character in text:
        number = number * 58 + _BASE58.index(character)
    zeros = len(text) - len(text.lstrip("1"))
    raw = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
    payload, checksum = raw[:-4], raw[-4:]
    if len(raw) != 25 or hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4] != checksum:
        raise _refuse("its checksum is wrong, or it is cut")
    if payload[0] not in _VERSIONS:
        raise _refuse("it belongs to another network")
    return text


def _parse_witness(text: str) -> str:
    if text not in (text.lower(), text.upper()):
        raise _refuse("upper and lower case are mixed")
    address = text.lower()
    data = address[len(_PREFIX) + 1 :]
    if len(address) > _LONGEST_BECH32 or len(data) <= _CHECKSUM_LENGTH or any(mark not in _BECH32 for mark in data):
        raise _refuse("it is not written as Bech32 is")
    values = [_BECH32.index(mark) for mark in data]
    version, program = values[0], _join(values[1:-_CHECKSUM_LENGTH])
    if _checksum(values) != (_BECH32M_SUM if version else _BECH32_SUM):
        raise _refuse("its checksum is wrong")
    lengths = range(2, 41) if version else (20, 32)
    if version > 16 or program is None or len(program) not in lengths:
        raise _refuse("there is no such witness program")
    return address


def _checksum(values: list[int]) -> int:
    expanded = [ord(mark) >> 5 for mark in _PREFIX] + [0] + [ord(mark) & 31 for mark in _PREFIX]
    total = 1
    for value in expanded + values:
        top = total >> 25
        total = (total & 0x1FFFFFF) << 5 ^ value
        for position, generator in enumerate(_GENERATORS):
            if top >> position & 1:
                total ^= generator
    return total


def _join(values: list[int]) -> bytes | None:
    """Return groups of five bits as bytes, None where what is left over is more than padding with zeros."""
    number = 0
    for value in values:
        number = number << 5 | value
    spare = len(values) * 5 % 8
    if spare > 4 or number & ((1 << spare) - 1):
        return None
    return (number >> spare).to_bytes(len(values) * 5 // 8)


def _refuse(why: str) -> InvalidArgument:
    return InvalidArgument(f"address: this is no Bitcoin address: {why}", field="address")


_CACHED = CachedState("balance", msgspec.msgpack.encode, msgspec.msgpack.Decoder(Balance).decode)


class Way(Protocol):
    """One way to a balance."""

    async def read_balance(self, address: str, known: str, view: ReadView) -> Balance:
        """Return the confirmed balance of an address, `known` to nodes so, and pin the view to its block."""
        ...


class BalanceReader(ReadsBalances, ReadsHoldings):
    """Reads confirmed balances by the first of the `ways` that works; there is nothing to hold but the own coin."""

    def __init__(self, facts: ChainFacts, ways: Sequence[Way], cache: ChainCache) -> None:
        self._facts = facts
        self._ways = tuple(ways)
        self._cache = cache

    def check_holder(self, address: str) -> str:
        """Return the address as nodes write it; InvalidArgument for what is no address of the chain."""
        return parse_address(address)

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an address of the chain."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the balance, no row where it is zero."""
        balance = await self.read_balance(address, view)
        rows = (Holding(None, balance.raw, self._facts.native.decimals),) if balance.raw else ()
        return Holdings(balance.address, balance.block, rows)

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the newest block that they count; settles the view."""
        known = self._check(address, view)
        return await self._cache.read_state(view, _CACHED, address.encode(), lambda: self._read(address, known, view))

    async def _read(self, address: str, known: str, view: ReadView) -> Balance:
        failure: GatewayError | None = None
        for way in self._ways:
            try:
                return await way.read_balance(address, known, view)
            except InvalidArgument as error:
                raise InvalidArgument(error.message, field="address") from None
            except (UpstreamUnavailable, UpstreamDisagrees, TooMuchWork) as error:
                failure = failure or error
        assert failure is not None
        raise failure

    def _check(self, address: str, view: ReadView) -> str:
        """Return the address as nodes write it.

        Raises:
            InvalidArgument: it is no address of the chain.
            NotSupported: the caller named a block, or no endpoint that reports balances is configured.
        """
        known = parse_address(address)
        if view.is_chosen:
            message = "blockHeight: no balances of the past are known of Bitcoin; leave it out"
            raise NotSupported(message, field="blockHeight")
        if not self._ways:
            raise NotSupported(f"balances on {self._facts.slug} need a configured endpoint of kind esplora or scan")
        return known


# That takes the whole node for minutes, and a node makes one scan at a time. So it is done only by endpoints that are
# configured for it (kind `scan`), one scan per endpoint, and the result outlives a caller that stopped waiting.

SCAN_SECONDS = 600.0
"""How long a scan may take."""

_KEPT_SECONDS = 60.0
_KEPT = 256
_MOST_WAITING = 8
_DECIMALS = Decimal(10**8)
# More coins than there will ever be. A number of JSON may be 1e999990, which takes minutes to write as an integer.
_MOST_COINS = Decimal(21_000_000)
_RETRY_MS = 30_000

_SCAN = CallPolicy(heavy=True, caller_made=True, joinable=False)


class _Scan(msgspec.Struct):
    success: bool
    height: Height
    total_amount: Decimal


class _Counted(NamedTuple):
    raw: int
    height: int
    endpoint: str
    at: float


class ScannedBalances:
    """Counts confirmed balances. Several callers of one address share a scan; others wait for their turn.

    Results are kept here and not in the chain's cache alone: a scan outlives the caller that began it, and its result
    lasts longer than any answer near the head.
    """

    def __init__(self, facts: ChainFacts, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._facts = facts
        self._pool = pool
        self._clock = clock
        self._turns = asyncio.Semaphore(max(len(pool.labels), 1))
        self._running: SingleFlight[_Counted] = SingleFlight()
        self._counted: OrderedDict[str, _Counted] = OrderedDict()

    async def read_balance(self, address: str, known: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the block that they count; settles the view.

        `known` is the address as nodes write it. A result is given again for a minute. Raises DeadlineExceeded when
        the scan takes longer than the caller has; it goes on, and its result is there for the next request.
        """
        counted = self._counted.get(known)
        if counted is None or self._clock() - counted.at > _KEPT_SECONDS:
            counted = await self._wait(self._scan_of(known), view)
        view.settle(counted.height, counted.endpoint)
        return Balance(address, counted.height, counted.raw, self._facts.native.decimals)

    async def close(self) -> None:
        """Give up the scans under way."""
        await self._running.close()

    def _scan_of(self, known: str) -> asyncio.Task[_Counted]:
        if known not in self._running and len(self._running) >= _MOST_WAITING:
            slug = self._facts.slug
            raise UpstreamUnavailable(f"too many scans of {slug} wait for their turn", retry_after_ms=_RETRY_MS)
        return self._running.start(known, lambda: self._scan(known))

    async def _wait(self, task: asyncio.Task[_Counted], view: ReadView) -> _Counted:
        left = SCAN_SECONDS if view.deadline is None else view.deadline - time.monotonic()
        await asyncio.wait((task,), timeout=max(left, 0.0))
        if not task.done():
            message = f"counting the unspent outputs of {self._facts.slug} takes longer; ask again for the result"
            raise DeadlineExceeded(message, retry_after_ms=_RETRY_MS)
        return outcome_of(task)

    async def _scan(self, known: str) -> _Counted:
        async with self._turns:
            until = time.monotonic() + SCAN_SECONDS
            params = ["start", [f"addr({known})"]]
            (raw, height), endpoint = await read_validated(
                self._pool, "scantxoutset", params, _read_scan, _SCAN, deadline=until
            )
        self._pool.observe_head(endpoint, height)
        counted = self._counted[known] = _Counted(raw, height, endpoint, self._clock())
        self._counted.move_to_end(known)
        if len(self._counted) > _KEPT:
            self._counted.popitem(last=False)
        return counted


def _read_scan(result: bytes) -> tuple[int, int]:
    """Return satoshi and height of a finished scan; ValueError, or msgspec's error, for what is none."""
    found = msgspec.json.decode(result, type=_Scan)
    try:
        if not 0 <= found.total_amount <= _MOST_COINS:
            raise ValueError("not an amount")
        satoshi = found.total_amount * _DECIMALS
        raw = int(satoshi)
    except ArithmeticError:
        raise ValueError("not an amount") from None
    if not found.success or raw != satoshi:
        raise ValueError("not a finished scan")
    return raw, found.height
