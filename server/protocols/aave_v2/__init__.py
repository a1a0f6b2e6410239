"""Version 2 of lend-a."""

from server.protocols.aave_v2.reader import PositionReader
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "aave-v2",
    {"GetLendAV2UserPositions": PositionReader()},
    in_summary="GetLendAV2UserPositions",
    member="lend_a_v2",
)
