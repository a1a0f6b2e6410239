"""Version 3 of lend-b."""

from server.protocols.compound_v3.reader import PositionReader
from server.protocols.compound_v3.yields import YIELDS
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "compound-v3",
    {"GetLendBV3UserPositions": PositionReader()},
    in_summary="GetLendBV3UserPositions",
    member="lend_b_v3",
    yields=YIELDS,
)
