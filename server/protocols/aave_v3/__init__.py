"""Version 3 of lend-a."""

from server.protocols.aave_v3.reader import PositionReader
from server.protocols.aave_v3.yields import YIELDS
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "aave-v3",
    {"GetLendAV3UserPositions": PositionReader()},
    in_summary="GetLendAV3UserPositions",
    member="lend_a_v3",
    yields=YIELDS,
)
