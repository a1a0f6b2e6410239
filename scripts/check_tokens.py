"""Compares the token catalogue with a chain's nodes, and prints what differs.

`python -m scripts.check_tokens --chain base` asks the nodes of the configuration, the public ones where it names none.
The exit code is 1 when anything differs, is missing or could not be read. Symbols that issuers have changed are
differences too: what to do about one is for a reader to decide.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

from cli.options import add_config, add_network, read_settings
from server.catalog.tokens import NATIVE, load_tokens
from server.chains.capabilities.accounts import ReadsTokenBalances, ReadsTokenMetadata
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import ChainUnknown, GatewayError, NotAToken, NotAvailable, NotFound
from server.upstream.transport import open_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from waypost.v1 import token_pb2

    from runtime.settings import Settings
    from server.catalog.tokens import Deployment, TokenCatalogue
    from server.chains.registry import Chain

Verdict = Literal["agrees", "differs", "missing", "unread"]

# Public nodes limit what one caller may have in flight.
_AT_ONCE = 8


class TokenFacts(NamedTuple):
    """What a chain reports of a token; None for what it does not report."""

    symbol: str | None
    decimals: int | None


class TokenVerdict(NamedTuple):
    """One deployment and what became of asking its chain.

    `missing`: nothing there is a token; `unread`: no node answered. `words`: what differs, or why it was not read;
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

    async def check(row: Deployment) -> TokenVerdict:
        async with turns:
            try:
                facts = await _ask(chain, row.address)
            except (NotAToken, NotFound) as error:
                return TokenVerdict(row, "missing", error.message)
            except NotAvailable:
                raise
            except GatewayError as error:
                return TokenVerdict(row, "unread", f"{error.reason}: {error.message}")
        words = "; ".join(_differences(row, facts))
        return TokenVerdict(row, "differs" if words else "agrees", words)

    rows = [listing.deployment for listing in catalogue.on_chain(chain.slug).values()]
    return await asyncio.gather(*(check(row) for row in rows if row.address != NATIVE))


async def _ask(chain: Chain, address: str) -> TokenFacts:
    try:
        reader = chain.capability(ReadsTokenMetadata)
    except NotAvailable:
        # The token's own balance: what is read with it is its decimals.
        balance = await chain.capability(ReadsTokenBalances).read_token_balance(address, address, ReadView())
        return TokenFacts(None, balance.decimals)
    return _facts(await reader.read_token_metadata(address, ReadView()))


def _facts(answer: token_pb2.GetTokenMetadataResponse) -> TokenFacts:
    kind = answer.WhichOneof("token")
    if kind == "cosmos":
        metadata = answer.cosmos.metadata
        shown = (unit.exponent for unit in metadata.denom_units if unit.denom == metadata.display)
        return TokenFacts(metadata.symbol or None, next(shown, None))
    token = answer.solana if kind == "solana" else answer.evm
    return TokenFacts(token.symbol if token.HasField("symbol") else None, token.decimals)


def _differences(row: Deployment, facts: TokenFacts) -> list[str]:
    found = []
    if facts.decimals is not None and facts.decimals != row.decimals:
        found.append(f"decimals are {facts.decimals}, listed {row.decimals}")
    if facts.symbol is not None and facts.symbol != row.symbol:
        found.append(f"symbol is {facts.symbol!r}, listed {row.symbol!r}")
    return found


async def ask(settings: Settings, slug: str) -> list[TokenVerdict]:
    """Return the verdicts on a chain's tokens; raises ChainUnknown, and NotAvailable for a chain without tokens."""
    async with open_session() as http:
        chains = Chains.load(settings, http)
        try:
            return await check_tokens(chains.get(slug), load_tokens())
        finally:
            await chains.close()


def report(slug: str, verdicts: Iterable[TokenVerdict]) -> list[str]:
    """Return a line for every deployment that does not agree, and one with the counts."""
    found = list(verdicts)
    lines = [
        f"{one.verdict:<8} {one.deployment.symbol:<10} {one.deployment.address}  {one.words}"
        for one in found
        if one.verdict != "agrees"
    ]
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in ("agrees", "differs", "missing")}
    unread = len(found) - sum(counts.values())
    return [
        *lines,
        f"{slug}: {len(found)} tokens, {counts['agrees']} agree, {counts['differs']} differ, "
        f"{counts['missing']} missing, {unread} not read",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one chain and return the exit code."""
    parser = argparse.ArgumentParser(prog="check_tokens", description=__doc__.partition("\n")[0])
    parser.add_argument("--chain", required=True, metavar="SLUG", help="the chain whose tokens are compared")
    add_config(parser)
    add_network(parser)
    given = parser.parse_args(arguments)
    try:
        verdicts = asyncio.run(ask(read_settings(given), given.chain))
    except (ChainUnknown, NotAvailable) as error:
        print(error.message, file=sys.stderr)
        return 1
    print("\n".join(report(given.chain, verdicts)))
    return 0 if verdicts and all(one.verdict == "agrees" for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
