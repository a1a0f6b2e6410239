"""Fifty balances in one request: `python examples/batch_of_reads.py localhost:50051 KEY`."""

from __future__ import annotations

import sys

from waypost import Waypost, WaypostError
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse

CHAINS = ("ethereum", "base", "arbitrum", "optimism", "polygon")


def main(target: str, key: str) -> None:
    """Print what each of the reads came to."""
    accounts = [(chain, f"0x{number:040x}") for number in range(1, 11) for chain in CHAINS]
    with Waypost(target, key) as client:
        answers = client.execute(GetBalanceRequest(chain=chain, address=wallet) for chain, wallet in accounts)
    for (chain, wallet), answer in zip(accounts, answers, strict=True):
        if isinstance(answer, WaypostError):
            print(f"{chain:9} {wallet} {answer.reason}: {answer.message}")
        elif isinstance(answer, GetBalanceResponse):
            print(f"{chain:9} {wallet} {answer.balance} {answer.token}")


if __name__ == "__main__":
    main(*sys.argv[1:])
