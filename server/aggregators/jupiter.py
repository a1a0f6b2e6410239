"""Jupiter's quotes of swaps on Solana (`GET /swap/v1/quote`).

Source: jup-ag/docs openapi-spec/swap/v1/swap.yaml, portal/rate-limits; @jup-ag/api 6.0.48 (the members of a quote).
"""

from __future__ import annotations

import asyncio
import copy
import math
import re
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.apis.endpoints import AGENT, ApiErrors, changed_shape, read_shape
from server.errors import DeadlineExceeded, GatewayError, InvalidArgument, NotFound, UpstreamUnavailable, release
from server.upstream import Classified, Verdict
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.settings import RemoteSettings
    from server.apis.sources import Sources
    from server.upstream import RestPool
    from server.upstream.cache import CacheContext
    from server.upstream.single_flight import SharedDeadline

NAME = "jupiter"

LARGEST_AMOUNT = 2**64 - 1
"""Amounts of mints are 64 bits wide."""

KEPT_SECONDS = 2.0
"""How long a quote answers equal questions, from when it was requested."""

LONGEST_WAIT = 4.0
"""How long a request waits for its turn within the quota."""

ANSWER_SECONDS = 10.0
"""How long callers wait for an answer at most."""

_PATH = "/swap/v1/quote"
# Requests per second without a key and with the smallest one (portal/rate-limits).
_KEYLESS_RATE, _KEY_RATE = 0.5, 1.0
# Where a refusal for the rate does not state for how long: the quota counts within a minute.
_LIMITED_SECONDS = 10.0
_WHOLE = 10_000
_BAD_REQUEST, _ABSENT, _THROTTLED = 400, 404, 429
_NO_ROUTE = frozenset({"COULD_NOT_FIND_ANY_ROUTE", "NO_ROUTES_FOUND"})
_NOT_TRADABLE = "TOKEN_NOT_TRADABLE"
_UINT = re.compile(r"0|[1-9][0-9]{0,19}")


class Swap(NamedTuple):
    """A question: mints in canonical writing, the amount raw, the slippage in basis points."""

    input_mint: str
    output_mint: str
    amount: int
    slippage_bps: int = 50


class Step(NamedTuple):
    """One pool of a route: account, name where the source gives one, mints, share in percent and in basis points."""

    pool: str
    label: str | None
    input_mint: str
    output_mint: str
    percent: int
    bps: int | None


class Quote(NamedTuple):
    """What a swap yields: raw amounts, `least` after slippage; the price impact in the source's own words."""

    amount_out: int
    least: int
    impact: str
    steps: tuple[Step, ...]


class _Info(msgspec.Struct, rename="camel"):
    amm_key: str
    input_mint: str
    output_mint: str
    label: str | None = None


class _Step(msgspec.Struct, rename="camel"):
    swap_info: _Info
    percent: int | None = None
    bps: int | None = None


class _Quote(msgspec.Struct, rename="camel"):
    input_mint: str
    in_amount: str
    output_mint: str
    out_amount: str
    other_amount_threshold: str
    swap_mode: str
    slippage_bps: int
    price_impact_pct: str
    route_plan: list[_Step]


class _NotTradable(InvalidArgument):
    """A mint that no pool takes; `source_text` is the source's message, which names it."""

    source_text = ""


