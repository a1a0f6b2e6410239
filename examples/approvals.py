"""What spenders may move, and how to take it back: `python examples/approvals.py localhost:50051 KEY CHAIN WALLET`."""

from __future__ import annotations

import sys

from waypost import Waypost


def main(target: str, key: str, chain: str, wallet: str) -> None:
    """Print each approval with the unsigned transaction that revokes it."""
    with Waypost(target, key) as client:
        for approval in client.approvals.get_approvals(chain=chain, address=wallet).approvals:
            token, spender = approval.token, approval.spender
            amount = "without limit" if approval.is_unlimited else approval.allowance
            print(f"{spender.name} may move {token.symbol}: {amount}")
            revoke = client.approvals.get_approvals_revoke(
                chain=chain, address=wallet, token=token.address, spender=spender.address
            )
            print(f"  sign to revoke: to {revoke.to} data {revoke.data}")


if __name__ == "__main__":
    main(*sys.argv[1:])
