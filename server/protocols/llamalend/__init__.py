"""Lending vaults of pool-a."""

from server.protocols.llamalend.reader import MarketReader, PositionReader
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "curve-llamalend",
    {"GetPoolALendMarkets": MarketReader(), "GetPoolALend": PositionReader()},
    in_summary="GetPoolALend",
    member="pool_a_lend",
)
