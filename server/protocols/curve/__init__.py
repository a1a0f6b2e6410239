"""Pools of pool-a."""

from server.protocols.curve.reader import PoolReader
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry("curve", {"GetPoolAPools": PoolReader()})
