"""Version 2 of lend-b."""

from server.protocols.compound_v2.reader import PositionReader
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "compound-v2",
    {"GetLendBV2UserPositions": PositionReader()},
    in_summary="GetLendBV2UserPositions",
    member="lend_b_v2",
)
