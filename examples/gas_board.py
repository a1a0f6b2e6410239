"""What a transfer costs on every EVM chain, cheapest first: `python examples/gas_board.py localhost:50051 KEY`."""

from __future__ import annotations

import sys

from waypost import Waypost


def main(target: str, key: str) -> None:
    """Print a row for each chain."""
    with Waypost(target, key) as client:
        rows = client.gas.compare_gas().results
    print(f"{'chain':<12} {'base gwei':>12} {'tip gwei':>12} {'US dollars':>12}")
    for row in rows:
        cost = f"{row.estimated_tx_cost_usd:.6f}" if row.HasField("estimated_tx_cost_usd") else "unknown"
        print(f"{row.chain:<12} {row.base_fee_gwei:>12.6f} {row.priority_fee_gwei:>12.6f} {cost:>12}")


if __name__ == "__main__":
    main(*sys.argv[1:])
