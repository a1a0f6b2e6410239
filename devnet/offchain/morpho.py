"""A stand-in of Morpho's GraphQL API: the listed vaults of the local chains, with figures that follow from them.

Amounts, fees and the time are what the chain's contracts answer at its latest block, values in dollars those times
PRICES. Rates of V1 are computed anew in floating point, from what the markets have stored: the rate at target, adapted
by e^(50 * error * years) since a market's last touch, on the curve of the published rate model (steepness 4, target
90 %), times use, less the market's fee, weighted by the vault's assets, compounded without end; less the vault's fee
they are `netApyWithoutRewards`, plus REWARDS `netApy`. Averages of V1 are AVERAGE of the rates of the moment. Rates of
V2 are V2_RATES.
"""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from eth_abi.abi import decode

from devnet.evm.calls import encode_call, to_hex
from devnet.evm.lending_c_vaults import market_id, queue_of
from devnet.evm.node import Node
from devnet.evm.treasury import token_of
from devnet.known_lending import PRICES
from devnet.known_lending_c import MORPHO, RATE_MODEL
from devnet.known_lending_c_vaults import STEAKHOUSE, VAULTS, VAULTS_V2, Vault, VaultV2
from devnet.offchain.graphql import Refused, parse, select

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

REWARDS = {STEAKHOUSE: 0.0042}
"""What rewards add to a vault's rate; those of V2 vaults are REWARDS_V2."""

REWARDS_V2 = 0.003
AVERAGE = 0.97
V2_FEE = 0.1
V2_RATES = {"ONE_HOUR": 0.0512, "SIX_HOURS": 0.0505}
"""Rates of V2 vaults before their fee, by how far they look back."""

MODES = ("slow", "limited", "half", "renamed", "listed", "partial")
"""The ways in which it misbehaves, each below `/morpho/<mode>`: it answers late, with its rate limit, with half of the
vaults, with a member under another name, as a server that knows `listed` alone, or without the vaults of V2."""

SLOW_SECONDS = 30.0

_BASE = "/morpho"
_PATH = "/graphql"
_DEFAULT_LOOKBACK = "SIX_HOURS"
_DEFAULT_FIRST, _MOST_FIRST = 5, 1000
_YEAR = 365 * 86_400
_TARGET, _STEEPNESS, _SPEED = 0.9, 4, 50
_INITIAL, _LOWEST, _HIGHEST = 0.04, 0.001, 2.0  # rates at target per year
_WAD = 10**18
_NETWORKS = {
    "ethereum": "Ethereum",
    "base": "Base",
    "arbitrum": "Arbitrum",
    "optimism": "Optimism",
    "polygon": "Polygon",
}
_MARKET = ("uint128",) * 6

_Call = tuple[str, str, list[Any], str]


def add_routes(app: web.Application, nodes: Mapping[str, Node]) -> None:
    """Serve the stand-in below `/morpho`, and each mode below `/morpho/<mode>`; `nodes` are those that run, by slug."""
    app.router.add_post(f"{_BASE}{_PATH}", _Answering(nodes).answer)
    for mode in MODES:
        app.router.add_post(f"{_BASE}/{mode}{_PATH}", _Answering(nodes, mode).answer)


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"the stand-in of Morpho has no mode {mode}")
    base = f"http://{authority}{_BASE}" + (f"/{mode}" if mode else "")
    return {"morpho": {"endpoints": [{"label": WORD, "url": base}]}}


