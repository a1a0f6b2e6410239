"""One token: what it is called, what prices it, where it lives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from server.catalog.tokens.deployment import Deployment, read_deployment
from server.catalog.tokens.mistakes import TokenMistake

_ENTRIES = frozenset({"symbol", "name", "price", "coingecko", "defillama", "is_doubtful", "checked", "deployments"})


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the catalogue.

    `id` is the stem of its file. `price` is the symbol under which its price is known, its own as a rule.
    `coingecko` and `defillama` are its ids there. `is_doubtful` says that it is not certain which asset the symbol
    means. `checked` is the day on which the sources were read. `deployments` are chain by chain in the order of the
    file; on each chain what is confirmed comes first, and the asset itself before claims on it.
    """

    id: str
    symbol: str
    name: str
    price: str
    coingecko: str | None
    defillama: tuple[str, ...]
    is_doubtful: bool
    checked: date
    deployments: tuple[Deployment, ...]

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains that have it, those left out where only an unverified address is known."""
        return tuple(dict.fromkeys(row.chain for row in self.deployments if row.unverified != "address"))

    def price_of(self, deployment: Deployment) -> str | None:
        """Return the symbol that prices a unit of one of its deployments, None where no price is known to fit."""
        return self.price if deployment.is_priced else None


def read_token(stem: str, table: dict[str, Any], known_sources: frozenset[str]) -> Token:
    """Return the token of a file `<stem>.toml`; one whose name nobody knows is called by its symbol.

    Raises:
        TokenMistake: an entry is missing, unknown or impossible; says which one.
    """
    where = f"{stem}.toml"
    unknown = table.keys() - _ENTRIES
    if unknown:
        raise TokenMistake(f"{where}: unknown entry {min(unknown)}")
    symbol, checked = table.get("symbol"), table.get("checked")
    if not isinstance(symbol, str) or symbol.lower() != stem:
        raise TokenMistake(f"{where}: symbol is {symbol}; the file is named after it, in lower case")
    if not isinstance(checked, date):
        raise TokenMistake(f"{where}: checked is no date")
    deployments = tuple(
        read_deployment(row, symbol, known_sources, f"{where}, deployment {number}")
        for number, row in enumerate(table.get("deployments", ()), 1)
    )
    return Token(
        id=stem,
        symbol=symbol,
        name=table.get("name", symbol),
        price=table.get("price", symbol),
        coingecko=table.get("coingecko"),
        defillama=tuple(table.get("defillama", ())),
        is_doubtful=table.get("is_doubtful", False),
        checked=checked,
        deployments=_best_first(deployments),
    )


def _best_first(rows: tuple[Deployment, ...]) -> tuple[Deployment, ...]:
    chains = list(dict.fromkeys(row.chain for row in rows))
    return tuple(sorted(rows, key=lambda row: (chains.index(row.chain), bool(row.unverified), row.is_bridged)))
