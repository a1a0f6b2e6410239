"""What a vault of vault-b is, as its contract states it, and the proof that it is one.

The address comes from a caller: a contract that only answers as a vault does is none. A vault is proved by Kong's list
or by a registry of its version, in the same read as its figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.calls import read_text
from server.contracts.interface import Interface
from server.errors import NotFound
from server.protocols.plan import ContractUnreadable, Group, More, Plan, StaleTables
from server.protocols.reader import load_deployments
from server.protocols.tokens import DECIMALS, TokenFacts, describe, read_facts
from server.yields import kong

if TYPE_CHECKING:
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.yields import PoolQuestion

SLUG = "yearn"
_VAULT = Interface.load("server.protocols.yearn", "vault")
VERSION = _VAULT["apiVersion"]
_ASSET = _VAULT["asset"]
_TOKEN = _VAULT["token"]
_REGISTRIES = Interface.load("server.protocols.yearn", "registries")
_IS_ENDORSED = _REGISTRIES["isEndorsed"]
_VAULTS = _REGISTRIES["vaults"]

_V3 = "3"
# A registry of V2 knows a token's vaults by number; no token had more, one for each release.
_MOST_RELEASES = 20
_MOST_DECIMALS = 36


class Vault(NamedTuple):
    """A vault's release, as `apiVersion` states it, what it takes, and the decimals of its shares."""

    version: str
    asset: TokenFacts
    decimals: int

    @property
    def is_v3(self) -> bool:
        """Whether it has the interface of EIP-4626; else that of V2."""
        return self.version.startswith(_V3)


class VaultTables:
    """Readers of one vault: their tables are what the vault is, None for a contract that does not answer as one."""

    def subject(self, question: PoolQuestion) -> tuple[str, str, str]:
        """Return the vault."""
        return SLUG, question.chain, question.pool

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> Vault | More | None:
        """Return what the vault is, or what has to be read for that."""
        pool = question.pool
        if "vault" not in outcomes:
            calls = [VERSION.call(pool, is_optional=True)]
            calls += [function.call(pool, is_optional=True) for function in (_ASSET, _TOKEN, DECIMALS)]
            return More(Plan({"vault": Group(tuple(calls), is_known=False)}))
        returned_version, returned_asset, returned_token, returned_decimals = outcomes["vault"]
        version = _read_version(returned_version)
        if not version:
            return None
        is_v3 = version.startswith(_V3)
        asset = returned_asset.read_if_answered(_ASSET) if is_v3 else returned_token.read_if_answered(_TOKEN)
        decimals = returned_decimals.read_if_answered(DECIMALS)
        if asset is None or decimals is None or decimals[0] > _MOST_DECIMALS:
            return None
        if "asset" not in outcomes:
            return More(Plan({"asset": Group(describe(asset[0]), is_known=False)}))
        try:
            facts = read_facts(*outcomes["asset"])
        except ContractUnreadable:
            return None
        return Vault(version, facts, decimals[0])

    def plan(self, question: PoolQuestion, tables: Vault | None) -> Plan:
        """Return Kong's list, which determines what to call."""
        return Plan(documents=(kong.vaults_of(question.chain),))


def find_listed(question: PoolQuestion, outcomes: Outcomes) -> kong.Vault | None:
    """Return Kong's row of a vault; None where it has none, or could not be read."""
    document = outcomes.find_document(kong.vaults_of(question.chain))
    found: kong.Vault | None = None if document is None else document.value.get(question.pool)
    return found


def proof_group(question: PoolQuestion, vault: Vault | None) -> Group:
    """Return the calls that `check_proof` reads: of registries, which know the vault or not."""
    chain, pool = question.chain, question.pool
    book, more = load_address_book().find_contracts(SLUG, chain), load_deployments("server.protocols.yearn")[chain]
    v3 = [book["v3Registry"].address, *more["v3"]]
    v2 = [*([book["v2Registry"].address] if "v2Registry" in book else []), *more["v2"]]
    if vault is not None and not vault.is_v3:
        return Group(
            tuple(
                _VAULTS.call(registry, vault.asset.address, number, is_optional=True)
                for registry in v2
                for number in range(_MOST_RELEASES)
            )
        )
    return Group(tuple(_IS_ENDORSED.call(registry, pool, is_optional=True) for registry in v3))


def check_proof(question: PoolQuestion, vault: Vault | None, outcomes: Outcomes) -> Vault:
    """Return the vault if it is one of vault-b, which Kong's list or a registry states.

    Raises:
        NotFound: it is none.
        UpstreamUnavailable: no registry knows it and Kong's list, which might, is not to be had.
        StaleTables: it is one, and its contract did not answer when the tables were read.
    """
    is_known = find_listed(question, outcomes) is not None or _is_registered(question, outcomes)
    if not is_known:
        # Raises where Kong failed: that no registry knows a vault does not prove that it is none.
        outcomes.document(kong.vaults_of(question.chain))
        raise NotFound(
            f"{question.pool} is no vault of vault-b on {question.chain}: neither its API nor a registry knows it",
            field="pool",
        )
    if vault is None:
        raise StaleTables
    return vault


def check_version(vault: Vault, returned: Answered) -> None:
    """Raise StaleTables where the contract is of another release than the tables state."""
    if _read_version(returned) != vault.version:
        raise StaleTables


def _is_registered(question: PoolQuestion, outcomes: Outcomes) -> bool:
    if "proof" not in outcomes:
        return False
    for returned in outcomes["proof"]:
        is_v3 = returned.call.data[:4] == _IS_ENDORSED.selector
        found = returned.read_if_answered(_IS_ENDORSED if is_v3 else _VAULTS)
        if found is not None and found[0] in (True, question.pool):
            return True
    return False


def _read_version(returned: Answered) -> str:
    text = read_text(returned.outcome.data) if returned.outcome.succeeded else None
    return text or ""
