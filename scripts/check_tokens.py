"""Compares the token catalogue with a chain's nodes, and prints what differs.

`python -m scripts.check_tokens --chain base` asks the nodes of the configuration, the public ones where it names none.
The exit code is 1 when anything differs, is missing or could not be read. Symbols that issuers have changed are
differences too: what to do about one is for a reader to judge.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from cli.options import add_config, add_network, read_settings
from server.catalog.tokens import load_tokens
from server.chains.registry import Chains
from server.errors import ChainUnknown, NotAvailable
from server.sources.token_check import TokenVerdict, check_tokens
from server.upstream.transport import open_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.settings import Settings


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