class _Errors:
    """What the API's errors mean. See `ErrorTable`."""

    def __init__(self) -> None:
        self._plain = ApiErrors(NAME)

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict by status, and by `errorCode` (the data) or text where the request is refused."""
        if http_status == _THROTTLED:
            return Classified(Verdict.LIMITED, UpstreamUnavailable(f"{NAME} throttles the gateway"), _LIMITED_SECONDS)
        if http_status == _ABSENT:
            # Its quotes are gone from there, which means nothing for routes.
            return Classified(Verdict.SICK, UpstreamUnavailable(f"{NAME} has no quotes at the configured address"))
        if http_status != _BAD_REQUEST:
            return self._plain.classify(http_status, code, message, data)
        return Classified(Verdict.ANSWER, _refusal(_text(data), message))


class Budget:
    """Spaces the requests to the source `name` evenly. `rate` is in units per second, `clock` monotonic."""

    def __init__(self, name: str, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._unit_seconds = 1 / rate
        self._clock = clock
        self._next = 0.0

    def set_rate(self, rate: float) -> None:
        """Space requests by another rate from now on; those that took their turns count as many as before."""
        now, unit_seconds = self._clock(), 1 / rate
        if self._next > now:
            self._next = now + (self._next - now) * unit_seconds / self._unit_seconds
        self._unit_seconds = unit_seconds

    async def wait(self, until: float, *, units: float = 1.0) -> None:
        """Return when the next request, which takes so many units of the quota, may leave.

        Raises:
            UpstreamUnavailable: that is more than `LONGEST_WAIT` away, or after `until`; states when to try again.
        """
        now = self._clock()
        turn = max(self._next, now)
        seconds = turn - now
        if seconds > min(LONGEST_WAIT, until - now):
            raise UpstreamUnavailable(
                f"the gateway's quota of requests to {self._name} is used up; try again in a few seconds",
                retry_after_ms=math.ceil(seconds * 1000),
            )
        following = self._next = turn + units * self._unit_seconds
        if seconds <= 0:
            return
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            # The caller is gone; the turn is given back unless others come after it.
            if self._next == following:
                self._next = turn
            raise


class Jupiter:
    """Requests quotes: equal questions of two seconds are one request, and requests keep to the quota.

    With `kept_seconds` 0 only equal questions of one moment are one. `clock` is monotonic.
    """

    def __init__(
        self,
        pool: RestPool,
        budget: Budget,
        *,
        kept_seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._budget = budget
        self._seconds = kept_seconds
        self._clock = clock
        self._in_flight: SingleFlight[Quote] = SingleFlight()
        self._kept: dict[Swap, tuple[float, Quote | GatewayError]] = {}

    async def quote(self, swap: Swap, *, deadline: float | None, use: CacheContext | None) -> Quote:
        """Return what a swap yields.

        Raises:
            InvalidArgument: the mints are equal, or no pool takes one of them (the parameter as the field).
            NotFound: no route leads from one to the other.
            UpstreamUnavailable: the source fails, throttles, answers another question or in another shape.
        """
        check_mints(swap.input_mint, swap.output_mint)
        now = self._clock()
        kept = self._kept.get(swap)
        if kept is not None and now < kept[0] and not (use is not None and use.bypass):
            if use is not None:
                use.hit()
            return _settled(kept[1])
        if use is not None and self._seconds:
            use.miss()
        until = now + ANSWER_SECONDS
        until = until if deadline is None else min(until, deadline)
        try:
            return await self._in_flight.join(swap, until, lambda shared: self._ask(swap, shared), self._clock)
        except TimeoutError:
            raise DeadlineExceeded(f"{NAME} did not answer in time; try again", retry_after_ms=1000) from None

    async def close(self) -> None:
        """Cancel the requests in flight."""
        await self._in_flight.close()

    async def _ask(self, swap: Swap, deadline: SharedDeadline) -> Quote:
        await self._budget.wait(deadline.until)
        asked_at = self._clock()
        query = (
            ("inputMint", swap.input_mint),
            ("outputMint", swap.output_mint),
            ("amount", str(swap.amount)),
            ("slippageBps", str(swap.slippage_bps)),
            ("swapMode", "ExactIn"),
        )
        try:
            reply = await self._pool.get(_PATH, query, AGENT, name=_PATH, deadline=deadline.until)
        except _NotTradable as error:
            found: Quote | GatewayError = _name_mint(error, swap)
        except NotFound as error:
            found = error
        else:
            found = _read(reply.result, swap)
        self._keep(swap, found, asked_at)
        return _settled(found)

    def _keep(self, swap: Swap, found: Quote | GatewayError, asked_at: float) -> None:
        now = self._clock()
        for old in [one for one, (until, _) in self._kept.items() if until <= now]:
            del self._kept[old]
        if asked_at + self._seconds > now:
            if isinstance(found, GatewayError):
                release(found)
            self._kept[swap] = (asked_at + self._seconds, found)


def open_jupiter(sources: Sources, *, is_kept: bool) -> Jupiter:
    """Return the aggregator as the settings configure it; closed with the sources. Without `is_kept` none is reused.

    Each of several workers has its part of the quota.
    """
    workers = sources.settings.workers
    budget = Budget(NAME, quota(sources.endpoints(NAME)) / workers)
    pool = sources.open(NAME, _Errors(), changed=lambda now: budget.set_rate(quota(now) / workers))
    opened = Jupiter(pool, budget, kept_seconds=KEPT_SECONDS if is_kept else 0.0)
    sources.lifetime.push_async_callback(opened.close)
    return opened


def quota(endpoints: Sequence[RemoteSettings]) -> float:
    """Return how many requests per second the endpoints take together: the `rate` configured, else the documented."""
    return sum(one.rate or (_KEY_RATE if one.headers else _KEYLESS_RATE) for one in endpoints) or _KEYLESS_RATE


def check_mints(input_mint: str, output_mint: str) -> None:
    """Raise InvalidArgument (field `outputMint`) where both mints are one."""
    if input_mint == output_mint:
        raise InvalidArgument("outputMint: a swap needs two mints; this is the one to sell as well", field="outputMint")


def _read(body: bytes, swap: Swap) -> Quote:
    """Return the quote of an answer to this question; UpstreamUnavailable for any other answer."""
    returned = read_shape(body, _Quote, NAME)
    amounts = {
        "inAmount": returned.in_amount,
        "outAmount": returned.out_amount,
        "otherAmountThreshold": returned.other_amount_threshold,
    }
    for member, text in amounts.items():
        if not _UINT.fullmatch(text) or int(text) > LARGEST_AMOUNT:
            raise changed_shape(NAME, f"`$.{member}` is no raw amount")
    if not returned.route_plan:
        raise changed_shape(NAME, "`$.routePlan` is empty")
    asked = {
        "inputMint": (returned.input_mint, swap.input_mint),
        "outputMint": (returned.output_mint, swap.output_mint),
        "inAmount": (returned.in_amount, str(swap.amount)),
        "slippageBps": (returned.slippage_bps, swap.slippage_bps),
        "swapMode": (returned.swap_mode, "ExactIn"),
        "routePlan[-1].swapInfo.outputMint": (returned.route_plan[-1].swap_info.output_mint, swap.output_mint),
    }
    other = [member for member, (found, wanted) in asked.items() if found != wanted]
    if other:
        raise UpstreamUnavailable(f"{NAME} answers another question than it was asked: `{'`, `'.join(other)}` differ")
    out, least = int(returned.out_amount), int(returned.other_amount_threshold)
    if least > out:
        raise changed_shape(NAME, "`$.otherAmountThreshold` is more than `$.outAmount`")
    steps = tuple(_step(step, place) for place, step in enumerate(returned.route_plan))
    return Quote(out, least, returned.price_impact_pct, steps)


def _step(returned: _Step, place: int) -> Step:
    bps = returned.bps
    if bps is not None and not 0 <= bps <= _WHOLE:
        raise changed_shape(NAME, f"`$.routePlan[{place}].bps` is no share")
    percent = returned.percent
    if percent is None and bps is not None:
        percent = (bps + 50) // 100
    if percent is None or not 0 <= percent <= 100:
        raise changed_shape(NAME, f"`$.routePlan[{place}].percent` is no share")
    info = returned.swap_info
    return Step(info.amm_key, info.label, info.input_mint, info.output_mint, percent, bps)


def _refusal(code: str, message: str) -> GatewayError:
    """Return what a refused request means; `message` are the source's own words."""
    if code in _NO_ROUTE or (not code and "could not find any route" in message.lower()):
        return NotFound(f"{NAME} finds no route from inputMint to outputMint for this amount")
    if code == _NOT_TRADABLE or (not code and "is not tradable" in message.lower()):
        error = _NotTradable("a mint is not tradable")
        error.source_text = message
        return error
    known = f" ({code})" if re.fullmatch(r"[A-Z_]{1,60}", code) else ""
    return UpstreamUnavailable(f"{NAME} refuses the request for a reason that this build does not know{known}")


def _name_mint(error: _NotTradable, swap: Swap) -> InvalidArgument:
    mints = {"inputMint": swap.input_mint, "outputMint": swap.output_mint}
    named = [field for field, mint in mints.items() if mint in error.source_text]
    if len(named) != 1:
        return InvalidArgument(f"inputMint, outputMint: {NAME} trades not both of these mints", field="inputMint")
    return InvalidArgument(f"{named[0]}: {NAME} does not trade {mints[named[0]]}", field=named[0])


def _text(data: bytes | None) -> str:
    try:
        return "" if data is None else msgspec.json.decode(data, type=str)
    except msgspec.MsgspecError:
        return ""


def _settled(found: Quote | GatewayError) -> Quote:
    if isinstance(found, GatewayError):
        # One exception object raised for several callers would collect all their tracebacks.
        raise copy.copy(found)
    return found
