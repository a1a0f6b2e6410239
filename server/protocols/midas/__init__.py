"""tokenized-a: what a share of a fund is worth."""

from waypost.v1 import yield_protocol_pb2

from server.protocols.midas.reader import PriceReader
from server.protocols.reader import ProtocolEntry
from server.protocols.yields import PoolForm, YieldEntry

PROTOCOL = ProtocolEntry(
    "midas",
    {},
    yields=YieldEntry(
        protocol=yield_protocol_pb2.YIELD_PROTOCOL_TOKENIZED_A,
        chains=("ethereum",),
        pool=PoolForm.TOKEN_NAME,
        type=yield_protocol_pb2.YIELD_TYPE_VAULT,
        readers={"GetYieldsPrice": PriceReader()},
    ),
)
