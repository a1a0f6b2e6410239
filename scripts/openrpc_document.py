"""Prints the OpenRPC document of this tree without published methods: `python -m scripts.openrpc_document`."""

from __future__ import annotations

import sys

import orjson

from runtime.operations import load_operations
from transcoder.openrpc import openrpc

if __name__ == "__main__":
    available = [operation for operation in load_operations() if operation.available]
    sys.stdout.buffer.write(orjson.dumps(openrpc(available, "http://localhost:8080", profile="devnet")))
