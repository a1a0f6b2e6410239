"""Large transfers of a wallet: `python examples/whale_watch.py localhost:50051 KEY CHAIN WALLET AT_LEAST`.

AT_LEAST counts whole tokens. It looks every ten seconds, until it is interrupted.
"""

from __future__ import annotations

import sys
import time
from decimal import Decimal

from waypost import Waypost, WaypostError

SECONDS = 10


def watch(client: Waypost, chain: str, wallet: str, at_least: Decimal, first: int) -> int:
    """Print the large transfers from block `first` on; return the block to go on from."""
    head = client.blocks.get_block_height(chain=chain).height
    if head >= first:
        window = client.logs.iterate_transfers(chain=chain, address=wallet, from_block=first, to_block=head)
        for transfer in window:
            if transfer.HasField("amount") and Decimal(transfer.amount) >= at_least:
                way = f"{transfer.from_address} -> {transfer.to}"
                print(f"{transfer.block_number} {transfer.amount} {transfer.symbol} {way}", flush=True)
    return max(first, head + 1)


def main(target: str, key: str, chain: str, wallet: str, at_least: str) -> None:
    """Watch from the newest block on."""
    with Waypost(target, key, quota_wait=60) as client:
        block = client.blocks.get_block_height(chain=chain).height
        while True:
            try:
                block = watch(client, chain, wallet, Decimal(at_least), block)
            except WaypostError as error:
                print(f"again in {SECONDS} seconds: {error.message}", file=sys.stderr)
            time.sleep(SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
