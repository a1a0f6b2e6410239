"""Version 2 of dex-a."""

from server.protocols.reader import ProtocolEntry
from server.protocols.uniswap_v2.reader import QuoteReader

PROTOCOL = ProtocolEntry("uniswap-v2", {"GetDexAV2Quote": QuoteReader()})
