"""Stake-a."""

from server.protocols.lido.reader import PositionReader
from server.protocols.lido.yields import YIELDS
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "lido",
    {"GetStakeAUserPositions": PositionReader()},
    in_summary="GetStakeAUserPositions",
    member="stake_a",
    yields=YIELDS,
)
