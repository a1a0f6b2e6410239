"""Markets and vaults of lend-c."""

from server.protocols.morpho.listing import VaultDataReader, VaultsReader
from server.protocols.morpho.reader import PositionReader
from server.protocols.morpho.yields import YIELDS
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "morpho",
    {
        "GetLendCUserPositions": PositionReader(),
        "GetLendCVaults": VaultsReader(),
        "GetLendCVaultData": VaultDataReader(),
    },
    in_summary="GetLendCUserPositions",
    member="lend_c",
    yields=YIELDS,
)
