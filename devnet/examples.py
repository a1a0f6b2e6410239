"""Lines to paste into a terminal: questions whose answers are certain on the devnet."""

import json

from devnet import known
from devnet.evm.world import load_world


def run_lines(base_url: str, grpc_port: int) -> list[str]:
    """Return three curl lines and one grpcurl line for a gateway.

    `base_url` carries the key, as in `http://127.0.0.1:8080/local`; the key goes into the gRPC metadata too.
    """
    usdc = load_world()["ethereum"].token("USDC").address
    questions: list[tuple[str, dict[str, str]]] = [
        ("getBlockHeight", {"chain": "arbitrum"}),
        ("getBalance", {"chain": "ethereum", "address": known.VITALIK}),
        ("getTokenBalance", {"chain": "ethereum", "address": known.VITALIK, "token": usdc}),
    ]
    lines = [
        f"curl -s {base_url}/v1 -H 'content-type: application/json' -d '{_request(method, params)}'"
        for method, params in questions
    ]
    key = base_url.rstrip("/").rsplit("/", 1)[1]
    message = json.dumps({"chain": "base", "address": known.VITALIK})
    target = f"127.0.0.1:{grpc_port} waypost.v1.AccountService/GetBalance"
    return [*lines, f"grpcurl -plaintext -H 'x-api-key: {key}' -d '{message}' {target}"]


def _request(method: str, params: dict[str, str]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
