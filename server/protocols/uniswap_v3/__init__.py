"""Version 3 of dex-a."""

from server.protocols.reader import ProtocolEntry
from server.protocols.uniswap_v3.reader import QuoteReader

PROTOCOL = ProtocolEntry("uniswap-v3", {"GetDexAV3Quote": QuoteReader()})
