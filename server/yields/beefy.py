"""Beefy's API: all vaults (`/vaults/all`), rates (`/apy`), what lies in them (`/tvl`), prices (`/lps`, `/prices`).

Each is a document of its own over all chains, sent with an ETag. Rates are fractions there and percent here.
Source: beefyfinance/beefy-api src/router.ts, src/api/vaults/types.ts, src/api/stats/{getApys,getTvl}.ts.
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from runtime.config_errors import NameIndex
from server.apis.documents import DocumentRequest, fetch_if_changed
from server.apis.endpoints import AGENT, WholeApiErrors, changed_shape, read_shape
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.apis.documents import DocumentSource, Fetched
    from server.apis.sources import Sources
    from server.upstream import RestPool

NAME = "beefy"

VAULTS = DocumentRequest(NAME, ("vaults",))
"""All vaults: `Vaults`."""

RATES = DocumentRequest(NAME, ("apy",))
"""Percent per year by id, None where Beefy has none: `Mapping[str, float | None]`."""

VALUES = DocumentRequest(NAME, ("tvl",))
"""What lies in vaults in US dollars, by chain slug and id: `Mapping[str, Mapping[str, float]]`."""

POOL_PRICES = DocumentRequest(NAME, ("lps",))
"""Prices of a whole token in US dollars by oracle id, for vaults whose `oracle` is `lps`: `Mapping[str, float]`."""

TOKEN_PRICES = DocumentRequest(NAME, ("prices",))
"""The same for vaults whose `oracle` is `tokens`."""

STANDARD, GOV, COWCENTRATED, ERC4626 = KINDS = ("standard", "gov", "cowcentrated", "erc4626")
ACTIVE = "active"

_LIFETIME, _STALE_FOR = 300.0, 3600.0
_PATHS = {"vaults": "/vaults/all", "apy": "/apy", "tvl": "/tvl", "lps": "/lps", "prices": "/prices"}
_STATUSES = frozenset({ACTIVE, "paused", "eol"})
_ORACLES = {"lps": POOL_PRICES, "tokens": TOKEN_PRICES}
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_ID = re.compile(r"[!-~]{1,100}")
# What a token of ours can have; the contracts compute in units of 18 decimals.
_MOST_DECIMALS = 36


class _Chain(NamedTuple):
    slug: str
    id: int


_CHAINS: Mapping[str, _Chain] = {
    name: _Chain(**row)
    for name, row in tomllib.loads(Path(__file__).with_name("beefy.toml").read_text(encoding="utf-8")).items()
}


class Vault(NamedTuple):
    """A vault: its kind (one of KINDS), the slug of its chain, its contract, what it takes.

    On chains that are not read `chain` is Beefy's own name. Addresses are as Beefy writes them. `token` is None for the
    chain's coin; `tokens` are the two of the kind `cowcentrated`. `decimals` are those of `token`, `symbol` is Beefy's
    name of it, `assets` of all that is in it. `prices` is the document that has a price under `oracle_id`.
    """

    id: str
    kind: str
    chain: str
    address: str
    token: str | None
    tokens: tuple[str, ...]
    decimals: int
    symbol: str
    assets: tuple[str, ...]
    prices: DocumentRequest
    oracle_id: str
    is_active: bool


class Vaults(NamedTuple):
    """All vaults by id, and the ids by chain slug, among which an unknown one's nearest are found."""

    by_id: Mapping[str, Vault]
    ids: Mapping[str, NameIndex]


class _Vault(msgspec.Struct, rename="camel"):
    id: str
    type: str
    status: str
    network: str
    earn_contract_address: str
    token: str
    token_decimals: int
    oracle: str
    oracle_id: str
    token_address: str | None = None
    deposit_token_addresses: list[str] | None = None
    assets: list[str] | None = None


