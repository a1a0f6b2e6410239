"""A stand-in of vault-b's API (Kong: `/list/vaults/{chain id}`), without a network.

It lists the vaults of the local chains, the largest first. The net rate of a vault is what its share's price grew by in
the last 7 days, and what lies in it is at the prices of coins.toml, both as in devnet/offchain/vault_figures.py.
"""

import json
from typing import Any

from aiohttp import web

from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.known_vaults import YEARN, YearnVault
from devnet.offchain.modes import add_modes, mode_url
from devnet.offchain.vault_figures import deposited, growth, moment, net_apy, price_of

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

_BASE = "/kong"
_ROUTE = "/list/vaults/{chain}"


def add_routes(app: web.Application) -> None:
    """Serve the stand-in below `/kong`, and each mode below `/kong/<mode>`."""
    add_modes(app, "GET", _BASE, _ROUTE, _list, "historical")


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    return {"kong": {"endpoints": [{"label": WORD, "url": mode_url(authority, _BASE, mode)}]}}


def listed(chain: str, now: float | None = None) -> list[dict[str, Any]]:
    """Return the vaults of a chain."""
    at = moment(now)
    rows = [_row(vault, at) for vault in YEARN if vault.chain == chain and vault.is_listed]
    return sorted(rows, key=lambda row: -float(row["tvl"]))


def _row(vault: YearnVault, at: int) -> dict[str, Any]:
    chain = load_world()[vault.chain]
    token = token_of(chain, vault.asset)
    net = net_apy(vault.percent, at) if vault.has_rate else None
    figures = {"net": net, "weeklyNet": net, "monthlyNet": net, "inceptionNet": net}
    return {
        "chainId": chain.chain_id,
        "address": vault.address,
        "name": f"{vault.asset} yVault",
        "symbol": vault.symbol,
        "apiVersion": vault.version,
        "decimals": token.decimals,
        "asset": {"address": token.address, "name": token.name, "symbol": token.symbol, "decimals": token.decimals},
        "tvl": deposited(vault) * growth(vault.percent, at) * price_of(vault.asset),
        "performance": {"oracle": {"apr": None, "apy": None}, "historical": figures, "estimated": None},
        "fees": {"managementFee": 0, "performanceFee": 1000},
        "category": "Stablecoin",
        "type": "Yearn Vault",
        "kind": "Multi Strategy",
        "v3": vault.is_v3,
        "isRetired": False,
        "isHidden": False,
        "isBoosted": False,
        "isHighlighted": False,
        "inclusion": {"isYearn": True},
        "strategiesCount": 1,
        "riskLevel": 1,
        "migration": False,
        "origin": "yearn",
        "inceptBlock": None,
        "inceptTime": None,
        "staking": None,
        "pricePerShare": growth(vault.percent, at),
    }


async def _list(request: web.Request) -> web.Response:
    by_id = {str(chain.chain_id): slug for slug, chain in load_world().items()}
    rows = listed(by_id.get(request.match_info["chain"], ""))
    if not rows:
        return web.Response(text="Not found", status=404)
    return web.Response(text=json.dumps(rows), content_type="application/json")
