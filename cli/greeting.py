"""What a started gateway prints: where it is, and lines to paste."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.faces import Ports
    from runtime.settings import Settings

# The key that the devnet, and nothing else, accepts.
DEVNET_KEY = "local"
ACCOUNT = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
TOKEN = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"  # USDC

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}


def greeting(settings: Settings, ports: Ports) -> str:
    """Return the text to print: the addresses and, on the devnet, lines that work when pasted."""
    http = f"http://{_reachable(settings.http.host)}:{ports.http}"
    grpc = f"{_reachable(settings.grpc.host)}:{ports.grpc}"
    if settings.profile != "devnet":
        return "\n".join(
            (
                "Waypost is serving.",
                f"  JSON-RPC  {http}/<key>/v1  (without a key: {http}/demo/v1)",
                f"  gRPC      {grpc}",
                f"  OpenRPC   {http}/openrpc.json",
                "  A key:    ./waypost keys create NAME",
            )
        )
    base = f"{http}/{DEVNET_KEY}"
    chain = "ethereum"
    some = list(settings.chains)[:3]
    lines = [
        "Waypost is serving local chains.",
        f"  Base URL  {base}   (POST {base}/v1)",
        f"  gRPC      {grpc}   (metadata x-api-key: {DEVNET_KEY})",
        f"  OpenRPC   {http}/openrpc.json",
        "",
        "Try:",
        _curl(base, _request(1, "getBalance", {"chain": chain, "address": ACCOUNT})),
        _curl(base, _request(1, "getTokenMetadata", {"chain": chain, "address": TOKEN})),
        _curl(base, "[" + ",".join(_request(n, "getBlockHeight", {"chain": c}) for n, c in enumerate(some, 1)) + "]"),
        f"  grpcurl -plaintext -H 'x-api-key: {DEVNET_KEY}' -d '{{\"chain\":\"{chain}\"}}' {grpc} "
        "waypost.v1.BlockService/GetBlockHeight",
        "",
        "Ctrl-C ends the gateway and the nodes.",
    ]
    return "\n".join(lines)


def _request(number: int, method: str, params: dict[str, str]) -> str:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(request, separators=(",", ":"))


def _curl(base: str, body: str) -> str:
    return f"  curl -s {base}/v1 -H 'content-type: application/json' -d '{body}'"


def _reachable(host: str) -> str:
    """Return a host that a client on this machine can use."""
    return _EVERYWHERE.get(host, f"[{host}]" if ":" in host and not host.startswith("[") else host)
