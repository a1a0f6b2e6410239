"""The tokens of the lending markets, and the account that brings them into being while a world is built."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from devnet import known, known_marketplace
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.placement import Call, Placement
from devnet.evm.world import Chain, Token
from devnet.known_lending import TREASURY

TOKENS = Path(__file__).with_name("market_tokens.toml")

_TOKEN_SET_UP = "initialize(string,string,uint8,address)"


@cache
def market_tokens() -> dict[str, tuple[Token, ...]]:
    """Return the rows of market_tokens.toml by chain."""
    tables = tomllib.loads(TOKENS.read_text(encoding="utf-8"))
    return {slug: tuple(Token(**row) for row in rows) for slug, rows in tables.items()}


def token_of(chain: Chain, symbol: str) -> Token:
    """Return a chain's token by symbol, those of its lending markets included. Raises KeyError."""
    for token in (*chain.tokens, *market_tokens().get(chain.slug, ())):
        if token.symbol == symbol:
            return token
    raise KeyError(f"{chain.slug} has no {symbol} on the devnet")


def market_token_placements(slug: str) -> Iterator[Placement]:
    """Yield the tokens that stand on a chain for its lending markets alone; DEVELOPER may mint them."""
    for token in market_tokens().get(slug, ()):
        if token.build == "openzeppelin":
            arguments = encode_arguments("constructor(string,string)", [token.name, token.symbol])
            yield Placement(token.address, original("erc20") + arguments)
        elif token.build == "token":
            set_up = encode_call(_TOKEN_SET_UP, [token.name, token.symbol, token.decimals, known.DEVELOPER])
            yield Placement(token.address, stand_ins()["token"], calls=(Call(known.DEVELOPER, set_up),))


async def provide(chain: Chain, builder: Builder, symbol: str, amount: int, spender: str) -> Token:
    """Give TREASURY so many units of a token and allow a spender to take them; return the token."""
    token = token_of(chain, symbol)
    if token.address == chain.wrapped_native.address:
        await builder.call(TREASURY, token.address, "deposit()", value=amount)
    elif token.address in (known_marketplace.STETH, known_marketplace.WSTETH):
        await _stake(builder, token.address, amount)
    else:
        await builder.call(known.DEVELOPER, token.address, "mint(address,uint256)", TREASURY, amount)
    await builder.call(TREASURY, token.address, "approve(address,uint256)", spender, amount)
    return token


async def give_back(builder: Builder, holder: str, token: Token, amount: int) -> None:
    """Have a wallet hand over to TREASURY what it has borrowed."""
    await builder.call(holder, token.address, "transfer(address,uint256)", TREASURY, amount)


async def _stake(builder: Builder, token: str, amount: int) -> None:
    """Stake ether for TREASURY, and wrap it where that is asked for; a wrapped token is worth less than two ether."""
    steth, wsteth = known_marketplace.STETH, known_marketplace.WSTETH
    await builder.call(TREASURY, steth, "submit(address)", "0x" + "00" * 20, value=2 * amount)
    if token == wsteth:
        await builder.call(TREASURY, steth, "approve(address,uint256)", wsteth, 2 * amount)
        await builder.call(TREASURY, wsteth, "wrap(uint256)", 2 * amount)
