"""Balances of addresses: the ways to read them in their order, and the scan of all unspent outputs."""

from __future__ import annotations

import asyncio
import copy
import time
from collections import OrderedDict
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from server.chains.bitcoin.address import parse_address
from server.chains.bitcoin.answers import Height  # noqa: TC001 - msgspec evaluates the annotations
from server.chains.capabilities import Balance
from server.chains.sound_answers import read_sound
from server.errors import (
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    NotSupported,
    TooMuchWork,
    UpstreamDisagrees,
    UpstreamUnavailable,
)
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

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
    """Counts confirmed balances. Several callers of one address share a scan; others wait for their turn."""

    def __init__(self, facts: ChainFacts, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._facts = facts
        self._pool = pool
        self._clock = clock
        self._turns = asyncio.Semaphore(max(len(pool.labels), 1))
        self._running: dict[str, asyncio.Task[_Counted]] = {}
        self._counted: OrderedDict[str, _Counted] = OrderedDict()

    async def read_balance(self, address: str, known: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the block that they count; settles the view.

        `known` is the address as nodes write it. A result is given again for a minute. Raises DeadlineExceeded when
        the scan takes longer than the caller has; it goes on, and its result is there for who asks again.
        """
        counted = self._counted.get(known)
        if counted is None or self._clock() - counted.at > _KEPT_SECONDS:
            counted = await self._wait(self._scan_of(known), view)
        view.settle(counted.height, counted.endpoint)
        return Balance(address, counted.height, counted.raw, self._facts.native.decimals)

    async def close(self) -> None:
        """Give up the scans under way."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _scan_of(self, known: str) -> asyncio.Task[_Counted]:
        task = self._running.get(known)
        if task is None:
            if len(self._running) >= _MOST_WAITING:
                slug = self._facts.slug
                raise UpstreamUnavailable(f"too many scans of {slug} wait for their turn", retry_after_ms=_RETRY_MS)
            task = self._running[known] = asyncio.get_running_loop().create_task(self._scan(known))
            task.add_done_callback(lambda done: self._finish(known, done))
        return task

    async def _wait(self, task: asyncio.Task[_Counted], view: ReadView) -> _Counted:
        left = SCAN_SECONDS if view.deadline is None else view.deadline - time.monotonic()
        done, _ = await asyncio.wait([task], timeout=max(left, 0.0))
        if not done:
            message = f"counting the unspent outputs of {self._facts.slug} takes longer; ask again for the result"
            raise DeadlineExceeded(message, retry_after_ms=_RETRY_MS)
        if task.cancelled():
            raise UpstreamUnavailable("the scan was given up; try again")
        failure = task.exception()
        if isinstance(failure, GatewayError):
            # One exception object raised in several tasks would collect all their tracebacks.
            raise copy.copy(failure)
        return task.result()

    async def _scan(self, known: str) -> _Counted:
        async with self._turns:
            until = time.monotonic() + SCAN_SECONDS
            params = ["start", [f"addr({known})"]]
            (raw, height), endpoint = await read_sound(
                self._pool, "scantxoutset", params, _read_scan, _SCAN, deadline=until
            )
        self._pool.observe_head(endpoint, height)
        return _Counted(raw, height, endpoint, self._clock())

    def _finish(self, known: str, task: asyncio.Task[_Counted]) -> None:
        del self._running[known]
        if task.cancelled() or task.exception() is not None:
            return
        self._counted[known] = task.result()
        self._counted.move_to_end(known)
        if len(self._counted) > _KEPT:
            self._counted.popitem(last=False)


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


class Way(Protocol):
    """One way to a balance."""

    async def read_balance(self, address: str, known: str, view: ReadView) -> Balance:
        """Return the confirmed balance of an address, `known` to nodes so, and settle the view at its block."""
        ...


class BalanceReader:
    """Reads confirmed balances by the first of the `ways` that works."""

    def __init__(self, facts: ChainFacts, ways: Sequence[Way]) -> None:
        self._facts = facts
        self._ways = tuple(ways)

    def check(self, address: str, view: ReadView) -> str:
        """Return the address as nodes write it.

        Raises:
            InvalidArgument: it is no address of the chain.
            NotSupported: the caller named a block, or no endpoint for balances is configured.
        """
        known = parse_address(address)
        if view.is_chosen:
            message = "blockHeight: no balances of the past are known of Bitcoin; leave it out"
            raise NotSupported(message, field="blockHeight")
        if not self._ways:
            raise NotSupported(f"balances on {self._facts.slug} need a configured endpoint of kind esplora or scan")
        return known

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the newest block that they count; settles the view."""
        known = self.check(address, view)
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
