"""What price feeds of the local chains tell, and letting them tell what a test wants."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from devnet.evm.calls import encode_call, to_hex
from devnet.evm.feeds import aggregator_of, load_feeds, round_data, shifted
from devnet.offchain.prices import load_coins

if TYPE_CHECKING:
    from devnet.launcher import Devnet

DOLLARS = {coin.symbol: coin.price for coin in load_coins().values()}
FEEDS = load_feeds()
CHAINLINK = {f"{row['chain']} {row['pair']}": row for row in FEEDS["chainlink"]}
PYTH = {f"{row['chain']} {row['pair']}": row for row in FEEDS["pyth"]}

_LATER = 1_000  # the number of a round: feeds may skip some, and the devnet has told a few by itself


async def tell(devnet: Devnet, row: dict[str, Any], price: str, age: int | None = 0) -> None:
    """Let a feed tell a price as of so many seconds ago; None for a round of Chainlink's that is not complete."""
    if "id" in row:
        whole = shifted(price, 8)
        figures = [bytes.fromhex(row["id"][2:]), whole, abs(whole) // 1000, -8, age]
        to, data = row["address"], encode_call("report(bytes32,int64,uint64,int32,uint256)", figures)
    else:
        told_at = 0 if age is None else int(time.time()) - age
        to, data = aggregator_of(row), round_data(row, price, told_at, number=_LATER)
    node = devnet.nodes[row["chain"]]
    sender = (await node.call("eth_accounts"))[0]
    sent = await node.call("eth_sendTransaction", {"from": sender, "to": to, "data": to_hex(data)})
    await devnet.mine(row["chain"])
    assert int((await node.call("eth_getTransactionReceipt", sent))["status"], 16) == 1
