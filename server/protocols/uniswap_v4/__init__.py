"""Version 4 of dex-a."""

from server.protocols.reader import ProtocolEntry
from server.protocols.uniswap_v4.reader import QuoteReader

PROTOCOL = ProtocolEntry("uniswap-v4", {"GetDexAV4Quote": QuoteReader()})
