"""What the benchmark asks: each time for another address, so that nothing is cached or joined by accident."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING

import orjson
from waypost.v1 import account_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"


def addresses() -> Iterator[str]:
    """Yield addresses that were never asked for before."""
    salt = secrets.token_hex(8)
    for number in itertools.count():
        yield f"0x{salt}{number:024x}"


FRESH = addresses()


def balance_request(chain: str = "ethereum") -> dict[str, object]:
    """Return one JSON-RPC request for the balance of a fresh address."""
    params = {"chain": chain, "address": next(FRESH)}
    return {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": params}


def single(chain: str = "ethereum") -> Callable[[], bytes]:
    """Return a maker of bodies with one request."""
    return lambda: orjson.dumps(balance_request(chain))


def batch(chain: str = "ethereum") -> Callable[[], bytes]:
    """Return a maker of bodies with a batch of fifty."""
    return lambda: orjson.dumps([balance_request(chain) for _ in range(50)])


def metadata_request() -> bytes:
    """Return the body of the same request every time: the gateway has its answer in its cache."""
    params = {"chain": "ethereum", "address": USDC}
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "getTokenMetadata", "params": params})


def node_request() -> bytes:
    """Return the request that a bare node answers."""
    params = [next(FRESH), "latest"]
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": params})


def same_message() -> account_pb2.GetBalanceRequest:
    """Return the gRPC request for the same address every time: answered without the node."""
    return account_pb2.GetBalanceRequest(chain="ethereum", address=USDC)


def message() -> account_pb2.GetBalanceRequest:
    """Return the gRPC request for a fresh address."""
    return account_pb2.GetBalanceRequest(chain="ethereum", address=next(FRESH))
