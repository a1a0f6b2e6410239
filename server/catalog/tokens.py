"""The tokens that the gateway knows (contract section 2.5 and more): names, addresses and decimals on every chain.

One file per token in `data/tokens`, named after its symbol in lower case:

    symbol = "WETH"
    name = "Wrapped Ether"                     # left out: unknown, the symbol stands for it
    price = "ETH"                              # the symbol that prices it; left out: its own
    coingecko = "weth"                         # ids at sources of prices
    defillama = ["coingecko:weth"]
    is_doubtful = true                         # it is not certain which asset the symbol means
    checked = 2026-11-20                       # when the sources were read
    deployments = [
        { chain = "ethereum", address = "0xC0...", decimals = 18, kind = "issued", sources = ["aave"] },
    ]

Further entries of a deployment: `symbol` where the contract calls itself differently, `form` to distinguish two of one
symbol, `is_priced = false` where the token's price does not fit, `mirrors_native = true` for a contract that shows the
own coin's balance once more, `unverified = "address"` or `"decimals"` for what is not confirmed. Kinds: `coin` (the
chain's own), `issued` (by the issuer, or the chain's usual wrapper), `oft` (the issuer's own form for several chains);
`canonical-bridge`, `bridge` and `peg` are claims on a bridge or a custodian.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from server.contracts.address import checksum_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PRICED_SYMBOLS = (
    "BTC",
    "ETH",
    "SOL",
    "USDC",
    "USDT",
    "LINK",
    "HYPE",
    "wstETH",
    "stETH",
    "DOT",
    "TON",
    "NEAR",
    "MORPHO",
    "SSV",
    "MOVR",
    "KSM",
    "sUSDe",
    "MRE7YIELD",
    "sUSDS",
    "APT",
    "STORY",
    "AKT",
    "TRX",
    "EIGEN",
    "HBAR",
    "INIT",
    "IOTA",
    "STRK",
    "MON",
    "SPK",
    "stSPK",
    "GLMR",
    "BABY",
    "FUEL",
    "SSS",
    "SAGA",
    "stLINK",
    "ETHV",
    "ETHW",
)


class TokenMistake(ValueError):
    """An entry of a token's file is missing, unknown or impossible; the text names file, entry and what to write."""


NATIVE = "native"
"""The address of a chain's own coin where it has neither contract nor denom (decisions section 4.1)."""

ISSUED = frozenset({"coin", "issued", "oft"})
"""Kinds of deployments that are the asset itself; every other kind is a claim on a bridge or a custodian."""

KINDS = ISSUED | {"canonical-bridge", "bridge", "peg"}
DOUBTS = frozenset({"address", "decimals"})

_MOST_DECIMALS = 36
_EVM_LENGTH = 42
_FELT_LENGTH = 66
_DEPLOYMENT_ENTRIES = frozenset(
    {
        "chain",
        "symbol",
        "address",
        "decimals",
        "kind",
        "form",
        "sources",
        "is_priced",
        "mirrors_native",
        "unverified",
    }
)


@dataclass(frozen=True, slots=True)
class Deployment:
    """A token on one chain.

    `symbol` is what it calls itself there, which may differ from the token's; `form` distinguishes several of one
    symbol ("Wormhole"). `address` is in the chain's canonical writing, or `NATIVE`. `is_priced` is False where a unit
    is known not to be worth the token's price, or not known to be. `mirrors_native` marks a contract that shows the
    balance of the chain's own coin once more. `unverified` states what only one weak source or nothing confirms:
    "address", "decimals", or "" for neither.
    """

    chain: str
    symbol: str
    address: str
    decimals: int
    kind: str
    sources: tuple[str, ...]
    form: str = ""
    is_priced: bool = True
    mirrors_native: bool = False
    unverified: str = ""

    @property
    def is_bridged(self) -> bool:
        """Whether it is a claim on a bridge or a custodian instead of the asset itself."""
        return self.kind not in ISSUED


def read_deployment(row: dict[str, Any], symbol: str, known_sources: frozenset[str], where: str) -> Deployment:
    """Return a row of a token's file; `symbol` is the token's own.

    Raises:
        TokenMistake: an entry is missing, unknown or impossible; states which one in which file.
    """
    unknown = row.keys() - _DEPLOYMENT_ENTRIES
    if unknown:
        raise TokenMistake(f"{where}: unknown entry {min(unknown)}")
    for entry in ("chain", "address", "decimals", "kind", "sources"):
        if entry not in row:
            raise TokenMistake(f"{where}: {entry} is missing")
    found = Deployment(**{"symbol": symbol, **row, "sources": tuple(row["sources"])})
    if not isinstance(found.decimals, int) or not 0 <= found.decimals <= _MOST_DECIMALS:
        raise TokenMistake(f"{where}: decimals is {found.decimals}; write 0 to {_MOST_DECIMALS}")
    if found.kind not in KINDS:
        raise TokenMistake(f"{where}: kind is {found.kind}; write one of {', '.join(sorted(KINDS))}")
    if found.unverified and found.unverified not in DOUBTS:
        raise TokenMistake(f"{where}: unverified is {found.unverified}; write one of {', '.join(sorted(DOUBTS))}")
    if not found.sources or not known_sources.issuperset(found.sources):
        raise TokenMistake(f"{where}: sources are {', '.join(found.sources) or 'none'}; write codes of sources.toml")
    if found.address == NATIVE and found.kind != "coin":
        raise TokenMistake(f"{where}: only a coin has the address {NATIVE}")
    _check_address(found.address, where)
    return found


def _check_address(address: str, where: str) -> None:
    """Refuse an EVM address without its EIP-55 casing, and a Starknet one that is not 64 lower-case digits."""
    if not address:
        raise TokenMistake(f"{where}: address is empty")
    if not address.startswith("0x"):
        return
    if len(address) == _FELT_LENGTH and address == address.lower():
        return
    if len(address) != _EVM_LENGTH:
        raise TokenMistake(f"{where}: {address} is neither 40 hex digits nor 64 in lower case")
    try:
        canonical = checksum_address(address.lower())
    except ValueError as error:
        raise TokenMistake(f"{where}: {address}: {error}") from None
    if canonical != address:
        raise TokenMistake(f"{where}: {address} lacks its checksum; write {canonical}")


_ENTRIES = frozenset({"symbol", "name", "price", "coingecko", "defillama", "is_doubtful", "checked", "deployments"})


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the catalogue.

    `id` is the stem of its file. `price` is the symbol under which its price is known, its own as a rule.
    `coingecko` and `defillama` are its ids there. `is_doubtful`: it is not certain which asset the symbol means.
    `checked` is the day on which the sources were read. `deployments` are chain by chain in the order of the file; on
    each chain what is confirmed comes first, and the asset itself before claims on it.
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
    """Return the token of a file `<stem>.toml`; one without a known name is called by its symbol.

    Raises:
        TokenMistake: an entry is missing, unknown or impossible; states which one.
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


FOLDER = Path(__file__).parent / "data" / "tokens"


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
    """Return the catalogue in a folder: `sources.toml` and a file per token.

    Raises:
        TokenMistake: something in it is wrong; states what and where.
    """
    sources = folder / "sources.toml"
    known = frozenset(tomllib.loads(sources.read_text(encoding="utf-8")))
    tokens = []
    for path in sorted(set(folder.glob("*.toml")) - {sources}):
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
