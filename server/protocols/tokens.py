"""Tokens in protocols: native coins and what wraps them, names and decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.chains.facts import load_facts
from server.contracts.calls import read_text
from server.contracts.interface import Interface
from server.errors import ChainUnsupported
from server.protocols.plan import ContractUnreadable

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered


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


_TOKEN = Interface.load("server.protocols", "token")
SYMBOL = _TOKEN["symbol"]
DECIMALS = _TOKEN["decimals"]
BALANCE_OF = _TOKEN["balanceOf"]
TOTAL_SUPPLY = _TOKEN["totalSupply"]

# Figures of facts/protocol_reads_2, 2.3, with room.
BALANCE_GAS = 35_000


class TokenFacts(NamedTuple):
    """A token as its own contract describes it; the address is checksummed."""

    address: str
    symbol: str
    decimals: int


def describe(address: str) -> tuple[ContractCall, ContractCall]:
    """Return the calls that `read_facts` reads."""
    return SYMBOL.call(address), DECIMALS.call(address)


def read_facts(symbol: Answered, decimals: Answered) -> TokenFacts:
    """Return a token's description; ContractUnreadable where it has none. Symbols may be `bytes32`."""
    return TokenFacts(symbol.call.to, read_symbol(symbol), int(decimals.read_one(DECIMALS)))


def read_symbol(answered: Answered) -> str:
    """Return a symbol, a string or the `bytes32` of old tokens; ContractUnreadable where there is none."""
    text = read_text(answered.outcome.data) if answered.outcome.succeeded else None
    if text is None:
        raise ContractUnreadable(
            f"the token {answered.call.to} on {answered.chain} has no readable symbol", retry_after_ms=1000
        )
    return text
