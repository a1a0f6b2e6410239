"""Kong, Yearn's API: all its vaults on a chain (`GET /list/vaults/{chain id}?origin=yearn`), renewed every 15 minutes.

The rate is the net one of `performance.historical`, which Kong computes of the share's price over the last weeks. It is
a fraction there and percent here. Source: yearn/kong packages/web/app/api/rest/list/{db.ts,vaults/[chainId]/route.ts}.
"""

from __future__ import annotations

import math
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from server.apis.documents import DocumentRequest, fetch_if_changed
from server.apis.endpoints import AGENT, WholeApiErrors, changed_shape, read_shape
from server.contracts.address import checksum_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.apis.documents import DocumentSource, Fetched
    from server.apis.sources import Sources
    from server.upstream import RestPool

NAME = "kong"

_LIFETIME, _STALE_FOR = 300.0, 3600.0
_PATH = "/list/vaults"
_ORIGIN = (("origin", "yearn"),)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_CHAINS: Mapping[str, int] = tomllib.loads(Path(__file__).with_name("kong.toml").read_text(encoding="utf-8"))


class Vault(NamedTuple):
    """A vault: address checksummed, `version` as its contract states it ("" where Kong has none).

    `apy` is percent per year after fees, `tvl` US dollars; None where Kong has none. `symbol` is that of its asset.
    """

    address: str
    version: str
    symbol: str
    apy: float | None
    tvl: float | None
    is_open: bool


class _Asset(msgspec.Struct):
    symbol: str


class _Historical(msgspec.Struct):
    net: float | None


class _Performance(msgspec.Struct):
    historical: _Historical | msgspec.UnsetType | None = msgspec.UNSET


class _Vault(msgspec.Struct, rename="camel"):
    chain_id: int
    address: str
    api_version: str | None
    asset: _Asset | None
    tvl: float | None
    performance: _Performance | None
    is_retired: bool
    is_hidden: bool


class Kong:
    """See `DocumentSource`; the key is the slug of a chain."""

    lifetime = _LIFETIME
    stale_for = _STALE_FOR
    is_refreshed = True

    def __init__(self, pool: RestPool) -> None:
        self._pool = pool

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return the vaults of a chain by checksummed address; see `DocumentSource`."""
        [chain] = key
        path = f"{_PATH}/{_CHAINS[chain]}"
        return await fetch_if_changed(
            lambda known: self._pool.get(path, _ORIGIN, AGENT, name=_PATH, validators=known),
            lambda body: read_list(body, chain),
            previous,
        )


def open_kong(sources: Sources) -> dict[str, DocumentSource]:
    """Return the source as the settings configure it; empty where it is switched off."""
    if not sources.endpoints(NAME):
        return {}
    return {NAME: Kong(sources.open(NAME, WholeApiErrors(NAME)))}


def vaults_of(chain: str) -> DocumentRequest:
    """Return the request for the vaults of a chain: `Mapping[str, Vault]` by checksummed address."""
    return DocumentRequest(NAME, (chain,))


def read_list(body: bytes, chain: str) -> dict[str, Vault]:
    """Return the vaults of a chain's list by checksummed address.

    Raises:
        UpstreamUnavailable: it has another shape, whose member the text names, or is of another chain.
    """
    rows = read_shape(body, list[_Vault], NAME)
    if not rows:
        raise changed_shape(NAME, "`$` lists no vault")
    performances = [row.performance for row in rows if row.performance is not None]
    if not performances:
        raise changed_shape(NAME, "no row has a `performance`")
    # Rows without a history have none of it; that no row has one means that it was renamed.
    if all(one.historical is msgspec.UNSET for one in performances):
        raise changed_shape(NAME, "no row has a `performance.historical`")
    found: dict[str, Vault] = {}
    for place, row in enumerate(rows):
        at = f"`$[{place}]"
        if row.chain_id != _CHAINS[chain]:
            raise changed_shape(NAME, f"{at}.chainId` is not the chain that was asked for")
        if not _ADDRESS.fullmatch(row.address):
            raise changed_shape(NAME, f"{at}.address` is no address")
        if row.tvl is not None and not 0 <= row.tvl < math.inf:
            raise changed_shape(NAME, f"{at}.tvl` is no amount of dollars")
        # Kong writes addresses with a checksum; the case of one that is not right means nothing.
        address = checksum_address(row.address.lower())
        if address in found:
            raise changed_shape(NAME, f"{at}.address` stands there twice")
        found[address] = Vault(
            address,
            row.api_version or "",
            "" if row.asset is None else row.asset.symbol,
            _percent(row, at),
            row.tvl,
            not (row.is_retired or row.is_hidden),
        )
    return found


def _percent(row: _Vault, at: str) -> float | None:
    history = None if row.performance is None else row.performance.historical
    if history is None or history is msgspec.UNSET or history.net is None:
        return None
    percent = float(Decimal(repr(history.net)) * 100)
    # No vault loses more than all there is.
    if history.net < -1 or not math.isfinite(percent):
        raise changed_shape(NAME, f"{at}.performance.historical.net` is no rate")
    return percent
