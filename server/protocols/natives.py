"""Native coins in protocols: how callers name them, and the token that wraps them."""

from __future__ import annotations

from server.chains.facts import load_facts
from server.errors import ChainUnsupported

ZERO = "0x0000000000000000000000000000000000000000"
"""The native coin in currencies of dex-a V4."""

_NAMES = frozenset({ZERO, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"})
_MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"


def is_native(address: str) -> bool:
    """Return whether a checksummed address stands for the native coin."""
    return address in _NAMES


def wrapped_native(chain: str) -> str:
    """Return the token that wraps the chain's coin; ChainUnsupported for a chain without one."""
    token = load_facts()[chain].wrapped_native
    if token is None:
        raise ChainUnsupported(f"{chain} has no token that wraps its coin", field="chain")
    return token.address


def multicall(chain: str) -> str:
    """Return the chain's Multicall3, which returns a block's time inside of an execution."""
    found = load_facts()[chain].multicall
    return _MULTICALL3 if found is None else found.address
