"""What a started gateway prints: where it is, and lines to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.faces import Ports
    from runtime.settings import Settings

# The key that the devnet, and nothing else, accepts.
DEVNET_KEY = "local"

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}
_DEMO = '{"jsonrpc":"2.0","id":1,"method":"getBlockHeight","params":{"chain":"ethereum"}}'


def base_url(settings: Settings, ports: Ports) -> str:
    """Return the JSON-RPC address that a client on this machine pastes: with the devnet's key, or the demo's."""
    key = DEVNET_KEY if settings.profile == "devnet" else "demo"
    return f"http://{_reachable(settings.http.host)}:{ports.http}/{key}"


def greeting(settings: Settings, ports: Ports, examples: Sequence[str] = ()) -> str:
    """Return the text to print: the addresses and lines that work when pasted."""
    base = base_url(settings, ports)
    http, grpc = base.rpartition("/")[0], f"{_reachable(settings.grpc.host)}:{ports.grpc}"
    if settings.profile == "devnet":
        lines = [
            "Waypost is serving local chains.",
            f"  Base URL  {base}  (POST {base}/v1)",
            f"  gRPC      {grpc}  (metadata x-api-key: {DEVNET_KEY})",
            f"  OpenRPC   {http}/openrpc.json",
        ]
    else:
        lines = [
            "Waypost is serving.",
            f"  Base URL  {http}/<key>  (`./waypost keys create NAME` makes a key; without one: {base})",
            f"  gRPC      {grpc}  (metadata x-api-key: <key>)",
            f"  OpenRPC   {http}/openrpc.json",
        ]
        examples = examples or (f"curl -s {base}/v1 -H 'content-type: application/json' -d '{_DEMO}'",)
    if examples:
        lines += ["", "Try:", *(f"  {line}" for line in examples)]
    return "\n".join([*lines, "", "Ctrl-C ends it."])


def _reachable(host: str) -> str:
    """Return a host that a client on this machine can use."""
    return _EVERYWHERE.get(host, f"[{host}]" if ":" in host and not host.startswith("[") else host)
