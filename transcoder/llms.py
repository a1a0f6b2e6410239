"""`/llms.txt`: the whole gateway in a text that a language model reads at once (https://llmstxt.org)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from runtime.operations import load_operations, load_watches
from transcoder.fields import fields_of
from transcoder.openrpc import APPS, PATH, service_of, summary_of
from transcoder.params import documented_order
from transcoder.schemas import Schemas

if TYPE_CHECKING:
    from runtime.operations import Operation

_BASE = "{base}"
_HEAD = f"""\
# Waypost

> Read-only data from 24 blockchains over two faces with the same answers: JSON-RPC 2.0 over HTTP, and gRPC.

JSON-RPC: POST {_BASE}/<API_KEY>/v1 with
{{"jsonrpc":"2.0","id":1,"method":"getBlockHeight","params":{{"chain":"ethereum"}}}}
or up to 50 such requests in an array. The key `demo` needs no registration and takes one request per second. A result
is {{"data":...}}. Parameters are given by name, or by position in the order shown below; `?` marks those that may be
left out, `[...]` an array of objects, each with these members.

Programs written for nodes (viem, ethers, web3.py, starknet.js, ...): {_BASE}/<API_KEY>/rpc/<chain> is a chain's own
JSON-RPC, read methods alone, with the node's own errors.

Streams (`watch...` below) are not posted: GET {_BASE}/<API_KEY>/v1/stream/watchBlocks?chain=ethereum sends events
(server-sent events; `Last-Event-ID` or `?cursor=` goes on after one), and the WebSocket {_BASE}/<API_KEY>/v1/ws takes
{{"jsonrpc":"2.0","id":1,"method":"subscribe","params":["watchBlocks",{{"chain":"ethereum"}}]}} beside all operations.

gRPC: the operation's rpc in package waypost.v1, described by server reflection, with the key as metadata `x-api-key`.

Errors: `code` is an HTTP-style number, `data.reason` a stable word, `data.field` the parameter, `data.retryAfterMs`
when to come back. 429 RATE_LIMITED and 503 UPSTREAM_UNAVAILABLE are worth a retry, others are not.

Numbers that may be large (balances, wei) are decimal text. Chains are named by slugs: ethereum, arbitrum, base, solana,
bitcoin, starknet, cosmoshub and others; an unknown one is refused with the nearest.

## Descriptions

- [OpenRPC of the operations]({_BASE}{PATH}): every parameter, result and error as JSON Schema, with examples
- [OpenRPC of the published contract methods]({_BASE}{PATH}?{APPS}): svc_*, one method for each function and event
- [Readiness]({_BASE}/readyz): which chains answer
"""


def llms_text(base: str) -> str:
    """Return the text for a base URL (`http://host:port`, no trailing slash)."""
    return _text().replace(_BASE, base)


@cache
def _text() -> str:
    schemas = Schemas("mainnet")
    services: dict[str, list[str]] = {}
    for operation in (*load_operations(), *load_watches()):
        if operation.available:
            line = f"- {_signature(operation)}: {summary_of(operation, schemas)[0]}"
            services.setdefault(service_of(operation), []).append(line)
    parts = [_HEAD, *(f"## {name}\n\n" + "\n".join(lines) + "\n" for name, lines in services.items())]
    return "\n".join(parts)


def _signature(operation: Operation) -> str:
    fields = documented_order(operation)
    if operation.takes_items:
        fields = fields_of(fields[0].descriptor.message_type)
    names = ", ".join(field.json + ("" if field.options.required else "?") for field in fields)
    also = "".join(f" or {alias}" for alias in operation.aliases)
    return f"{operation.name}{also}([{names}])" if operation.takes_items else f"{operation.name}{also}({names})"
