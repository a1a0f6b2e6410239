"""Morpho's GraphQL API: the listed vaults of a chain, both generations, with their rates and sizes.

Source: package @morpho-org/blue-api-sdk 2.17.3 (types.d.ts), docs.morpho.org. Its rates and fees are fractions.
Those of V1 are of the moment, with averages of some hours beside them; V2 has averages of the share price alone.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from server.apis.documents import DocumentRequest, Fetched
from server.apis.endpoints import (
    AGENT,
    WholeApiErrors,
    changed_shape,
    read_moment,
    read_shape,
)
from server.errors import UpstreamUnavailable
from server.upstream import Classified, Verdict
from server.yields.figures import FigureReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from server.apis.documents import DocumentSource
    from server.apis.sources import Sources
    from server.upstream import RestPool

NAME = "morpho"

CHAINS: Mapping[str, int] = tomllib.loads(Path(__file__).with_name("morpho.toml").read_text(encoding="utf-8"))["chains"]
"""Chain ids by slug of the chains that the API lists vaults of."""

PAGE = 100
"""How many vaults of either generation are requested at once."""

_PATH = "/graphql"
_MOST_PAGES = 50
_BAD_REQUEST = 400
# The older and the newer name of one member; a server may know either or both.
_WORDS = ("whitelisted", "listed")

_FIGURES = FigureReader(NAME)

# WORD stands for the name of the mark of listed vaults.
_QUERY = Path(__file__).with_name("morpho.graphql").read_text(encoding="utf-8")


class ListedVault(NamedTuple):
    """A listed vault. Rates and the fee are in percent, None where the API knows none; amounts are raw integers.

    `apy` is before the vault's fee and `net_apy` after it and with rewards: of the moment for V1; for V2, which has no
    such rate, the average of the last hour, or of six. `earned_apy` is what suppliers earn: after the fee, without
    rewards. `updated_at` is the API's own time of the figures, None where it has none.
    """

    address: str
    name: str
    symbol: str
    version: str
    network: str
    asset: str
    asset_symbol: str
    asset_decimals: int
    total_assets: int | None = None
    total_assets_usd: float | None = None
    total_supply: int | None = None
    fee: float | None = None
    apy: float | None = None
    net_apy: float | None = None
    earned_apy: float | None = None
    avg_apy: float | None = None
    avg_net_apy: float | None = None
    updated_at: datetime | None = None

    @property
    def is_average(self) -> bool:
        """Whether the rates are averages: there are no others of this generation."""
        return self.version == SECOND


class Listing(NamedTuple):
    """The listed vaults of a chain, those with most assets first."""

    chain_id: int
    vaults: tuple[ListedVault, ...]

    def by_address(self) -> dict[str, ListedVault]:
        """Return the vaults by checksummed address."""
        return {vault.address: vault for vault in self.vaults}


FIRST, SECOND = "V1", "V2"
"""The generations of vaults."""


def vaults_of(chain: str) -> DocumentRequest:
    """Return the request for the listing of a chain of `CHAINS`; its document is a `Listing`."""
    return DocumentRequest(NAME, (chain,))


class _Asset(msgspec.Struct):
    address: str
    symbol: str
    decimals: int


class _Chain(msgspec.Struct):
    id: int
    network: str


class _Named(msgspec.Struct, kw_only=True):
    address: str
    name: str
    symbol: str
    asset: _Asset
    chain: _Chain
    whitelisted: bool | msgspec.UnsetType = msgspec.UNSET
    listed: bool | msgspec.UnsetType = msgspec.UNSET


class _State(msgspec.Struct, rename="camel"):
    total_assets: int | str
    total_assets_usd: Decimal | None
    total_supply: int | str
    fee: Decimal
    apy: Decimal
    net_apy: Decimal | None
    net_apy_without_rewards: Decimal
    avg_apy: Decimal | None
    avg_net_apy: Decimal | None
    timestamp: int | str


class _First(_Named, kw_only=True):
    state: _State | None


class _Reward(msgspec.Struct, rename="camel"):
    supply_apr: Decimal | None


class _Second(_Named, kw_only=True, rename="camel"):
    total_assets: int | str | None
    total_assets_usd: Decimal | None
    total_supply: int | str
    performance_fee: Decimal
    avg_apy: Decimal | None
    avg_net_apy: Decimal | None
    hour_apy: Decimal | None
    hour_net_apy: Decimal | None
    rewards: list[_Reward]


class _PageInfo(msgspec.Struct, rename="camel"):
    count: int
    count_total: int
    skip: int


class _FirstPage(msgspec.Struct, rename="camel"):
    items: list[_First]
    page_info: _PageInfo


class _SecondPage(msgspec.Struct, rename="camel"):
    items: list[_Second]
    page_info: _PageInfo


class _Data(msgspec.Struct):
    # The server leaves a part null that it fails at.
    vaults: _FirstPage | None = None
    vault_v2s: _SecondPage | None = msgspec.field(default=None, name="vaultV2s")


class _Error(msgspec.Struct):
    message: str


class _Answer(msgspec.Struct):
    data: _Data | None = None
    errors: list[_Error] | None = None


Item = TypeVar("Item", _First, _Second)


class _Refused(UpstreamUnavailable):
    """The server does not take the query: it names a member that it does not know."""


class _Errors:
    """What the API's HTTP errors mean. See `ErrorTable`."""

    def __init__(self) -> None:
        self._plain = WholeApiErrors(NAME)

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict by status; a query that does not fit the server's schema is refused with 400."""
        if http_status == _BAD_REQUEST:
            return Classified(Verdict.ANSWER, _Refused(f"{NAME} does not take the query of this build"))
        return self._plain.classify(http_status, code, message, data)


