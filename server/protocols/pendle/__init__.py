"""Yield-a."""

from server.protocols.pendle.reader import ImpliedReader, InfoReader
from server.protocols.pendle.yields import YIELDS
from server.protocols.reader import ProtocolEntry

PROTOCOL = ProtocolEntry(
    "pendle",
    {"GetYieldAV2Info": InfoReader(), "GetYieldsYieldAImpliedApy": ImpliedReader()},
    yields=YIELDS,
)
