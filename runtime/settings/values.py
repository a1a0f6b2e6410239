"""Types of single values: what they accept, and the fix a wrong one is answered with."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from runtime.config_errors import Refusal
from runtime.processors import usable_processors

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LABEL = re.compile(r"[a-z0-9-]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}")
# What may not stand in a URL unescaped; redaction takes it for the end of one.
_UNSAFE = re.compile(r"[\s'\"<>`]")
_SCHEMES = ("http", "https")
_REDIS_SCHEMES = ("redis", "rediss")


def parse_duration(value: object) -> object:
    """Return the seconds of `"250ms"`, `"30s"`, `"5m"`, `"1h"`; numbers are seconds already."""
    if not isinstance(value, str):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise Refusal('write a duration such as "30s", "250ms", "5m" or a number of seconds')
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise Refusal('write a duration such as "30s", "250ms", "5m" or "1h"')
    return float(match[1]) * _SECONDS[match[2]]


MOST_WORKERS = 256


def parse_workers(value: object) -> object:
    """Return the number that `"auto"` stands for, as many as there are processors to use; numbers pass unchanged."""
    if isinstance(value, str):
        text = value.strip()
        if text == "auto":
            return min(usable_processors(), MOST_WORKERS)
        if text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 10:
            return int(text)
    elif isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Refusal(f'give a whole number from 1 to {MOST_WORKERS}, or "auto"')


def split_list(value: object) -> object:
    """Return the elements of comma-separated or JSON text, as environment variables have it; lists pass unchanged."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        return parse_json(text)
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_json(value: object) -> object:
    """Return the value of JSON text, as environment variables have it; anything else passes unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise Refusal("in an environment variable, write this as JSON", value="(hidden)") from None


def check_host(value: str) -> str:
    """Return a host name or IP address, IPv6 addresses without brackets."""
    try:
        return str(ipaddress.ip_address(value.strip("[]")))
    except ValueError:
        if not _HOST.fullmatch(value):
            raise Refusal('give an IP address or host name without a port, for example "127.0.0.1"') from None
        return value


def bracket_host(value: str) -> str:
    """Return a checked host as gRPC wants it before a colon: IPv6 addresses in brackets."""
    return f"[{value}]" if ":" in value else value


def check_listen(value: str) -> str:
    """Return an address to bind: `host:port`, `[ipv6]:port` or `unix:/path`."""
    if value.startswith("unix:"):
        if not value.removeprefix("unix:").startswith("/"):
            raise Refusal('give an absolute path after "unix:", for example "unix:/run/waypost.sock"')
        return value
    return _check_host_port(value)


def check_tcp_listen(value: str) -> str:
    """Return a TCP address to bind: `host:port` or `[ipv6]:port`."""
    return _check_host_port(value)


def check_target(value: str) -> str:
    """Return a gRPC target: `host:port`, `dns:///host:port` or `unix:/path`."""
    for prefix in ("dns:///", "unix:"):
        if value.startswith(prefix):
            rest = value.removeprefix(prefix)
            if prefix == "unix:" and rest.startswith("/"):
                return value
            if prefix != "unix:":
                _check_host_port(rest)
                return value
    if "://" in value:
        raise Refusal("give a gRPC target without a scheme, for example waypost-server:50052 or unix:/run/waypost.sock")
    return _check_host_port(value)


def _check_host_port(value: str) -> str:
    fix = 'give host and port, for example "127.0.0.1:50052"'
    host, separator, port = value.rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdigit():
        raise Refusal(fix)
    if int(port) > 65535:
        raise Refusal("give a port from 0 to 65535")
    if host.startswith("[") and host.endswith("]"):
        try:
            ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            raise Refusal(fix) from None
        return value
    if ":" in host:
        raise Refusal('write an IPv6 address in brackets, for example "[::1]:50052"')
    check_host(host)
    return value


def split_address(listen: str) -> tuple[str, int]:
    """Return host and port of a checked `host:port` or `[ipv6]:port`."""
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)


def check_network(value: str) -> str:
    """Return an IP network in CIDR writing; a bare address is the network of itself."""
    try:
        return str(ipaddress.ip_network(value))
    except ValueError:
        try:
            meant = ipaddress.ip_network(value, strict=False)
        except ValueError:
            raise Refusal('give networks in CIDR writing, for example "10.0.0.0/8" or "fd00::/8"') from None
        raise Refusal(f'the address has bits beyond the prefix; write "{meant}"') from None


def check_origin(value: str) -> str:
    """Return a web origin (scheme, host, optional port) or `*`."""
    if value == "*":
        return value
    try:
        parts = urlsplit(value)
        valid = parts.scheme in _SCHEMES and bool(parts.hostname) and f"{parts.scheme}://{parts.netloc}" == value
        valid = valid and "@" not in parts.netloc and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise Refusal('give origins without a path, for example "https://app.example.org", or "*" for every origin')
    return value


def check_label(value: str) -> str:
    """Return an endpoint label: lower-case letters, digits and dashes."""
    if not _LABEL.fullmatch(value):
        raise Refusal("use 1 to 64 lower-case letters, digits and dashes; logs and metrics show the label")
    return value


def check_endpoint_url(value: SecretStr) -> SecretStr:
    """Return an http or https URL with a host. What it holds is never shown."""
    text = value.get_secret_value()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal("give a URL such as https://node.example.org/rpc with a port from 1 to 65535") from None
    if parts.scheme in ("ws", "wss"):
        fix = "Waypost asks nodes over HTTP: give the http:// or https:// address of the node here, this one as ws_url"
        raise Refusal(fix)
    if parts.scheme not in _SCHEMES:
        raise Refusal("give a URL that begins with http:// or https://")
    if not parts.hostname or port == 0 or _UNSAFE.search(text):
        raise Refusal("give a URL such as https://node.example.org/rpc, without spaces or quotes")
    return value


def check_push_url(value: SecretStr) -> SecretStr:
    """Return a ws or wss URL with a host. What it holds is never shown."""
    text = value.get_secret_value()
    fix = "give a URL such as wss://node.example.org/ws, without spaces or quotes, with a port from 1 to 65535 if any"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal(fix) from None
    if parts.scheme not in ("ws", "wss"):
        raise Refusal("give a URL that begins with ws:// or wss://")
    if not parts.hostname or port == 0 or parts.fragment or _UNSAFE.search(text):
        raise Refusal(fix)
    return value


def check_proxy(value: SecretStr) -> SecretStr:
    """Return an http URL of a proxy, without a path, or `direct`. What it holds is never shown."""
    text = value.get_secret_value()
    if text == "direct":
        return value
    fix = 'give a URL such as http://proxy.example.org:3128, or "direct"'
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal(fix) from None
    if parts.scheme == "https":
        raise Refusal("the proxy itself is spoken to without TLS, which goes inside: give its http:// address")
    is_whole = parts.scheme == "http" and parts.hostname and port != 0 and not _UNSAFE.search(text)
    if not is_whole or parts.path.strip("/") or parts.query or parts.fragment:
        raise Refusal(fix)
    return value


def check_redis(value: SecretStr) -> SecretStr:
    """Return a Redis URL. What it holds is never shown."""
    text = value.get_secret_value()
    fix = "give a Redis URL such as redis://redis.internal:6379/0, rediss://... for TLS, or unix:///run/redis.sock"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal(fix) from None
    is_local = parts.scheme == "unix" and parts.path.startswith("/")
    is_remote = parts.scheme in _REDIS_SCHEMES and bool(parts.hostname) and port != 0
    has_database = is_local or parts.path in ("", "/") or (parts.path[1:].isascii() and parts.path[1:].isdigit())
    if not (is_local or is_remote) or not has_database or any(character.isspace() for character in text):
        raise Refusal(fix)
    return value


Duration = Annotated[float, BeforeValidator(parse_duration)]
WorkerCount = Annotated[int, BeforeValidator(parse_workers), Field(ge=1, le=MOST_WORKERS)]
Port = Annotated[int, Field(ge=0, le=65535)]
Host = Annotated[str, AfterValidator(check_host)]
GrpcHost = Annotated[Host, AfterValidator(bracket_host)]
Listen = Annotated[str, AfterValidator(check_listen)]
TcpListen = Annotated[str, AfterValidator(check_tcp_listen)]
Target = Annotated[str, AfterValidator(check_target)]
Label = Annotated[str, AfterValidator(check_label)]
ProxyUrl = Annotated[SecretStr, AfterValidator(check_proxy)]
RedisUrl = Annotated[SecretStr, AfterValidator(check_redis)]
PushUrl = Annotated[SecretStr, AfterValidator(check_push_url)]
EndpointUrl = Annotated[SecretStr, AfterValidator(check_endpoint_url)]
Networks = Annotated[tuple[Annotated[str, AfterValidator(check_network)], ...], BeforeValidator(split_list)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(check_origin)], ...], BeforeValidator(split_list)]
JsonOrTable = BeforeValidator(parse_json)
SLOWEST_RATE, FASTEST_RATE = 0.001, 1_000_000
"""Units a second that a quota may have, or a limit: below one in a quarter of an hour times to wait grow absurd."""

Rate = Annotated[float, Field(ge=SLOWEST_RATE, le=FASTEST_RATE, allow_inf_nan=False)]


def shown(value: Any) -> str:
    """Return how a refused value may be printed: short, and tables and lists without their contents."""
    if isinstance(value, dict):
        return "{...}"
    if isinstance(value, list | tuple):
        return "[...]"
    if isinstance(value, SecretStr):
        return "(hidden)"
    if isinstance(value, str):
        text = value if len(value) <= 80 else f"{value[:77]}..."
        return json.dumps(text, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
