"""Yields of lend-a: pools are named by the symbols of their assets."""

from waypost.v1 import yield_protocol_pb2

from server.protocols.pooled_yields import pooled_yields
from server.protocols.yields import PoolForm

YIELDS = pooled_yields(
    yield_protocol_pb2.YIELD_PROTOCOL_LEND_A,
    "aave-v3",
    "lend-a",
    # Contract section 4.12.
    ("ethereum", "polygon", "optimism", "base", "avalanche", "arbitrum"),
    PoolForm.SYMBOL,
    ("GetYieldsLending", "GetYieldsBalance", "GetYieldsPrice"),
)
