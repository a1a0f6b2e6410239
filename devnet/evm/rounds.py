"""The transaction in which every Chainlink feed of a chain reports its price again, through Multicall3."""

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.calls import to_hex
from devnet.evm.feeds import aggregator_of, load_feeds, next_round
from devnet.evm.world import Chain

ROUND_EVERY = 3600.0
"""Seconds after which the feeds report again, whether their price has moved or not: the heartbeat of ETH / USD."""

_AGGREGATE = "aggregate((address,bytes)[])"
_GAS_PER_FEED = 150_000  # it takes 107,000 where there is one feed and 70,000 each where there are many
_TIP = 1_000_000  # wei per gas


def round_transaction(chain: Chain) -> dict[str, object] | None:
    """Return the transaction, None for a chain that has no such feed. It fails as a whole if one feed does."""
    rows = [row for row in load_feeds()["chainlink"] if row["chain"] == chain.slug]
    if not rows:
        return None
    calls = encode(["(address,bytes)[]"], [[(aggregator_of(row), next_round(row)) for row in rows]])
    return {
        "from": known.DEVELOPER,
        "to": known.MULTICALL3,
        "data": to_hex(keccak(text=_AGGREGATE)[:4] + calls),
        "gas": hex(_GAS_PER_FEED * len(rows)),
        "maxFeePerGas": hex(2 * chain.base_fee + _TIP),
        "maxPriorityFeePerGas": hex(_TIP),
        "type": "0x2",
    }
