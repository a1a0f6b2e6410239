"""A stand-in of the Solana aggregator: routes over a few pools along a constant product, without a network.

It answers `/swap/v1/quote` as Jupiter does, with made-up reserves of mints that the local Solana chain has. The same
model lies below several addresses: the plain one, and one for each way in which it misbehaves.
"""

import asyncio
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from itertools import count
from typing import Any, NamedTuple

from aiohttp import web
from solders.pubkey import Pubkey

from devnet.known_solana import FIRST_SLOT, NAMELESS, POINTING, TOKEN_2022, USDC, WRAPPED_SOL, key_of

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

NO_ROUTE = str(NAMELESS)
"""A mint that is known and that no pool trades."""

DUST = str(POINTING)
"""A mint of which one whole unit is worth less than the smallest unit of USDC."""

MODES = ("slow", "changed", "other", "limited")
"""The ways in which it misbehaves, each below `/swaps/<mode>`: it answers late, without the amount under its name, for
another mint, or with its rate limit."""

SLOW_SECONDS = 30.0

_BASE = "/swaps"
_QUOTE = "/swap/v1/quote"
_WHOLE = 10_000  # basis points
_U64 = 2**64 - 1
_DEFAULT_SLIPPAGE = 50
_PLACES = Decimal("0.000001")
_CLOSED_FOR = 60  # seconds
_RATE = 1000  # requests per second that the gateway may send: the real one's quota is small


class Pool(NamedTuple):
    """Two mints along a constant product: reserves are raw integers, the fee is in basis points.

    `label` may be None, as with the real one; a pool that does not say `percent` gives its share as `bps` alone.
    """

    key: str
    label: str | None
    mints: tuple[str, str]
    reserves: tuple[int, int]
    fee: int
    says_percent: bool = True


class Leg(NamedTuple):
    """One exchange of a route: `bps` of what enters its hop goes through this pool."""

    pool: Pool
    sold: str
    bought: str
    sent: int
    received: int
    bps: int


def _pool(name: str, label: str | None, *sides: tuple[Pubkey, int], fee: int, says_percent: bool = True) -> Pool:
    (first, in_first), (second, in_second) = sides
    key = str(key_of(f"swap pool {name}").pubkey())
    return Pool(key, label, (str(first), str(second)), (in_first, in_second), fee, says_percent)


POOLS = (
    _pool("deep", "Deep Pool", (WRAPPED_SOL, 60_000 * 10**9), (USDC, 8_592_600 * 10**6), fee=25),
    _pool("shallow", "Shallow Pool", (WRAPPED_SOL, 40_000 * 10**9), (USDC, 5_728_400 * 10**6), fee=30),
    _pool("token", None, (TOKEN_2022, 1_000_000 * 10**9), (USDC, 420_000 * 10**6), fee=30, says_percent=False),
    _pool("dust", "Dust Pool", (POINTING, 10**15), (USDC, 42 * 10**10), fee=100),
)
"""SOL at 143.21 USDC in two pools, the Token-2022 mint at 0.42, POINTING at 0.000000042."""

_MINTS = {mint for pool in POOLS for mint in pool.mints} | {NO_ROUTE}


def add_routes(app: web.Application) -> None:
    """Serve the stand-in below `/swaps`, and each mode below `/swaps/<mode>`."""
    app.router.add_get(f"{_BASE}{_QUOTE}", _plain)
    for mode in MODES:
        app.router.add_get(f"{_BASE}/{mode}{_QUOTE}", _ANSWERS[mode])


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"the aggregator's stand-in has no mode {mode}")
    base = f"http://{authority}{_BASE}" + (f"/{mode}" if mode else "")
    return {"jupiter": {"endpoints": [{"label": WORD, "url": base, "rate": _RATE}]}}


def best_route(sold: str, bought: str, amount: int) -> tuple[Leg, ...]:
    """Return the legs by which an amount becomes another mint: direct ones, else by way of USDC; empty without any."""
    direct = _hop(sold, bought, amount)
    if direct or str(USDC) in (sold, bought):
        return direct
    first = _hop(sold, str(USDC), amount)
    second = _hop(str(USDC), bought, sum(leg.received for leg in first)) if first else ()
    return (*first, *second) if second else ()


def received(pool: Pool, sold: str, amount: int) -> int:
    """Return what a pool gives for an amount of one of its mints, rounded down."""
    own = pool.mints.index(sold)
    after_fee = amount * (_WHOLE - pool.fee)
    return after_fee * pool.reserves[1 - own] // (pool.reserves[own] * _WHOLE + after_fee)


