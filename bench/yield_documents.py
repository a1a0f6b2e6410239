"""Documents of all sources of yields and funding, made up, as many rows as the products list: a loopback server.

Every figure comes out of `SEED`; the shapes are what the products' APIs answer with, with the members that no code
reads, since these are sent and decoded too. Counts are rounded up from what the products listed when this was written.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

from bench.funding import of_venue_a, of_venue_b

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 13
VAULTS_A = 8_000
"""Vaults of vault-a, of all kinds and chains, one in four of them active."""

PRICES_A = (7_000, 5_000)
"""Prices of pools and of tokens that vault-a's API lists."""

VAULTS_B = {1: 1_500, 42161: 400}
"""Vaults of vault-b by chain id, one in three of them neither retired nor hidden."""

VAULTS_C = {1: (700, 400), 8453: (500, 300), 42161: (120, 80), 137: (80, 40), 10: (60, 40)}
"""Listed vaults of lend-c of either generation, by chain id."""

MARKETS = 700
"""Running markets of yield-a."""

SYMBOLS = (
    "USDC",
    "USDT",
    "WETH",
    "WBTC",
    "DAI",
    "wstETH",
    "sUSDe",
    "GHO",
    "LINK",
    "ARB",
    "OP",
    "AERO",
    "EURC",
    "cbBTC",
)
_CHAINS_A = {"ethereum": 1, "polygon": 137, "optimism": 10, "base": 8453, "avax": 43114, "arbitrum": 42161, "bsc": 56}
_KINDS = ("standard",) * 7 + ("gov", "cowcentrated", "erc4626")
_CHAINS = (1, 10, 56, 8453, 42161)


def address(dice: random.Random) -> str:
    """Return an address in lower case, as most APIs write them."""
    return f"0x{dice.getrandbits(160):040x}"


def of_vault_a() -> dict[str, bytes]:
    """Return the five documents of vault-a by path."""
    dice = random.Random(SEED)
    vaults, rates, values = [], {}, dict[str, dict[str, float]]()
    for number in range(VAULTS_A):
        chain, kind = dice.choice(tuple(_CHAINS_A)), dice.choice(_KINDS)
        is_active = number % 4 == 0
        name = f"exchange-{chain}-pool-{number}"
        assets = dice.sample(SYMBOLS, 2)
        row: dict[str, Any] = {
            "id": name,
            "name": f"{'-'.join(assets)} LP {number}",
            "type": kind,
            "status": "active" if is_active else "eol",
            "network": chain,
            "chain": chain,
            "token": f"{'-'.join(assets)} LP",
            "tokenAddress": address(dice),
            "tokenDecimals": 18,
            "tokenProviderId": "exchange",
            "earnContractAddress": address(dice),
            "earnedToken": f"moo{number}",
            "earnedTokenAddress": address(dice),
            "oracle": "lps",
            "oracleId": name,
            "assets": assets,
            "platformId": "exchange",
            "strategyTypeId": "multi-lp",
            "risks": {"updatedAt": 1760000000, "complex": False, "curated": False, "notAudited": False},
            "pricePerFullShare": str(dice.randrange(10**18, 2 * 10**18)),
            "createdAt": 1_600_000_000 + number,
            "lastHarvest": 1_760_000_000,
            "zaps": [{"strategyId": "uniswap-v2", "ammId": "exchange"}],
        }
        if kind == "cowcentrated":
            row["depositTokenAddresses"] = [address(dice), address(dice)]
        vaults.append(row)
        rates[name] = dice.uniform(0, 0.6) if is_active else None
        if is_active:
            values.setdefault(str(_CHAINS_A[chain]), {})[name] = dice.uniform(0, 5e7)
    pools, tokens = ({f"price-{number}": dice.uniform(0.001, 1e5) for number in range(count)} for count in PRICES_A)
    documents = {"/vaults/all": vaults, "/apy": rates, "/tvl": values, "/lps": pools, "/prices": tokens}
    return {path: orjson.dumps(document) for path, document in documents.items()}


def of_vault_b(chain: int) -> bytes:
    """Return the list of vault-b's vaults on a chain."""
    dice = random.Random(SEED + chain)
    return orjson.dumps([_vault_b(dice, chain, number) for number in range(VAULTS_B[chain])])


def _vault_b(dice: random.Random, chain: int, number: int) -> dict[str, Any]:
    asset = dice.choice(SYMBOLS)
    nets = {name: dice.uniform(0, 0.2) for name in ("net", "weeklyNet", "monthlyNet", "inceptionNet")}
    return {
        "chainId": chain,
        "address": address(dice),
        "name": f"{asset} yVault {number}",
        "symbol": f"yv{asset}",
        "apiVersion": "3.0.4" if number % 2 else "0.4.6",
        "decimals": 18,
        "asset": {"address": address(dice), "name": asset, "symbol": asset, "decimals": 18},
        "tvl": dice.uniform(0, 1e8),
        "performance": {
            "oracle": {"apr": dice.uniform(0, 0.2), "netAPR": 0.1, "apy": 0.1, "netAPY": 0.1},
            "historical": nets,
            "estimated": None,
        },
        "fees": {"managementFee": 0, "performanceFee": 1000},
        "category": "Stablecoin",
        "type": "Yearn Vault",
        "kind": "Multi Strategy",
        "v3": bool(number % 2),
        "yearn": True,
        "isRetired": number % 3 == 1,
        "isHidden": number % 3 == 2,
        "isBoosted": False,
        "isHighlighted": False,
        "strategiesCount": 4,
        "riskLevel": 1,
        "origin": "yearn",
        "staking": {"address": address(dice), "available": True},
        "pricePerShare": dice.uniform(1, 2),
    }


