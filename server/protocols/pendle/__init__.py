"""Yield-a."""

from server.protocols.pendle.reader import InfoReader
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry("pendle", {"GetYieldAV2Info": InfoReader()})
