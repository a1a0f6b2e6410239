"""The listed vaults of lend-c, and figures of those that a caller names: by Morpho's API, else from the chain."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from waypost.v1 import yield_protocol_pb2, yield_vault_pb2

from server.chains.facts import load_facts
from server.errors import UpstreamUnavailable
from server.protocols.morpho.vaults import (
    SLUG,
    Vault,
    VaultState,
    describe_asset,
    describe_markets,
    describe_vault,
    has_vaults,
    plan_state,
    prove,
    proved,
    read_parameters,
    read_queue,
    read_state,
    read_vault,
)
from server.protocols.plan import More, Plan, Renewed, Token
from server.protocols.yields import VaultsQuestion, oldest
from server.yields import morpho
from server.yields.morpho import FIRST, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from server.apis.documents import Document
    from server.prices import Price
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices
    from server.yields.morpho import ListedVault

    Tables = Mapping[str, Vault]

_VERSIONS = {FIRST: yield_vault_pb2.LEND_C_VAULT_VERSION_V1, SECOND: yield_vault_pb2.LEND_C_VAULT_VERSION_V2}
_SPOT, _AVERAGE = yield_protocol_pb2.YIELD_BASIS_SPOT, yield_protocol_pb2.YIELD_BASIS_AVERAGE


class ListingReader:
    """Requests the listing of a chain's vaults, which Morpho's API has; it needs no tables."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return f"{SLUG} listing", question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        """Return that there are no tables."""
        return

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        """Return the listing; nothing for a chain that the API lists no vaults of."""
        return Plan(documents=(morpho.vaults_of(question.chain),) if question.chain in morpho.CHAINS else ())


class VaultsReader(ListingReader):
    """Lists the vaults of a chain, those with most assets first; none where the API lists none."""

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> list[yield_vault_pb2.LendCVault]:
        """Return the vaults; raises what the API failed with."""
        if question.chain not in morpho.CHAINS:
            return []
        listing = outcomes.document(morpho.vaults_of(question.chain)).value
        return [
            yield_vault_pb2.LendCVault(
                address=vault.address,
                name=vault.name,
                symbol=vault.symbol,
                chain_id=listing.chain_id,
                chain=yield_vault_pb2.LendCChain(id=listing.chain_id, network=vault.network),
                version=_VERSIONS[vault.version],
                whitelisted=True,
            )
            for vault in listing.vaults
        ]


class VaultDataReader:
    """Reads figures of vaults. Tables are the vaults that were read from the chain, by address.

    Where the API answers, vaults that it does not list are left out. Where it does not, and on chains that it has no
    listing of, those that a factory of generation V1 knows are read from the chain.
    """

    def subject(self, question: VaultsQuestion) -> tuple[str, str]:
        """Return the chain."""
        return f"{SLUG} vault data", question.chain

    def load(self, question: VaultsQuestion, outcomes: Outcomes) -> Tables:
        """Return that no vault was read yet."""
        return {}

    def plan(self, question: VaultsQuestion, tables: Tables) -> Plan:
        """Return the listing; where there is none, what the vaults are."""
        if question.chain in morpho.CHAINS:
            return Plan(documents=(morpho.vaults_of(question.chain),))
        has_any = has_vaults(question.chain)
        return Plan({"proof": prove(question.chain, question.vaults)} if has_any else {})

    def build(
        self, question: VaultsQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> list[yield_vault_pb2.LendCVaultData] | More | Renewed:
        """Return the vaults found, in the order asked.

        Raises:
            UpstreamUnavailable: a vault can be read neither from the API nor from the chain.
        """
        rows, rest = _listed(question, outcomes)
        if not rest or not has_vaults(question.chain):
            return _in_order(question, rows)
        if "proof" not in outcomes:
            return More(Plan({"proof": prove(question.chain, rest)}))
        versions = proved(question.chain, rest, outcomes["proof"])
        second = next((vault for vault, version in versions.items() if version == SECOND), None)
        if second is not None:
            raise _unknown(question, second, outcomes)
        known = _known(question.chain, versions, tables, outcomes)
        if isinstance(known, More):
            return known
        if any(_state(vault) not in outcomes for vault in known):
            groups = {_state(vault): plan_state(question.chain, known[vault]) for vault in known}
            tokens = dict.fromkeys(Token(question.chain, vault.asset.address) for vault in known.values())
            return More(Plan(groups, tuple(tokens)))
        for address, vault in known.items():
            state = read_state(question.chain, vault, outcomes[_state(address)])
            price = prices.get((question.chain, vault.asset.address))
            row = rows[address] = _row(question.chain, vault, state, price)
            row.block_height = outcomes.block_of(_state(address))
        return Renewed(_in_order(question, rows), {**tables, **known})


def _unknown(question: VaultsQuestion, vault: str, outcomes: Outcomes) -> UpstreamUnavailable:
    """Return the failure of a vault of V2 without figures; raises that of the API where it failed."""
    outcomes.document(morpho.vaults_of(question.chain))
    return UpstreamUnavailable(f"{morpho.NAME} states no figures of the vault {vault}; try again later")


def _listed(
    question: VaultsQuestion, outcomes: Outcomes
) -> tuple[dict[str, yield_vault_pb2.LendCVaultData], list[str]]:
    """Return rows of the vaults that the API has figures of, and those that are left to the chain."""
    document = outcomes.find_document(morpho.vaults_of(question.chain)) if question.chain in morpho.CHAINS else None
    if document is None:
        return {}, list(question.vaults)
    rows, rest = dict[str, yield_vault_pb2.LendCVaultData](), list[str]()
    known = document.value.by_address()
    for address in question.vaults:
        if address in known:
            row = _listed_row(known[address], document)
            if row is None:
                rest.append(address)
            else:
                rows[address] = row
    return rows, rest


def _listed_row(vault: ListedVault, document: Document) -> yield_vault_pb2.LendCVaultData | None:
    """Return the row of a listed vault; None where the API has no amounts of it."""
    if vault.total_assets is None or vault.total_supply is None or vault.fee is None:
        return None
    has_rate = vault.apy is not None or vault.net_apy is not None
    row = yield_vault_pb2.LendCVaultData(
        address=vault.address,
        name=vault.name,
        symbol=vault.symbol,
        chain_id=document.value.chain_id,
        total_assets=str(vault.total_assets),
        total_assets_usd=vault.total_assets_usd,
        total_supply=str(vault.total_supply),
        fee=vault.fee,
        apy=vault.apy,
        net_apy=vault.net_apy,
        avg_apy=vault.avg_apy,
        avg_net_apy=vault.avg_net_apy,
        source=yield_vault_pb2.LEND_C_VAULT_SOURCE_API,
        basis=(_AVERAGE if vault.is_average else _SPOT) if has_rate else None,
    )
    row.last_updated.FromDatetime(oldest(document.read_at, vault.updated_at))
    return row


def _known(chain: str, vaults: Iterable[str], tables: Tables, outcomes: Outcomes) -> dict[str, Vault] | More:
    """Return what the vaults are, or what has to be read for it."""
    new = [vault for vault in vaults if vault not in tables]
    if any(_what(vault) not in outcomes for vault in new):
        return More(Plan({_what(vault): describe_vault(FIRST, vault) for vault in new}))
    queues = {vault: read_queue(FIRST, outcomes[_what(vault)]) for vault in new}
    ids = list(dict.fromkeys(one for queue in queues.values() for one in queue))
    if new and _asset(new[0]) not in outcomes:
        assets = {_asset(vault): describe_asset(outcomes[_what(vault)]) for vault in new}
        return More(Plan({"markets": describe_markets(chain, ids), **assets}))
    markets = read_parameters(ids, outcomes["markets"]) if new else {}
    read = {vault: read_vault(FIRST, outcomes[_what(vault)], outcomes[_asset(vault)], markets) for vault in new}
    return {vault: read.get(vault) or tables[vault] for vault in vaults}


def _row(chain: str, vault: Vault, state: VaultState, price: Price | None) -> yield_vault_pb2.LendCVaultData:
    """Return the row of a vault of V1 as the chain has it: without averages and rewards."""
    value = None
    if price is not None:
        value = float(Decimal(state.total_assets).scaleb(-vault.asset.decimals) * price.value)
    apy = state.apy(after_fee=False)
    row = yield_vault_pb2.LendCVaultData(
        address=vault.address,
        name=vault.name,
        symbol=vault.symbol,
        chain_id=int(load_facts()[chain].chain_id),
        total_assets=str(state.total_assets),
        total_assets_usd=value,
        total_supply=str(state.total_supply),
        fee=state.fee_percent,
        apy=apy,
        net_apy=state.apy(after_fee=True),
        source=yield_vault_pb2.LEND_C_VAULT_SOURCE_CHAIN,
        basis=None if apy is None else _SPOT,
    )
    row.last_updated.FromDatetime(oldest(state.time, price.updated_at if price else None))
    return row


def _in_order(
    question: VaultsQuestion, rows: Mapping[str, yield_vault_pb2.LendCVaultData]
) -> list[yield_vault_pb2.LendCVaultData]:
    return [rows[vault] for vault in question.vaults if vault in rows]


def _what(vault: str) -> str:
    return f"vault {vault}"


def _asset(vault: str) -> str:
    return f"asset of {vault}"


def _state(vault: str) -> str:
    return f"state of {vault}"