class MorphoApi:
    """See `DocumentSource`; documents are listings, by the chain's slug."""

    lifetime = 60.0
    stale_for = 3600.0
    is_refreshed = True

    def __init__(self, pool: RestPool) -> None:
        self._pool = pool
        self._word = _WORDS[0]

    async def fetch(self, key: tuple[str, ...], previous: Fetched | None) -> Fetched:
        """Return the listing of a chain, in pages; see `DocumentSource`."""
        [chain] = key
        try:
            return await self._fetch(CHAINS[chain], self._word)
        except _Refused as refused:
            other = next(word for word in _WORDS if word != self._word)
            try:
                fetched = await self._fetch(CHAINS[chain], other)
            except _Refused:
                raise changed_shape(NAME, refused.message) from None
            self._word = other
            return fetched

    async def _fetch(self, chain_id: int, word: str) -> Fetched:
        vaults, totals = list[ListedVault](), set[tuple[int, int]]()
        query, size, skip = _QUERY.replace("WORD", word), 0, 0
        for _ in range(_MOST_PAGES):
            variables = {"chain": chain_id, "first": PAGE, "skip": skip}
            body = msgspec.json.encode({"query": query, "variables": variables})
            reply = await self._pool.post(_PATH, body, AGENT, name=_PATH)
            size += len(reply.result)
            first, second = _read(reply.result, word)
            _check_page("vaults", first.items, first.page_info, skip)
            _check_page("vaultV2s", second.items, second.page_info, skip)
            vaults += [_first(item) for item in _listed("vaults", first.items, chain_id)]
            vaults += [_second(item) for item in _listed("vaultV2s", second.items, chain_id)]
            totals.add((first.page_info.count_total, second.page_info.count_total))
            if len(totals) > 1:
                raise UpstreamUnavailable(f"{NAME} changed its list while it was read; try again")
            skip += PAGE
            if skip >= max(first.page_info.count_total, second.page_info.count_total):
                return Fetched(Listing(chain_id, _sorted(vaults)), size)
        raise UpstreamUnavailable(f"{NAME} lists more than {_MOST_PAGES * PAGE} vaults on one chain")


def open_morpho(sources: Sources) -> dict[str, DocumentSource]:
    """Return the source as the settings configure it; empty where it is switched off."""
    if not sources.endpoints(NAME):
        return {}
    return {NAME: MorphoApi(sources.open(NAME, _Errors()))}


def _read(body: bytes, word: str) -> tuple[_FirstPage, _SecondPage]:
    """Return a page of either generation.

    Raises:
        _Refused: an error names the member that only some servers know.
        UpstreamUnavailable: an error cost a part of the data, or it has another shape.
    """
    answer = read_shape(body, _Answer, NAME)
    messages = [error.message for error in answer.errors or ()]
    if answer.data is not None and answer.data.vaults is not None and answer.data.vault_v2s is not None:
        # What errors have cost beside that is null, and null is no figure.
        return answer.data.vaults, answer.data.vault_v2s
    if any(f'"{word}"' in message for message in messages):
        raise _Refused(f"it does not know `{word}`")
    unknown = next((name for message in messages for name in _unknown_members(message)), None)
    if unknown is not None:
        raise changed_shape(NAME, f"it does not know `{unknown}`")
    if messages:
        raise UpstreamUnavailable(f"{NAME} answers with an error in place of its vaults")
    part = "data" if answer.data is None else "data.vaults" if answer.data.vaults is None else "data.vaultV2s"
    raise changed_shape(NAME, f"`$.{part}` is null")


_NAMED = re.compile(r'(?:Cannot query field|Field|Unknown argument|Value) "([A-Za-z_0-9]{1,60})"')


def _unknown_members(message: str) -> Iterator[str]:
    """Yield the names that a GraphQL server's errors name, of those that the query has."""
    yield from (name for name in _NAMED.findall(message) if name in _QUERY)


def _check_page(part: str, items: list[Item], info: _PageInfo, skip: int) -> None:
    """Raise UpstreamUnavailable for a page that is not the one requested, or is not whole."""
    if info.skip != skip:
        raise changed_shape(NAME, f"`$.data.{part}.pageInfo.skip` is that of another page")
    expected = min(max(info.count_total - skip, 0), PAGE)
    if len(items) != expected or info.count != expected:
        raise UpstreamUnavailable(
            f"{NAME} answers with a part of a page: `$.data.{part}.items` is not what `pageInfo.count` and "
            "`pageInfo.countTotal` say"
        )


