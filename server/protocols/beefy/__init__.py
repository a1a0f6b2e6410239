"""Vaults of vault-a."""

from waypost.v1 import yield_protocol_pb2

from server.protocols.beefy.balances import BalanceReader
from server.protocols.beefy.yields import BestReader, VaultReader
from server.protocols.reader import ProtocolEntry
from server.protocols.yields import PoolForm, YieldEntry

PROTOCOL = ProtocolEntry(
    "beefy",
    {},
    yields=YieldEntry(
        yield_protocol_pb2.YIELD_PROTOCOL_VAULT_A,
        ("ethereum", "polygon", "optimism", "base", "avalanche", "arbitrum", "bsc"),
        PoolForm.VAULT_ID,
        yield_protocol_pb2.YIELD_TYPE_VAULT,
        {"GetYieldsVaults": VaultReader(), "GetYieldsBalance": BalanceReader()},
        best=BestReader(),
    ),
)
