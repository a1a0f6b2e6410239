"""Names of Ethereum: ENS, read through its Universal Resolver, off-chain records included (contract section 4.5)."""

from server.names.gateways import Gateways
from server.names.names import Names

__all__ = ["Gateways", "Names"]