def _listed(part: str, items: Iterable[Item], chain_id: int) -> Iterator[Item]:
    """Yield the vaults that are listed; UpstreamUnavailable for one of another chain or without the mark."""
    for item in items:
        if item.chain.id != chain_id:
            raise changed_shape(NAME, f"`$.data.{part}.items[...].chain.id` is not the chain that was asked for")
        marks = [mark for mark in (item.whitelisted, item.listed) if mark is not msgspec.UNSET]
        if not marks:
            raise changed_shape(NAME, f"`$.data.{part}.items[...]` has neither `whitelisted` nor `listed`")
        if all(marks):
            yield item


def _first(item: _First) -> ListedVault:
    vault, state = _named(item, "vaults", FIRST), item.state
    if state is None:
        return vault
    where = "$.data.vaults.items[...].state"
    return vault._replace(
        total_assets=_FIGURES.amount(state.total_assets, f"{where}.totalAssets"),
        total_assets_usd=_FIGURES.dollars(state.total_assets_usd, f"{where}.totalAssetsUsd"),
        total_supply=_FIGURES.amount(state.total_supply, f"{where}.totalSupply"),
        fee=_FIGURES.share(state.fee, f"{where}.fee"),
        apy=_FIGURES.percent(state.apy, f"{where}.apy"),
        net_apy=_FIGURES.percent(state.net_apy, f"{where}.netApy"),
        earned_apy=_FIGURES.percent(state.net_apy_without_rewards, f"{where}.netApyWithoutRewards"),
        avg_apy=_FIGURES.percent(state.avg_apy, f"{where}.avgApy"),
        avg_net_apy=_FIGURES.percent(state.avg_net_apy, f"{where}.avgNetApy"),
        updated_at=read_moment(_FIGURES.amount(state.timestamp, f"{where}.timestamp"), NAME),
    )


def _second(item: _Second) -> ListedVault:
    where, read = "$.data.vaultV2s.items[...]", _FIGURES
    avg_apy, avg_net_apy = (
        read.percent(item.avg_apy, f"{where}.avgApy"),
        read.percent(item.avg_net_apy, f"{where}.avgNetApy"),
    )
    hour_apy, hour_net_apy = (
        read.percent(item.hour_apy, f"{where}.hourApy"),
        read.percent(item.hour_net_apy, f"{where}.hourNetApy"),
    )
    net = item.avg_net_apy if item.hour_net_apy is None else item.hour_net_apy
    for reward in item.rewards:
        read.percent(reward.supply_apr, f"{where}.rewards[...].supplyApr")
    # Rewards of an unknown rate are not in the average either.
    rewards = sum((one.supply_apr for one in item.rewards if one.supply_apr is not None), Decimal(0))
    return _named(item, "vaultV2s", SECOND)._replace(
        total_assets=None if item.total_assets is None else read.amount(item.total_assets, f"{where}.totalAssets"),
        total_assets_usd=read.dollars(item.total_assets_usd, f"{where}.totalAssetsUsd"),
        total_supply=read.amount(item.total_supply, f"{where}.totalSupply"),
        fee=read.share(item.performance_fee, f"{where}.performanceFee"),
        apy=avg_apy if hour_apy is None else hour_apy,
        net_apy=avg_net_apy if hour_net_apy is None else hour_net_apy,
        earned_apy=None if net is None else float((net - rewards) * 100),
        avg_apy=avg_apy,
        avg_net_apy=avg_net_apy,
    )


def _named(item: _Named, part: str, version: str) -> ListedVault:
    where, read = f"$.data.{part}.items[...]", _FIGURES
    return ListedVault(
        address=read.address(item.address, f"{where}.address"),
        name=read.text(item.name, f"{where}.name"),
        symbol=read.text(item.symbol, f"{where}.symbol"),
        version=version,
        network=read.text(item.chain.network, f"{where}.chain.network"),
        asset=read.address(item.asset.address, f"{where}.asset.address"),
        asset_symbol=read.text(item.asset.symbol, f"{where}.asset.symbol"),
        asset_decimals=read.decimals(item.asset.decimals, f"{where}.asset.decimals"),
    )


def _sorted(vaults: list[ListedVault]) -> tuple[ListedVault, ...]:
    """Return vaults by their size, those of unknown size last; UpstreamUnavailable where one is there twice."""
    if len({vault.address for vault in vaults}) != len(vaults):
        raise UpstreamUnavailable(f"{NAME} lists a vault twice; try again")
    vaults.sort(key=attrgetter("name", "address"))
    known = [vault for vault in vaults if vault.total_assets_usd is not None]
    known.sort(key=attrgetter("total_assets_usd"), reverse=True)
    return (*known, *(vault for vault in vaults if vault.total_assets_usd is None))
