"""All tokens, by symbol and by chain."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from server.catalog.symbols import PRICED_SYMBOLS
from server.catalog.tokens.mistakes import TokenMistake
from server.catalog.tokens.token import Token, read_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from server.catalog.tokens.deployment import Deployment

FOLDER = Path(__file__).parent


class Listing(NamedTuple):
    """A deployment with the token that it is of."""

    token: Token
    deployment: Deployment


class TokenCatalogue:
    """The tokens in alphabetical order of their ids, those of the contract's set first, in its order.

    Raises:
        TokenMistake: two tokens share an address, or a symbol of the set is missing.
    """

    def __init__(self, tokens: Iterable[Token]) -> None:
        by_symbol = {token.symbol: token for token in tokens}
        missing = [symbol for symbol in PRICED_SYMBOLS if symbol not in by_symbol]
        if missing:
            raise TokenMistake(f"the set of contract section 2.5 has {missing[0]}, which has no file")
        others = sorted(by_symbol.keys() - set(PRICED_SYMBOLS), key=str.lower)
        self.by_symbol: Mapping[str, Token] = {symbol: by_symbol[symbol] for symbol in (*PRICED_SYMBOLS, *others)}
        self._by_chain: dict[str, dict[str, Listing]] = {}
        for token in self:
            for row in token.deployments:
                listed = self._by_chain.setdefault(row.chain, {})
                if row.address in listed:
                    other = listed[row.address].token.symbol
                    raise TokenMistake(f"{row.chain} {row.address} is listed twice: {other} and {token.symbol}")
                listed[row.address] = Listing(token, row)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.by_symbol.values())

    def on_chain(self, slug: str) -> Mapping[str, Listing]:
        """Return what a chain has, by address in the chain's canonical writing."""
        return self._by_chain.get(slug, {})

    def coin(self, slug: str) -> Listing | None:
        """Return a chain's own coin; None where the catalogue does not know it."""
        return next((listing for listing in self.on_chain(slug).values() if listing.deployment.kind == "coin"), None)


def read_catalogue(folder: Path) -> TokenCatalogue:
    """Return the catalogue in a folder: `sources.toml` and a file per token in `data`.

    Raises:
        TokenMistake: something in it is wrong; says what and where.
    """
    known = frozenset(tomllib.loads((folder / "sources.toml").read_text(encoding="utf-8")))
    tokens = []
    for path in sorted((folder / "data").glob("*.toml")):
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise TokenMistake(f"{path.name}: {error}") from None
        tokens.append(read_token(path.stem, table, known))
    return TokenCatalogue(tokens)


@cache
def load_tokens() -> TokenCatalogue:
    """Return the catalogue that comes with the gateway."""
    return read_catalogue(FOLDER)