class Beefy:
    """See `DocumentSource`; keys are those of the requests above."""

    lifetime = _LIFETIME
    stale_for = _STALE_FOR
    is_refreshed = True

    def __init__(self, pool: RestPool) -> None:
        self._pool = pool

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return a document; see `DocumentSource`."""
        [topic] = key
        path = _PATHS[topic]
        return await fetch_if_changed(
            lambda known: self._pool.get(path, (), AGENT, name=path, validators=known), READERS[topic], previous
        )


def open_beefy(sources: Sources) -> dict[str, DocumentSource]:
    """Return the source as the settings configure it; empty where it is switched off."""
    if not sources.endpoints(NAME):
        return {}
    return {NAME: Beefy(sources.open(NAME, WholeApiErrors(NAME)))}


def read_vaults(body: bytes) -> Vaults:
    """Return the vaults of `/vaults/all`; UpstreamUnavailable, naming the member, for another shape."""
    found: dict[str, Vault] = {}
    for place, row in enumerate(read_shape(body, list[_Vault], NAME)):
        vault = _vault(row, place)
        if vault.id in found:
            raise changed_shape(NAME, f"`$[{place}].id` stands there twice")
        found[vault.id] = vault
    if not found:
        raise changed_shape(NAME, "`$` lists no vault")
    slugs = {chain.slug for chain in _CHAINS.values()}
    ids = {slug: NameIndex(vault.id for vault in found.values() if vault.chain == slug) for slug in slugs}
    return Vaults(found, ids)


def read_rates(body: bytes) -> dict[str, float | None]:
    """Return percent per year by id, of `/apy`; raises as `read_vaults`."""
    found: dict[str, float | None] = {}
    for vault, rate in _read_figures(body).items():
        if rate is None:
            found[sys.intern(vault)] = None
            continue
        percent = float(Decimal(repr(rate)) * 100)
        # No vault loses more than all there is.
        if rate < -1 or not math.isfinite(percent):
            raise changed_shape(NAME, f"`{_member(vault)}` is no rate")
        found[sys.intern(vault)] = percent
    return found


def read_values(body: bytes) -> dict[str, dict[str, float]]:
    """Return dollars by chain slug and id, of `/tvl`; raises as `read_vaults`."""
    by_id = {str(chain.id): chain.slug for chain in _CHAINS.values()}
    found = {
        by_id[chain]: _amounts(_read_figures(bytes(of_chain), chain), chain)
        for chain, of_chain in read_shape(body, dict[str, msgspec.Raw], NAME).items()
        if chain in by_id
    }
    if not found:
        raise changed_shape(NAME, "`$` holds no chain that is read")
    return found


def read_prices(body: bytes) -> dict[str, float]:
    """Return dollars by oracle id, of `/lps` and `/prices`, without those that have none; raises as `read_vaults`."""
    # A price of 0 means that Beefy has none.
    return {oracle: price for oracle, price in _amounts(_read_figures(body)).items() if price > 0}


READERS: Mapping[str, Callable[[bytes], Any]] = {
    "vaults": read_vaults,
    "apy": read_rates,
    "tvl": read_values,
    "lps": read_prices,
    "prices": read_prices,
}
"""How the answer of each document is read."""


def _read_figures(body: bytes, *within: str) -> dict[str, float | None]:
    """Return an object of figures; `within` is the member that it is."""
    try:
        found = msgspec.json.decode(body, type=dict[str, float | None])
    except (msgspec.MsgspecError, RecursionError):
        for member, raw in _read_object(body, *within).items():
            try:
                msgspec.json.decode(raw, type=float | None)
            except (msgspec.MsgspecError, RecursionError):
                raise changed_shape(NAME, f"`{_member(*within, member)}` is no number") from None
        raise changed_shape(NAME, f"`{_member(*within)}` is no object of numbers") from None
    if not found and not within:
        raise changed_shape(NAME, "`$` holds no figure")
    return found


def _read_object(body: bytes, *within: str) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise changed_shape(NAME, f"`{_member(*within)}` is no object") from None
    except (msgspec.MsgspecError, RecursionError):
        raise UpstreamUnavailable(f"{NAME} answers with something that is no JSON document") from None


def _amounts(values: Mapping[str, float | None], *within: str) -> dict[str, float]:
    """Return those that are known; an amount below zero is none that there can be."""
    found = {}
    for member, amount in values.items():
        if amount is None:
            continue
        if amount < 0 or not math.isfinite(amount):
            raise changed_shape(NAME, f"`{_member(*within, member)}` is no amount of dollars")
        found[sys.intern(member)] = amount
    return found


def _member(*path: str) -> str:
    """Return the path of a member whose names are the source's own: ids of vaults, cut, without what is no id."""
    return ".".join(["$", *(one if _ID.fullmatch(one) else "..." for one in path)])


def _vault(row: _Vault, place: int) -> Vault:
    at = f"`$[{place}]"
    if not row.id:
        raise changed_shape(NAME, f"{at}.id` is empty")
    chain = _CHAINS.get(row.network)
    if chain is None:
        # Named where a caller asks for it on another chain; nothing else of it is used.
        return Vault(row.id, row.type, row.network, "", None, (), 0, "", (), POOL_PRICES, "", is_active=False)
    if row.type not in KINDS:
        raise changed_shape(NAME, f"{at}.type` is no kind of vault")
    if row.status not in _STATUSES:
        raise changed_shape(NAME, f"{at}.status` is no status")
    if row.oracle not in _ORACLES:
        raise changed_shape(NAME, f"{at}.oracle` is no list of prices")
    if not 0 <= row.token_decimals <= _MOST_DECIMALS:
        raise changed_shape(NAME, f"{at}.tokenDecimals` are no decimals")
    tokens = tuple(row.deposit_token_addresses or ())
    addresses = {"earnContractAddress": row.earn_contract_address, "tokenAddress": row.token_address}
    addresses |= {f"depositTokenAddresses[{number}]": token for number, token in enumerate(tokens)}
    for member, address in addresses.items():
        if address is not None and not _ADDRESS.fullmatch(address):
            raise changed_shape(NAME, f"{at}.{member}` is no address")
    if row.type == COWCENTRATED and len(tokens) != 2:
        raise changed_shape(NAME, f"{at}.depositTokenAddresses` are not two")
    return Vault(
        sys.intern(row.id),
        sys.intern(row.type),
        chain.slug,
        row.earn_contract_address,
        row.token_address,
        tokens if row.type == COWCENTRATED else (),
        row.token_decimals,
        row.token,
        tuple(map(sys.intern, row.assets or ())),
        _ORACLES[row.oracle],
        sys.intern(row.oracle_id),
        row.status == ACTIVE,
    )
