"""Vaults of vault-d of EIP-4626: what a share is worth, its rate against share prices that the gateway stored itself.

Nodes of HyperEVM do not have the past, so what a share was worth is known only where this gateway has noted it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from server.apis.documents import DocumentRequest
from server.contracts.interface import Interface
from server.protocols.hyperbeat.vault import VaultState
from server.protocols.plan import ContractUnreadable, Token
from server.protocols.shares import MANY_SHARES, WEEK_SECONDS, growth_apy
from server.protocols.tokens import TokenFacts, describe, read_facts
from server.protocols.yields import block_clock, oldest, read_block_time
from server.yields.share_prices import NAME, SharePrice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices
    from server.yields.share_prices import StoredHistory

_VAULT = Interface.load("server.protocols.hyperbeat", "vault")
_ASSET = _VAULT["asset"]
_TOTAL = _VAULT["totalAssets"]
_WORTH = _VAULT["convertToAssets"]

# Some 47,000 per market of the vault (facts/protocol_reads_2, 2.3), of which there are up to 30.
_WORTH_GAS = 1_500_000


@dataclass(frozen=True, slots=True)
class ShareVault:
    """See `Vault`."""

    chain: str
    address: str
    name: str
    underlying: str
    asset: str

    @property
    def price_token(self) -> Token:
        """Return the asset."""
        return Token(self.chain, self.asset)

    @property
    def documents(self) -> tuple[DocumentRequest, ...]:
        """Return the stored share prices."""
        return (DocumentRequest(NAME, (self.chain, self.address)),)

    def describe(self) -> tuple[ContractCall, ...]:
        """Return the calls that `read_table` reads."""
        return describe(self.asset)

    def read_table(self, answered: Sequence[Answered]) -> TokenFacts:
        """Return what the asset is called."""
        return read_facts(*answered)

    def calls(self, table: TokenFacts) -> tuple[ContractCall, ...]:
        """Return the clock, the asset, all assets and the worth of shares."""
        return (
            block_clock(self.chain),
            _ASSET.call(self.address),
            _TOTAL.call(self.address, gas=_WORTH_GAS),
            _WORTH.call(self.address, MANY_SHARES, gas=_WORTH_GAS),
        )

    def read(self, table: TokenFacts, outcomes: Outcomes, prices: TokenPrices, *, has_rate: bool) -> VaultState:
        """Return the state; see `Vault`."""
        clock, asset, total, worth = outcomes[self.address]
        if asset.read_one(_ASSET) != self.asset:
            raise ContractUnreadable(
                f"the vault {self.address} on {self.chain} holds another asset than it is known for"
            )
        now = read_block_time(clock)
        current = SharePrice(now, worth.read_one(_WORTH))
        price = prices.get(self.price_token)
        return VaultState(
            unit=table,
            assets=current.assets,
            shares=MANY_SHARES,
            total=total.read_one(_TOTAL),
            dollars=None if price is None else Fraction(price.value),
            failure=None,
            apy=self._apy(current, outcomes) if has_rate else None,
            updated_at=oldest(now, None if price is None else price.updated_at),
            block=outcomes.block_of(self.address),
            table=table,
        )

    def _apy(self, current: SharePrice, outcomes: Outcomes) -> float | None:
        """Return the growth since the newest stored price that is old enough, and have the current one stored."""
        document = outcomes.find_document(*self.documents)
        if document is None or current.assets <= 0:
            return None
        history: StoredHistory = document.value
        earlier = history.last_before(current.at - timedelta(seconds=WEEK_SECONDS))
        history.observe(current)
        if earlier is None:
            return None
        return growth_apy(earlier.assets, current.assets, (current.at - earlier.at).total_seconds())
