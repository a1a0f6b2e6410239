"""Vaults of vault-b, of both versions."""

from waypost.v1 import yield_protocol_pb2

from server.protocols.reader import ProtocolEntry
from server.protocols.yearn.reader import BalanceReader, BestReader, VaultReader
from server.protocols.yields import PoolForm, YieldEntry

PROTOCOL = ProtocolEntry(
    "yearn",
    {},
    yields=YieldEntry(
        yield_protocol_pb2.YIELD_PROTOCOL_VAULT_B,
        ("ethereum", "arbitrum"),
        PoolForm.ADDRESS,
        yield_protocol_pb2.YIELD_TYPE_VAULT,
        {"GetYieldsVaults": VaultReader(), "GetYieldsBalance": BalanceReader()},
        best=BestReader(),
    ),
)