class _Answering:
    """One address of the stand-in."""

    def __init__(self, nodes: Mapping[str, Node], mode: str | None = None) -> None:
        self._nodes = nodes
        self._mode = mode

    async def answer(self, request: web.Request) -> web.Response:
        if self._mode == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        if self._mode == "limited":
            return web.json_response(
                {"errors": [{"message": "Too many requests"}]}, status=429, headers={"Retry-After": "60"}
            )
        asked = json.loads(await request.read())
        try:
            fields = parse(asked["query"], asked.get("variables") or {})
            model = await self._model(fields)
            data = select(model, fields)
        except Refused as refused:
            return web.json_response({"errors": [{"message": str(refused)}]}, status=400)
        answer: dict[str, Any] = {"data": data}
        if self._mode == "partial":
            answer = {
                "errors": [{"message": "Internal server error", "path": ["vaultV2s"]}],
                "data": {**data, "vaultV2s": None},
            }
        text = json.dumps(answer)
        return web.Response(
            text=text.replace('"totalSupply"', '"supply"') if self._mode == "renamed" else text,
            content_type="application/json",
        )

    async def _model(self, fields: Any) -> dict[str, Any]:
        """Return the root; the vaults are read off the chains that the query asks for."""
        chains = {chain for field in fields for chain in field.arguments.get("where", {}).get("chainId_in", [])}
        nodes = [node for node in self._nodes.values() if not chains or node.chain.chain_id in chains]
        first, second = list[dict[str, Any]](), list[dict[str, Any]]()
        for node in nodes:
            listed = [vault for vault in VAULTS.get(node.chain.slug, ()) if vault.is_listed and vault.factory]
            first += await asyncio.gather(*(first_generation(node, vault) for vault in listed))
            more = [vault for vault in VAULTS_V2.get(node.chain.slug, ()) if vault.is_listed]
            second += await asyncio.gather(*(second_generation(node, vault) for vault in more))
        mark = "listed" if self._mode == "listed" else "whitelisted"
        for vault in (*first, *second):
            vault[mark] = True
        return {
            "__typename": "Query",
            "vaults": self._page("Vault", first, mark),
            "vaultV2s": self._page("VaultV2", second, mark),
        }

    def _page(self, kind: str, vaults: list[dict[str, Any]], mark: str) -> Callable[[dict[str, Any]], Any]:
        def resolve(arguments: dict[str, Any]) -> dict[str, Any]:
            for name in arguments.get("where", {}):
                if name not in ("chainId_in", "address_in", mark):
                    raise Refused(f'Field "{name}" is not defined by type "{kind}Filters".')
            wanted = [one.lower() for one in arguments.get("where", {}).get("address_in", ())]
            found = [one for one in vaults if not wanted or one["address"].lower() in wanted]
            found.sort(key=lambda one: str(one["address"]).lower())
            skip, first = arguments.get("skip", 0), min(arguments.get("first", _DEFAULT_FIRST), _MOST_FIRST)
            page = found[skip : skip + first]
            info = {
                "count": len(page),
                "countTotal": len(found),
                "limit": first,
                "skip": skip,
                "__typename": "PageInfo",
            }
            items = page[: len(page) // 2] if self._mode == "half" else page
            return {"__typename": f"Paginated{kind}s", "items": items, "pageInfo": info}

        return resolve


async def first_generation(node: Node, vault: Vault) -> dict[str, Any]:
    """Return a vault of V1 in the API's shape."""
    slug = node.chain.slug
    ids = [market_id(parameters) for parameters in queue_of(node.chain, vault)]
    of_vault: list[_Call] = [
        (vault.address, name, [], "uint256") for name in ("totalAssets()", "totalSupply()", "fee()")
    ]
    of_markets: list[_Call] = [
        call
        for key in ids
        for call in (
            (MORPHO, "market(bytes32)", [key], ",".join(_MARKET)),
            (MORPHO, "position(bytes32,address)", [key, vault.address], "uint256,uint128,uint128"),
            (RATE_MODEL[slug], "rateAtTarget(bytes32)", [key], "int256"),
        )
    ]
    now, answers = await _read(node, [*of_vault, *of_markets])
    (total,), (supply,), (fee,) = answers[:3]
    earned = assets = 0.0
    for market, (shares, _, _), (at_target,) in zip(*(answers[3 + place :: 3] for place in range(3)), strict=True):
        amount, rate = _earnings(market, shares, at_target, now)
        assets, earned = assets + amount, earned + amount * rate
    rate = earned / assets if assets else 0.0
    apy, without = math.expm1(rate), math.expm1(rate * (1 - fee / _WAD))
    net = without + REWARDS.get(vault.address, 0.0)
    return {
        **_named(node, vault, "Vault"),
        "state": {
            "__typename": "VaultState",
            "totalAssets": str(total),
            "totalAssetsUsd": _dollars(node, vault, total),
            "totalSupply": str(supply),
            "fee": fee / _WAD,
            "apy": apy,
            "netApy": net,
            "netApyWithoutRewards": without,
            "avgApy": apy * AVERAGE,
            "avgNetApy": net * AVERAGE,
            "timestamp": now,
        },
    }


async def second_generation(node: Node, vault: VaultV2) -> dict[str, Any]:
    """Return a vault of V2 in the API's shape."""
    calls: list[_Call] = [(vault.address, name, [], "uint256") for name in ("totalAssets()", "totalSupply()")]
    _, ((total,), (supply,)) = await _read(node, calls)
    return {
        **_named(node, vault, "VaultV2"),
        "totalAssets": str(total),
        "totalAssetsUsd": _dollars(node, vault, total),
        "totalSupply": str(supply),
        "performanceFee": V2_FEE,
        "managementFee": 0,
        "avgApy": lambda arguments: V2_RATES[arguments.get("lookback", _DEFAULT_LOOKBACK)],
        "avgNetApy": lambda arguments: (
            V2_RATES[arguments.get("lookback", _DEFAULT_LOOKBACK)] * (1 - V2_FEE) + REWARDS_V2
        ),
        "rewards": [{"__typename": "VaultStateReward", "supplyApr": REWARDS_V2}],
    }


def _earnings(market: tuple[int, ...], shares: int, at_target: int, now: int) -> tuple[float, float]:
    """Return what shares of a market are worth, and the rate per year that they earn now."""
    supplied, all_shares, borrowed, _, touched, fee = market
    if not all_shares:
        return 0.0, 0.0
    if not borrowed:
        return shares / all_shares * supplied, 0.0
    target = at_target / _WAD * _YEAR if at_target else _INITIAL
    error, elapsed = _error(borrowed / supplied), now - touched
    then = _bounded(target * math.exp(_SPEED * error * elapsed / _YEAR))
    halfway = _bounded(target * math.exp(_SPEED * error * elapsed / _YEAR / 2))
    average = _curve((target + then + 2 * halfway) / 4, error) if at_target else _curve(target, error)
    interest = borrowed * math.expm1(average * elapsed / _YEAR)
    use = (borrowed + interest) / (supplied + interest)
    rate = _curve(then if at_target else target, _error(use)) * use * (1 - fee / _WAD)
    return shares / all_shares * (supplied + interest * (1 - fee / _WAD)), rate


def _error(use: float) -> float:
    return (use - _TARGET) / (1 - _TARGET if use > _TARGET else _TARGET)


def _bounded(rate: float) -> float:
    return min(max(rate, _LOWEST), _HIGHEST)


def _curve(at_target: float, error: float) -> float:
    return at_target * (1 + error * (1 - 1 / _STEEPNESS if error < 0 else _STEEPNESS - 1))


def _named(node: Node, vault: Vault | VaultV2, kind: str) -> dict[str, Any]:
    asset = token_of(node.chain, vault.asset)
    chain = {"__typename": "Chain", "id": node.chain.chain_id, "network": _NETWORKS[node.chain.slug]}
    return {
        "__typename": kind,
        "address": vault.address,
        "name": vault.name,
        "symbol": vault.symbol,
        "asset": {"__typename": "Asset", "address": asset.address, "symbol": asset.symbol, "decimals": asset.decimals},
        "chain": chain,
    }


def _dollars(node: Node, vault: Vault | VaultV2, amount: int) -> float:
    return float(amount / 10 ** token_of(node.chain, vault.asset).decimals * float(PRICES[vault.asset]))


async def _read(node: Node, calls: list[_Call]) -> tuple[int, list[tuple[Any, ...]]]:
    """Return the time of the latest block, and the answers of contracts at it."""
    block = await node.call("eth_getBlockByNumber", "latest", False)
    answers = await node.calls(
        [
            ("eth_call", [{"to": to, "data": to_hex(encode_call(signature, arguments))}, block["number"]])
            for to, signature, arguments, _ in calls
        ]
    )
    decoded = [
        decode(types.split(","), bytes.fromhex(answer[2:])) for (*_, types), answer in zip(calls, answers, strict=True)
    ]
    return int(block["timestamp"], 16), decoded
