"""Finding tokens by symbol or name (contract section 4.4, searchTokens)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.catalog.tokens import Deployment, Token, TokenCatalogue


@dataclass(frozen=True, slots=True)
class Match:
    """What a search lists under one symbol: a token, or one of its forms that calls itself differently.

    `price` is the symbol that prices it, None where no price is known to fit.
    """

    id: str
    symbol: str
    name: str
    price: str | None
    deployments: tuple[Deployment, ...]
    is_canonical: bool


class TokenSearch:
    """Searches one catalogue."""

    def __init__(self, catalogue: TokenCatalogue) -> None:
        self._entries = tuple(_entries(catalogue))

    def find(self, text: str, limit: int) -> list[Match]:
        """Return the entries whose symbol or name holds the text in whatever casing, at most `limit`, best first.

        Canonical entries come before forms of them. Within each: symbol equal, symbol beginning so, name equal, a word
        of the name beginning so, symbol holding it, name holding it; then those on more chains, then by symbol.
        """
        wanted = " ".join(text.split()).casefold()
        if not wanted:
            return []
        ranked = [(rank, entry) for entry in self._entries if (rank := _rank(entry, wanted)) is not None]
        ranked.sort(
            key=lambda row: (
                not row[1].is_canonical,
                row[0],
                -len({deployment.chain for deployment in row[1].deployments}),
                row[1].symbol.casefold(),
            )
        )
        return [entry for _, entry in ranked[:limit]]


def _entries(catalogue: TokenCatalogue) -> Iterator[Match]:
    """Yield one entry per symbol, casing aside: every token, then the forms whose symbol no token has."""
    taken = {symbol.casefold() for symbol in catalogue.by_symbol}
    for token in catalogue:
        yield Match(token.id, token.symbol, token.name, token.price, token.deployments, is_canonical=True)
    for token in catalogue:
        for symbol, rows in _forms(token).items():
            if symbol.casefold() not in taken:
                taken.add(symbol.casefold())
                prices = {token.price_of(row) for row in rows}
                price = prices.pop() if len(prices) == 1 else None
                yield Match(f"{token.id}:{symbol.lower()}", symbol, token.name, price, rows, is_canonical=False)


def _forms(token: Token) -> dict[str, tuple[Deployment, ...]]:
    rows: dict[str, list[Deployment]] = {}
    for row in token.deployments:
        if row.symbol != token.symbol:
            rows.setdefault(row.symbol, []).append(row)
    return {symbol: tuple(found) for symbol, found in rows.items()}


def _rank(entry: Match, wanted: str) -> int | None:
    """Return how well the entry fits, 0 best, None where it does not."""
    symbol, name = entry.symbol.casefold(), entry.name.casefold()
    tests = (
        symbol == wanted,
        symbol.startswith(wanted),
        name == wanted,
        name.startswith(wanted) or f" {wanted}" in name,
        wanted in symbol,
        wanted in name,
    )
    return next((rank for rank, fits in enumerate(tests) if fits), None)
