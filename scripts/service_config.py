"""Writes the service config that clients make channels with, from the descriptors.

It is proto/service_config.json; clients that carry it have a copy.

`python -m scripts.service_config` writes it; with `--check` it changes nothing and exits with 1 when it is not current.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waypost.v1 import batch_pb2

from runtime.operations import DEFAULT_DEADLINE_MS, load_operations, load_watches
from server.inprocess.channel import MAX_RESPONSE_BYTES
from server.rpc.pipeline.call import LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    Name = dict[str, str]

ROOT = Path(__file__).resolve().parents[1]
FILES = tuple(
    ROOT / folder / "service_config.json"
    for folder in (
        "proto",
        "clients/go",
        "clients/java/src/main/resources/dev/waypost",
        "clients/python/waypost/generated",
        "clients/rust",
    )
)
# UNAVAILABLE alone: a quota that is used up (RESOURCE_EXHAUSTED) is the application's to wait for, and what ran into
# its deadline would again. The server's push-back (`grpc-retry-pushback-ms`) goes before these pauses.
RETRIES = {
    "maxAttempts": 5,
    "initialBackoff": "0.2s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}


def render() -> str:
    """Return the file's text: what holds for all methods, those with another deadline or longer answers, streams.

    Streams have no deadline, and it is not the channel that opens one again: who reads it knows where to go on.
    """
    usual = DEFAULT_DEADLINE_MS / 1000, False
    kinds: dict[tuple[float, bool], list[Name]] = {usual: [{}]}
    for operation in load_operations():
        kind = operation.deadline, operation.options.large_response
        if kind != usual:
            kinds.setdefault(kind, []).append({"service": operation.service, "method": operation.method.name})
    for service in batch_pb2.DESCRIPTOR.services_by_name.values():
        names = [{"service": service.full_name, "method": method.name} for method in service.methods]
        kinds.setdefault((LONGEST_SECONDS, True), []).extend(names)
    methods = [_method_config(names, *kind) for kind, names in kinds.items()]
    methods.append({"name": [{"service": one.service, "method": one.method.name} for one in load_watches()]})
    return json.dumps({"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": methods}, indent=2) + "\n"


def _method_config(names: Iterable[Name], seconds: float, is_large: bool) -> dict[str, Any]:
    config: dict[str, Any] = {"name": list(names), "timeout": f"{seconds:g}s", "retryPolicy": RETRIES}
    if is_large:
        config["maxResponseMessageBytes"] = MAX_RESPONSE_BYTES
    return config


def main(*, check: bool) -> int:
    """Return 0 when the files are current, or have been made so."""
    text = render()
    stale = [file for file in FILES if not file.exists() or file.read_text() != text]
    if check:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is not current; run `make generate`", file=sys.stderr)
        return 1 if stale else 0
    for file in stale:
        file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
