"""The vaults of vault-d by address, as deployments.toml has them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from server.catalog.tokens import NATIVE
from server.protocols.deployments import load_deployments
from server.protocols.hyperbeat.feed_vaults import FeedVault
from server.protocols.hyperbeat.share_vaults import ShareVault
from server.protocols.natives import wrapped_native
from server.protocols.plan import Token
from server.protocols.yields import unknown_pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.protocols.hyperbeat.vault import Vault

_DOLLAR = "USD"


@cache
def load_vaults(chain: str) -> Mapping[str, Vault]:
    """Return the vaults of a chain by address."""
    tables = load_deployments("server.protocols.hyperbeat")
    tokens = {name: Token(**row) for name, row in tables["denominations"].items()}
    return {row["address"]: _vault(chain, row, tokens) for row in tables[chain]}


def find_vault(chain: str, address: str) -> Vault:
    """Return the vault at an address; NotFound names the nearest ones."""
    found = load_vaults(chain).get(address)
    if found is None:
        raise unknown_pool(address, load_vaults(chain), of=f"vault-d on {chain}")
    return found


def _vault(chain: str, row: Mapping[str, Any], tokens: Mapping[str, Token]) -> Vault:
    others = dict(row)
    if "asset" in row:
        asset = others.pop("asset")
        return ShareVault(chain, **others, asset=wrapped_native(chain) if asset == NATIVE else asset)
    denomination = others.pop("denomination")
    return FeedVault(chain, **others, price_token=None if denomination == _DOLLAR else tokens[denomination])
