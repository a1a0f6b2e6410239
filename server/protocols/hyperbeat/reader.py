"""What the vaults of vault-d yield, and what wallets have in them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from waypost.v1 import yield_pb2, yield_protocol_pb2, yield_share_pb2

from server.catalog.tokens import NATIVE
from server.errors import release
from server.protocols.hyperbeat.vaults import FeedVault, ShareVault
from server.protocols.plan import ContractUnreadable, Group, More, Plan, Renewed, Token
from server.protocols.reader import load_deployments
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF, wrapped_native
from server.protocols.yields import BestRow, Held, balance_of, unknown_pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from server.errors import GatewayError
    from server.protocols.hyperbeat.vaults import Vault, VaultState
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices
    from server.protocols.yields import PoolQuestion

Answer = TypeVar("Answer")

_SLUG = "hyperbeat"
_GROWTH = yield_protocol_pb2.YIELD_BASIS_GROWTH
_WALLET = "wallet"
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


class _PoolReader:
    """Reads one vault; the table is the vault's own."""

    def subject(self, question: PoolQuestion) -> tuple[str, str, str]:
        """Return the vault."""
        return _SLUG, question.chain, question.pool

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> Any:
        """Return the vault's table, or what has to be read for it; NotFound for no vault of the table."""
        vault = find_vault(question.chain, question.pool)
        if vault.address not in outcomes:
            return More(Plan({vault.address: Group(vault.describe())}))
        return vault.read_table(outcomes[vault.address])


class VaultReader(_PoolReader):
    """Reads the rate of a vault."""

    def plan(self, question: PoolQuestion, tables: Any) -> Plan:
        """Return the vault's calls, with the price of what it counts in and its stored share prices."""
        vault = find_vault(question.chain, question.pool)
        return Plan({vault.address: Group(vault.calls(tables))}, _price_tokens([vault]), vault.documents)

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Any, prices: TokenPrices
    ) -> yield_pb2.VaultYield | Renewed | More:
        """Return the rate; PriceUnavailable where the issuer's own price is none."""
        state = find_vault(question.chain, question.pool).read(tables, outcomes, prices, has_rate=True)
        if isinstance(state, More):
            return state
        if state.failure is not None:
            raise state.failure
        row = yield_pb2.VaultYield(
            apy=state.apy, tvl=_dollars(state, state.total), basis=_basis(state), block_height=state.block
        )
        row.updated_at.FromDatetime(state.updated_at)
        return _renewed(row, state.table, tables)


class BalanceReader(_PoolReader):
    """Reads what a wallet has in a vault."""

    def plan(self, question: PoolQuestion, tables: Any) -> Plan:
        """Return the vault's calls, which serve all wallets, and the wallet's shares."""
        vault = find_vault(question.chain, question.pool)
        shares = BALANCE_OF.call(vault.address, question.address, gas=BALANCE_GAS)
        return Plan({vault.address: Group(vault.calls(tables)), _WALLET: Group((shares,))}, _price_tokens([vault]))

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Any, prices: TokenPrices
    ) -> yield_share_pb2.YieldBalance | Renewed | More:
        """Return the holding: a token with a feed under its own symbol, shares of EIP-4626 as the asset."""
        state = find_vault(question.chain, question.pool).read(tables, outcomes, prices, has_rate=False)
        if isinstance(state, More):
            return state
        shares = outcomes[_WALLET][0].read_one(BALANCE_OF)
        raw = shares * state.assets // state.shares
        unit = state.unit
        held = Held(unit.symbol, unit.address, float(Fraction(raw, 10**unit.decimals)))
        row = yield_share_pb2.YieldBalance(
            balance=balance_of([held], _dollars(state, raw)),
            block_height=state.block,
        )
        row.updated_at.FromDatetime(state.updated_at)
        return _renewed(row, state.table, tables)


class BestReader:
    """Reads the rates of all vaults of a chain; tables are those of the vaults that could be read, by address."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return _SLUG, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Mapping[str, Any] | More:
        """Return the tables, or what has to be read for them."""
        vaults = load_vaults(question.chain)
        if not any(address in outcomes for address in vaults):
            return More(Plan({address: Group(vault.describe()) for address, vault in vaults.items()}))
        tables = {}
        for address, vault in vaults.items():
            try:
                tables[address] = vault.read_table(outcomes[address])
            except ContractUnreadable:
                continue
        return tables

    def plan(self, question: ChainQuestion, tables: Mapping[str, Any]) -> Plan:
        """Return the calls of all vaults."""
        vaults = [vault for address, vault in load_vaults(question.chain).items() if address in tables]
        documents = tuple(document for vault in vaults for document in vault.documents)
        groups = {vault.address: Group(vault.calls(tables[vault.address])) for vault in vaults}
        return Plan(groups, _price_tokens(vaults), documents)

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: Mapping[str, Any], prices: TokenPrices
    ) -> Sequence[BestRow] | Renewed | More:
        """Return a row for each vault whose rate is known; the first failure where no vault could be read."""
        states: dict[str, VaultState] = {}
        groups: dict[str, Group] = {}
        failures: list[GatewayError] = []
        vaults = load_vaults(question.chain)
        for address, table in tables.items():
            try:
                state = vaults[address].read(table, outcomes, prices, has_rate=True)
            except ContractUnreadable as error:
                # Held by a frame that its traceback would hold in turn.
                release(error)
                failures.append(error)
                continue
            if isinstance(state, More):
                groups |= state.plan.groups
            elif state.failure is not None:
                failures.append(state.failure)
            else:
                states[address] = state
        if groups:
            return More(Plan(groups))
        if not states:
            raise failures[0] if failures else ContractUnreadable(f"no vault of vault-d on {question.chain} answers")
        rows = [_best_row(vaults[address], state) for address, state in states.items() if state.apy is not None]
        renewed = {address: states[address].table if address in states else table for address, table in tables.items()}
        return _renewed(rows, renewed, tables)


def _best_row(vault: Vault, state: VaultState) -> BestRow:
    row = yield_pb2.BestYield(
        pool=vault.address,
        apy=state.apy,
        tvl=_dollars(state, state.total),
        symbol=vault.underlying,
        block_height=state.block,
    )
    row.updated_at.FromDatetime(state.updated_at)
    return BestRow(row, tuple(dict.fromkeys((vault.underlying, state.unit.symbol))))


def _dollars(state: VaultState, raw: int) -> float | None:
    """Return what so many of the smallest units are worth in US dollars; None without a price, 0 of nothing."""
    if not raw:
        return 0.0
    return None if state.dollars is None else float(Fraction(raw, 10**state.unit.decimals) * state.dollars)


def _basis(state: VaultState) -> Any:
    return None if state.apy is None else _GROWTH


def _price_tokens(vaults: Iterable[Vault]) -> tuple[Token, ...]:
    return tuple(dict.fromkeys(vault.price_token for vault in vaults if vault.price_token is not None))


def _renewed(answer: Answer, table: Any, before: Any) -> Answer | Renewed:
    """Return the answer, with the table if the read has added to it."""
    return answer if table == before else Renewed(answer, table)
