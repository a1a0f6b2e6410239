"""A wallet over all chains, on the terminal: `python examples/portfolio.py localhost:50051 KEY ADDRESS [CHAIN...]`."""

from __future__ import annotations

import sys

from waypost import Waypost, error_of


def main(target: str, key: str, address: str, *chains: str) -> None:
    """Print the wallet's assets by chain with what they are worth."""
    with Waypost(target, key) as client:
        answer = client.portfolios.get_portfolio(address=address, chains=chains)
    for chain in answer.chains:
        error = error_of(chain)
        if error is not None:
            print(f"{chain.chain}: {error.message}")
            continue
        for asset in chain.value.assets:
            worth = f"{asset.value_usd:>14,.2f}" if asset.HasField("value_usd") else f"{'no price':>14}"
            print(f"{chain.chain:<12} {asset.symbol:<10} {asset.balance:>32} {worth}")
    print(f"{'in US dollars':<56} {answer.total_usd:>14,.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
