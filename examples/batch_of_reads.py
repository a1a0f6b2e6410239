"""Fifty balances in one request: `python examples/batch_of_reads.py localhost:50051 KEY`."""

from __future__ import annotations

import sys

from waypost import Waypost, WaypostError
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse


def main(target: str, key: str) -> None:
    """Print what each of the reads came to."""
    wallets = [f"0x{0x10000 + number:040x}" for number in range(50)]
    with Waypost(target, key) as client:
        answers = client.execute(GetBalanceRequest(chain="ethereum", address=wallet) for wallet in wallets)
    for wallet, answer in zip(wallets, answers, strict=True):
        if isinstance(answer, WaypostError):
            print(wallet, answer.reason, answer.message)
        elif isinstance(answer, GetBalanceResponse):
            print(wallet, answer.balance, answer.token)


if __name__ == "__main__":
    main(*sys.argv[1:])
