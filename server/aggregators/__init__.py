"""Aggregators of exchanges: off-chain APIs that find the best way of a swap (contract section 4.14)."""