def quote(sold: str, bought: str, amount: int, slippage: int) -> dict[str, Any] | None:
    """Return the document of a quote, `slippage` in basis points; None without a route."""
    legs = best_route(sold, bought, amount)
    if not legs:
        return None
    out = sum(leg.received for leg in legs if leg.bought == bought)
    return {
        "inputMint": sold,
        "inAmount": str(amount),
        "outputMint": bought,
        "outAmount": str(out),
        "otherAmountThreshold": str(out * (_WHOLE - slippage) // _WHOLE),
        "swapMode": "ExactIn",
        "slippageBps": slippage,
        "platformFee": None,
        "priceImpactPct": _impact(legs, amount, out),
        "routePlan": [_step(leg) for leg in legs],
        "contextSlot": FIRST_SLOT + next(_ASKED),
        "timeTaken": 0.001,
    }


def _hop(sold: str, bought: str, amount: int) -> tuple[Leg, ...]:
    """Spread an amount over the pools of two mints, by their depth in whole percent."""
    pools = [pool for pool in POOLS if {sold, bought} == set(pool.mints)]
    if not pools:
        return ()
    depth = sum(pool.reserves[0] for pool in pools)
    shares = [pool.reserves[0] * 100 // depth * 100 for pool in pools[1:]]
    parts = [amount * share // _WHOLE for share in shares]
    if not all(parts):
        shares, parts = [0] * len(parts), [0] * len(parts)
    shares, parts = [_WHOLE - sum(shares), *shares], [amount - sum(parts), *parts]
    return tuple(
        Leg(pool, sold, bought, part, received(pool, sold, part), share)
        for pool, part, share in zip(pools, parts, shares, strict=True)
        if part
    )


def _impact(legs: tuple[Leg, ...], amount: int, out: int) -> str:
    """Return by which fraction the price is worse than that of the smallest amount, fees included, as text."""
    ideal = Decimal(amount)
    pools: set[str] = set()
    for leg in legs:
        if leg.sold in pools:
            continue  # the price of a split hop is that of its first pool
        pools.add(leg.sold)
        own = leg.pool.mints.index(leg.sold)
        ideal = ideal * leg.pool.reserves[1 - own] / leg.pool.reserves[own]
    return format(max(Decimal(0), 1 - out / ideal).quantize(_PLACES, ROUND_HALF_UP).normalize(), "f")


def _step(leg: Leg) -> dict[str, Any]:
    info = {
        "ammKey": leg.pool.key,
        "inputMint": leg.sold,
        "outputMint": leg.bought,
        "inAmount": str(leg.sent),
        "outAmount": str(leg.received),
    }
    if leg.pool.label is not None:
        info["label"] = leg.pool.label
    return {"swapInfo": info, "percent": leg.bps // 100 if leg.pool.says_percent else None, "bps": leg.bps}


_ASKED = count(1)


async def _plain(request: web.Request) -> web.Response:
    asked = request.query
    sold, bought = asked.get("inputMint", ""), asked.get("outputMint", "")
    amount, slippage = asked.get("amount", ""), asked.get("slippageBps", str(_DEFAULT_SLIPPAGE))
    if not (_is_mint(sold) and _is_mint(bought)):
        return _refused("a mint cannot be parsed")
    if not (_is_number(amount) and 0 < int(amount) <= _U64):
        return _refused("the amount cannot be parsed")
    if not (_is_number(slippage) and int(slippage) <= _WHOLE):
        return _refused("the slippage cannot be parsed")
    if asked.get("swapMode", "ExactIn") != "ExactIn":
        return _refused("the stand-in quotes ExactIn alone")
    if sold == bought:
        return _refused("equal mints", "CIRCULAR_ARBITRAGE_IS_DISABLED")
    for mint in (sold, bought):
        if mint not in _MINTS:
            return _refused(f"The token {mint} is not tradable", "TOKEN_NOT_TRADABLE")
    found = quote(sold, bought, int(amount), int(slippage))
    if found is None:
        return _refused("Could not find any route", "COULD_NOT_FIND_ANY_ROUTE")
    return web.json_response(found)


async def _slow(request: web.Request) -> web.Response:
    await asyncio.sleep(SLOW_SECONDS)
    return await _plain(request)


async def _changed(request: web.Request) -> web.Response:
    plain = await _plain(request)
    return web.Response(text=str(plain.text).replace("outAmount", "amountOut"), content_type=plain.content_type)


async def _other(request: web.Request) -> web.Response:
    return web.json_response(quote(str(TOKEN_2022), str(USDC), 10**9, _DEFAULT_SLIPPAGE))


async def _limited(request: web.Request) -> web.Response:
    headers = {"x-ratelimit-remaining": "0", "Retry-After": str(_CLOSED_FOR)}
    return web.json_response({"message": "Rate limit exceeded"}, status=429, headers=headers)


_ANSWERS: dict[str, Callable[[web.Request], Any]] = {
    "slow": _slow,
    "changed": _changed,
    "other": _other,
    "limited": _limited,
}


def _refused(message: str, code: str | None = None) -> web.Response:
    return web.json_response({"error": message} | ({"errorCode": code} if code else {}), status=400)


def _is_mint(text: str) -> bool:
    try:
        Pubkey.from_string(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(_U64))
