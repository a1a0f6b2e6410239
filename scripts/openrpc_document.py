"""Prints the OpenRPC document of this tree without published methods: `python -m scripts.openrpc_document`.

Streams are described as if they were methods, one event as its result, in the member `x-watches`.
"""

from __future__ import annotations

import sys

import orjson

from runtime.operations import load_operations, load_watches
from transcoder.openrpc import openrpc

if __name__ == "__main__":
    available = [operation for operation in load_operations() if operation.available]
    base = "http://localhost:8080"
    document, watched = (openrpc(chosen, base, profile="devnet") for chosen in (available, load_watches()))
    document["x-watches"] = watched["methods"]
    document["components"]["schemas"] |= watched["components"]["schemas"]
    sys.stdout.buffer.write(orjson.dumps(document))
