"""Where a gateway is, and whether a key may be sent there: never in the clear over a network, unless asked to."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import grpc
from waypost.errors import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = "0.1.0"
USER_AGENT = f"{DOMAIN}-python/{VERSION}"
MOST_BYTES = 64 << 20
# Read by gRPC's core, which honours the server's push-back (`grpc-retry-pushback-ms`).
SERVICE_CONFIG = Path(__file__).with_name("generated").joinpath("service_config.json").read_text()
_RETRIES = json.loads(SERVICE_CONFIG)["methodConfig"][0]["retryPolicy"]
ATTEMPTS: int = _RETRIES["maxAttempts"]
FIRST_PAUSE, LONGEST_PAUSE = (float(_RETRIES[name].removesuffix("s")) for name in ("initialBackoff", "maxBackoff"))
GROWTH: float = _RETRIES["backoffMultiplier"]

Transport = Literal["grpc", "jsonrpc"]


@dataclass(frozen=True)
class Target:
    """A gateway: `address` is gRPC's, or the URL of the JSON-RPC face without the key."""

    transport: Transport
    address: str
    key: str | None = field(repr=False)
    tls: bool
    roots: bytes | None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call over gRPC carries."""
        return (("x-api-key", self.key),) if self.key else ()

    @property
    def options(self) -> Sequence[tuple[str, Any]]:
        """What a channel is made with."""
        return (
            ("grpc.max_receive_message_length", MOST_BYTES),
            ("grpc.max_send_message_length", MOST_BYTES),
            ("grpc.primary_user_agent", USER_AGENT),
            ("grpc.service_config", SERVICE_CONFIG),
            # A stream whose connection is gone without a word is noticed; pings are sent while there are calls.
            ("grpc.keepalive_time_ms", 45_000),
            ("grpc.keepalive_timeout_ms", 15_000),
            ("grpc.http2.max_pings_without_data", 0),
        )

    def credentials(self) -> grpc.ChannelCredentials:
        """Return what the gateway's certificate is checked with."""
        return grpc.ssl_channel_credentials(self.roots)


def parse_target(
    address: str, key: str | None, transport: Transport | None, tls: bool | None, roots: bytes | None
) -> Target:
    """Return the gateway at the address: `host:port`, or a URL `https://host/KEY/v1` of the JSON-RPC face.

    Without a word about it, TLS is left out only where the gateway is on this machine. Raises ValueError where a key
    would be sent in the clear, or the address and the rest contradict each other.
    """
    has_scheme = address.startswith(("http://", "https://"))
    chosen: Transport = transport or ("jsonrpc" if has_scheme else "grpc")
    if chosen == "grpc":
        if has_scheme:
            raise ValueError("an address of gRPC is written host:port, without a scheme")
        return Target("grpc", address, key, not is_local(address) if tls is None else tls, roots)
    parts = urlsplit(address if has_scheme else f"//{address}")
    if parts.username or parts.query or parts.fragment:
        raise ValueError("a URL of the gateway is written https://host/KEY/v1")
    local = is_local(parts.netloc)
    secure = parts.scheme == "https" if has_scheme else (not local if tls is None else tls)
    steps = [step for step in parts.path.split("/") if step and step != "v1"]
    if len(steps) > 1 or (steps and key and steps != [key]):
        raise ValueError("a URL of the gateway is written https://host/KEY/v1, with the key once")
    key = steps[0] if steps else key
    if has_scheme and tls and not secure:
        raise ValueError("tls=True needs an https URL")
    if key and not secure and not local and tls is not False:
        raise ValueError("the key would be sent in the clear: write https, or say tls=False")
    return Target("jsonrpc", f"{'https' if secure else 'http'}://{parts.netloc}", key, secure, roots)


def is_local(address: str) -> bool:
    """Return whether an address, with or without a port, is of this machine."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = urlsplit(f"//{address.removeprefix('dns:///')}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
