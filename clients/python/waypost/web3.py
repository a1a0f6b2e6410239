"""Providers for web3.py over a chain's own node interface: `Web3(WaypostProvider(client, "ethereum"))`.

Nodes' filters live on one node, so the gateway refuses them (`eth_newFilter`): web3's `LocalFilterMiddleware`, which
the function `with_filters` adds, keeps them here. Transactions are not sent (`eth_sendRawTransaction` is refused).
Needs `waypost[web3]`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

try:
    from web3 import AsyncBaseProvider, BaseProvider
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("the providers need web3: pip install 'waypost[web3]'") from missing

from web3._utils.encoding import FriendlyJsonSerde, Web3JsonEncoder

from waypost.errors import WaypostError
from waypost.methods import native_of, value_of

if TYPE_CHECKING:
    from web3.types import RPCEndpoint, RPCResponse

    from waypost.aio import AsyncWaypost
    from waypost.client import Waypost
    from waypost.v1.common_pb2 import NativeJson
    from waypost.v1.raw_pb2 import ChainRpcResponse

REVERTED = 3
REFUSED = -32000