def of_lend_c(chain: int, first: int, skip: int) -> bytes:
    """Return a page of both generations of lend-c's vaults on a chain."""
    one, two = VAULTS_C.get(chain, (0, 0))
    return orjson.dumps(
        {
            "data": {
                "vaults": _page(one, first, skip, lambda number: _vault_c(chain, number, 1)),
                "vaultV2s": _page(two, first, skip, lambda number: _vault_c(chain, number, 2)),
            }
        }
    )


def _page(total: int, first: int, skip: int, row: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    items = [row(number) for number in range(skip, min(skip + first, total))]
    return {"items": items, "pageInfo": {"count": len(items), "countTotal": total, "limit": first, "skip": skip}}


def _vault_c(chain: int, number: int, generation: int) -> dict[str, Any]:
    dice = random.Random(SEED + 1_000_003 * chain + 7 * number + generation)
    asset = dice.choice(SYMBOLS)
    apy, size = dice.uniform(0, 0.3), dice.uniform(0, 1e9)
    figures = {"totalAssets": str(int(size * 10**6)), "totalAssetsUsd": size, "totalSupply": str(int(size) * 10**18)}
    row: dict[str, Any] = {
        "address": address(dice),
        "name": f"Curator {asset} {number}",
        "symbol": f"c{asset}{number}",
        "whitelisted": True,
        "asset": {"address": address(dice), "symbol": asset, "decimals": 6},
        "chain": {"id": chain, "network": "Network"},
    }
    rates = {"avgApy": apy, "avgNetApy": apy * 0.95}
    if generation == 2:
        hour = {"hourApy": apy, "hourNetApy": apy * 0.95}
        return row | figures | rates | hour | {"performanceFee": 0.1, "rewards": [{"supplyApr": 0.01}]}
    state = {"fee": 0.1, "apy": apy, "netApy": apy * 0.95, "netApyWithoutRewards": apy * 0.9}
    return row | {"state": figures | rates | state | {"timestamp": 1_760_000_000}}


def of_yield_a(skip: int, limit: int) -> bytes:
    """Return a page of yield-a's running markets."""
    rows = [_market(number) for number in range(skip, min(skip + limit, MARKETS))]
    return orjson.dumps({"total": MARKETS, "limit": limit, "skip": skip, "results": rows})


def _market(number: int) -> dict[str, Any]:
    dice = random.Random(SEED + number)
    chain = dice.choice(_CHAINS)
    apy = dice.uniform(0, 0.4)
    return {
        "name": dice.choice(SYMBOLS),
        "protocol": "Protocol",
        "address": address(dice),
        "expiry": "2027-06-24T00:00:00.000Z",
        **{member: f"{chain}-{address(dice)}" for member in ("pt", "yt", "sy", "underlyingAsset", "accountingAsset")},
        "chainId": chain,
        "details": {
            "liquidity": dice.uniform(0, 1e8),
            "totalTvl": dice.uniform(0, 1e8),
            "tradingVolume": 1e5,
            "underlyingApy": 0.04,
            "swapFeeApy": 0.01,
            "pendleApy": 0.02,
            "impliedApy": apy,
            "aggregatedApy": apy + 0.03,
            "maxBoostedApy": apy + 0.05,
            "feeRate": 0.001,
            "yieldRange": {"min": 0.01, "max": 0.5},
            "totalPt": 1e6,
            "totalSy": 1e6,
            "totalSupply": 1e6,
        },
        "isNew": False,
        "isPrime": False,
        "timestamp": "2024-06-24T00:00:00.000Z",
    }


def add_documents(app: web.Application) -> None:
    """Serve all documents, each source below its name."""
    fixed = {f"/beefy{path}": body for path, body in of_vault_a().items()}
    fixed |= {f"/kong/list/vaults/{chain}": of_vault_b(chain) for chain in VAULTS_B}
    fixed["/dydx/v4/perpetualMarkets"] = orjson.dumps(of_venue_b())
    venue = orjson.dumps(of_venue_a())

    async def answer(request: web.Request) -> web.Response:
        return _json(fixed[request.path])

    async def info(request: web.Request) -> web.Response:
        return _json(venue)

    async def vaults(request: web.Request) -> web.Response:
        asked = orjson.loads(await request.read())["variables"]
        return _json(of_lend_c(asked["chain"], asked["first"], asked["skip"]))

    async def markets(request: web.Request) -> web.Response:
        return _json(of_yield_a(int(request.query["skip"]), int(request.query["limit"])))

    for path in fixed:
        app.router.add_get(path, answer)
    app.router.add_post("/hyperliquid/info", info)
    app.router.add_post("/morpho/graphql", vaults)
    app.router.add_get("/pendle/v2/markets/all", markets)


def settings(authority: str) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the server at `host:port`, as the table `sources` is."""
    names = ("beefy", "kong", "morpho", "pendle", "hyperliquid", "dydx")
    return {
        name: {"endpoints": [{"label": "generated", "url": f"http://{authority}/{name}", "rate": 1000}]}
        for name in names
    }


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")
