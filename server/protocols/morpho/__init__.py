"""Markets of lend-c."""

from server.protocols.morpho.reader import PositionReader
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "morpho",
    {"GetLendCUserPositions": PositionReader()},
    in_summary="GetLendCUserPositions",
    member="lend_c",
)
