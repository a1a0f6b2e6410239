"""What a vault of vault-d is to the readers, whichever kind it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from fractions import Fraction

    from server.apis.documents import DocumentRequest
    from server.contracts.calls import ContractCall
    from server.errors import PriceUnavailable
    from server.protocols.plan import Answered, More, Outcomes, Token
    from server.protocols.reader import TokenPrices
    from server.protocols.tokens import TokenFacts


class VaultState(NamedTuple):
    """A vault at a block.

    `unit` is the token that its holdings are stated in, `assets` of its smallest units being those of `shares` of the
    vault's; `total` are those of all shares. `dollars` is the price of a whole unit, None where none is known, and
    `failure` why the issuer's own price is none. `apy` is None where no earlier price is known. `table` is the vault's
    table after this read.
    """

    unit: TokenFacts
    assets: int
    shares: int
    total: int
    dollars: Fraction | None
    failure: PriceUnavailable | None
    apy: float | None
    updated_at: datetime
    block: int
    table: Any


class Vault(Protocol):
    """A vault of the table. Its reads are groups of names that begin with its address."""

    @property
    def address(self) -> str:
        """Return the vault's address, checksummed."""
        ...

    @property
    def underlying(self) -> str:
        """Return the symbol of what is paid in."""
        ...

    @property
    def price_token(self) -> Token | None:
        """Return the token whose price values the vault's units; None where they count in dollars."""
        ...

    @property
    def documents(self) -> tuple[DocumentRequest, ...]:
        """Return what its rate needs besides the chain."""
        ...

    def describe(self) -> tuple[ContractCall, ...]:
        """Return the calls that `read_table` reads."""
        ...

    def read_table(self, answered: Sequence[Answered]) -> Any:
        """Return the vault's table; ContractUnreadable where it is none."""
        ...

    def calls(self, table: Any) -> tuple[ContractCall, ...]:
        """Return the calls of the group that is named by the address; no wallet stands in them."""
        ...

    def read(self, table: Any, outcomes: Outcomes, prices: TokenPrices, *, has_rate: bool) -> VaultState | More:
        """Return the vault's state, with its rate only where that is asked for, or what has to be read besides.

        Raises:
            ContractUnreadable: a contract does not answer as it does.
        """
        ...
