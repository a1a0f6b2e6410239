"""vault-d: vaults on HyperEVM, tokens with a data feed and vaults of EIP-4626."""

from waypost.v1 import yield_protocol_pb2

from server.protocols.hyperbeat.reader import BalanceReader, BestReader, VaultReader
from server.protocols.reader import ProtocolEntry
from server.protocols.yields import PoolForm, YieldEntry

PROTOCOL = ProtocolEntry(
    "hyperbeat",
    {},
    yields=YieldEntry(
        protocol=yield_protocol_pb2.YIELD_PROTOCOL_VAULT_D,
        chains=("hyperliquid",),
        pool=PoolForm.ADDRESS,
        type=yield_protocol_pb2.YIELD_TYPE_VAULT,
        readers={"GetYieldsVaults": VaultReader(), "GetYieldsBalance": BalanceReader()},
        best=BestReader(),
    ),
)
