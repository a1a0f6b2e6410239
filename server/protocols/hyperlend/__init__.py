"""Lend-d, a fork of version 3 of lend-a: pools are named by the addresses of their tokens."""

from waypost.v1 import yield_protocol_pb2

from server.protocols.pooled_yields import pooled_yields
from server.protocols.reader import ProtocolEntry
from server.protocols.yields import PoolForm

PROTOCOL = ProtocolEntry(
    "hyperlend",
    {},
    yields=pooled_yields(
        yield_protocol_pb2.YIELD_PROTOCOL_LEND_D,
        "hyperlend",
        "lend-d",
        # Contract section 4.12.
        ("hyperliquid",),
        PoolForm.ADDRESS,
        ("GetYieldsLending", "GetYieldsBalance"),
    ),
)
