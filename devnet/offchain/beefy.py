"""A stand-in of vault-a's API (Beefy: `/vaults/all`, `/apy`, `/tvl`, `/lps`, `/prices`), without a network.

It lists the vaults of the local chains, and one of a chain that the gateway does not read. The rate of a vault that
grows by p percent a year is e^(p/100) - 1; what lies in it is as in devnet/offchain/vault_figures.py. Documents have
an ETag and are sent again only if they changed.
"""

import hashlib
import json
import math
from typing import Any

from aiohttp import web

from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.known_vaults import BEEFY, BeefyVault
from devnet.offchain.modes import add_modes, mode_url
from devnet.offchain.vault_figures import deposited, growth, moment, price_of

WORD = "stand-in"
"""What the devnet calls it: our own code that answers in the real one's shape."""

ELSEWHERE = "fantom-boo-usdc-ftm"
"""A vault on a chain that the gateway does not read."""

_BASE = "/beefy"
_NETWORKS = {"avalanche": "avax"}  # where its name of a chain is another one
_RANGES = {vault.id: vault for vault in BEEFY if vault.kind == "cowcentrated"}
_RENAMED = {"/vaults/all": "earnContractAddress", "/apy": BEEFY[0].id, "/tvl": "1", "/lps": "", "/prices": "USDC"}


def add_routes(app: web.Application) -> None:
    """Serve the stand-in below `/beefy`, and each mode below `/beefy/<mode>`."""
    for route, document in DOCUMENTS.items():

        async def answer(request: web.Request, document: Any = document) -> web.Response:
            return _conditional(request, document())

        add_modes(app, "GET", _BASE, route, answer, _RENAMED[route] or next(iter(_RANGES)))


def settings(authority: str, mode: str | None = None) -> dict[str, Any]:
    """Return what the gateway's settings need to ask the stand-in at `host:port`, as the table `sources` is."""
    return {"beefy": {"endpoints": [{"label": WORD, "url": mode_url(authority, _BASE, mode)}]}}


def vaults() -> list[dict[str, Any]]:
    """Return the vaults, as `/vaults/all` lists them."""
    rows = [_row(vault) for vault in BEEFY]
    rows.append({**rows[0], "id": ELSEWHERE, "network": "fantom", "chain": "fantom"})
    return rows


def rates() -> dict[str, float | None]:
    """Return fractions in a year by id; retired vaults have none."""
    return {
        vault.id: math.expm1(vault.percent / 100) if vault.has_apy else None
        for vault in BEEFY
        if vault.status == "active"
    }


def values(now: float | None = None) -> dict[str, dict[str, float]]:
    """Return what lies in vaults in dollars, by chain id and id."""
    found: dict[str, dict[str, float]] = {}
    for vault in BEEFY:
        of_chain = found.setdefault(str(load_world()[vault.chain].chain_id), {})
        of_chain[vault.id] = value(vault, moment(now))
    return found


def value(vault: BeefyVault, at: int) -> float:
    """Return what lies in a vault at a moment, in dollars; what stands on shares grows as they do not."""
    if vault.kind == "cowcentrated":
        return deposited(vault) * price_of(vault.id, _RANGES)
    grown = 1.0 if vault.kind == "gov" else growth(vault.percent, at)
    return deposited(vault) * grown * price_of(vault.wants[0], _RANGES)


def pool_prices() -> dict[str, float]:
    """Return the prices of shares of vaults of two tokens, by id."""
    return {name: price_of(name, _RANGES) for name in _RANGES}


def token_prices() -> dict[str, float | None]:
    """Return the prices of tokens by symbol; of one there is none."""
    symbols = dict.fromkeys(symbol for vault in BEEFY for symbol in vault.wants if symbol not in _RANGES)
    return {**{symbol: price_of(symbol) for symbol in symbols}, "NOPRICE": None}


DOCUMENTS = {
    "/vaults/all": vaults,
    "/apy": rates,
    "/tvl": values,
    "/lps": pool_prices,
    "/prices": token_prices,
}
"""What is answered, by route."""


def _row(vault: BeefyVault) -> dict[str, Any]:
    chain = load_world()[vault.chain]
    network = _NETWORKS.get(vault.chain, vault.chain)
    assets = _RANGES[vault.wants[0]].wants if vault.wants[0] in _RANGES else vault.wants
    row: dict[str, Any] = {
        "id": vault.id,
        "name": vault.id,
        "type": vault.kind,
        "status": vault.status,
        "network": network,
        "chain": network,
        "token": "-".join(vault.wants),
        "tokenAddress": None,
        "tokenDecimals": 18,
        "earnContractAddress": vault.address,
        "earnedToken": f"moo-{vault.id}",
        "earnedTokenAddress": vault.address,
        "oracle": "lps",
        "oracleId": vault.id,
        "assets": list(assets),
        "platformId": "devnet",
        "strategyTypeId": "single",
        "risks": [],
        "createdAt": 1_700_000_000,
    }
    if vault.kind == "cowcentrated":
        tokens = [token_of(chain, symbol) for symbol in vault.wants]
        return {**row, "depositTokenAddresses": [token.address for token in tokens]}
    [want] = vault.wants
    if want in _RANGES:
        return {**row, "tokenAddress": _RANGES[want].address, "oracleId": want}
    token = token_of(chain, want)
    own = {"tokenAddress": token.address, "tokenDecimals": token.decimals, "oracle": "tokens", "oracleId": want}
    return {**row, **own, "pricePerFullShare": "1000000000000000000"}


def _conditional(request: web.Request, document: Any) -> web.Response:
    text = json.dumps(document)
    tag = f'W/"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=304, headers={"ETag": tag})
    return web.Response(text=text, content_type="application/json", headers={"ETag": tag})
