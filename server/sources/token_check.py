"""Compares the token catalogue with what a chain's nodes say."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, NamedTuple

from server.catalog.tokens import NATIVE
from server.chains.capabilities import ReadsTokenBalances, ReadsTokenMetadata
from server.chains.view import ReadView
from server.errors import GatewayError, NotAToken, NotAvailable, NotFound

if TYPE_CHECKING:
    from waypost.v1 import token_pb2

    from server.catalog.tokens import Deployment, TokenCatalogue
    from server.chains.registry import Chain

Verdict = Literal["agrees", "differs", "missing", "unread"]

# Public nodes limit what one caller may have in flight.
_AT_ONCE = 8


class Told(NamedTuple):
    """What a chain says of a token; None for what it does not say."""

    symbol: str | None
    decimals: int | None


class TokenVerdict(NamedTuple):
    """One deployment and what became of asking its chain.

    `missing`: nothing there is a token; `unread`: no node answered. `words` says what differs, or why it was not read;
    empty where all agrees.
    """

    deployment: Deployment
    verdict: Verdict
    words: str


async def check_tokens(chain: Chain, catalogue: TokenCatalogue) -> list[TokenVerdict]:
    """Return a verdict on every deployment of the catalogue on a chain, the unverified ones included.

    A chain without on-chain symbols is asked for decimals alone. Raises NotAvailable for one without tokens.
    """
    turns = asyncio.Semaphore(_AT_ONCE)

    async def judge(row: Deployment) -> TokenVerdict:
        async with turns:
            try:
                told = await _ask(chain, row.address)
            except (NotAToken, NotFound) as error:
                return TokenVerdict(row, "missing", error.message)
            except NotAvailable:
                raise
            except GatewayError as error:
                return TokenVerdict(row, "unread", f"{error.reason}: {error.message}")
        words = "; ".join(_differences(row, told))
        return TokenVerdict(row, "differs" if words else "agrees", words)

    rows = [listing.deployment for listing in catalogue.on_chain(chain.slug).values()]
    return await asyncio.gather(*(judge(row) for row in rows if row.address != NATIVE))


async def _ask(chain: Chain, address: str) -> Told:
    try:
        reader = chain.capability(ReadsTokenMetadata)
    except NotAvailable:
        # The token's own balance: what is read with it is its decimals.
        balance = await chain.capability(ReadsTokenBalances).read_token_balance(address, address, ReadView())
        return Told(None, balance.decimals)
    return _told(await reader.read_token_metadata(address, ReadView()))


def _told(answer: token_pb2.GetTokenMetadataResponse) -> Told:
    kind = answer.WhichOneof("token")
    if kind == "cosmos":
        metadata = answer.cosmos.metadata
        shown = (unit.exponent for unit in metadata.denom_units if unit.denom == metadata.display)
        return Told(metadata.symbol or None, next(shown, None))
    token = answer.solana if kind == "solana" else answer.evm
    return Told(token.symbol if token.HasField("symbol") else None, token.decimals)


def _differences(row: Deployment, told: Told) -> list[str]:
    found = []
    if told.decimals is not None and told.decimals != row.decimals:
        found.append(f"decimals are {told.decimals}, listed {row.decimals}")
    if told.symbol is not None and told.symbol != row.symbol:
        found.append(f"symbol is {told.symbol!r}, listed {row.symbol!r}")
    return found
