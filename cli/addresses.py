"""The addresses that a gateway listens on, and why one of them cannot be had: found before anything is opened.

A port that is taken would otherwise be found by gRPC, which prints a line of its own, or by every worker by itself,
after the local chains were started.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, NamedTuple

from runtime.config_errors import ConfigError
from runtime.settings.values import split_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import MetricsSettings, Settings


class ListenRefusal(ConfigError):
    """An address that cannot be listened on, shown on one line."""


class Listener(NamedTuple):
    """An address with the setting that it comes from, what listens there and the option that names another."""

    setting: str
    purpose: str
    host: str
    port: int
    remedy: str

    @property
    def address(self) -> str:
        """The address as it is written: `127.0.0.1:8080`, `[::1]:8080`."""
        bare = self.host.strip("[]")
        return f"[{bare}]:{self.port}" if ":" in bare else f"{bare}:{self.port}"


def http_listener(settings: Settings) -> Listener:
    """Return the address of the JSON-RPC face."""
    return Listener("http.port", "the JSON-RPC face", settings.http.host, settings.http.port, "--http-port")


def grpc_listeners(settings: Settings) -> list[Listener]:
    """Return the addresses of the gRPC server: the public one, and the private one where that is a TCP port."""
    public = Listener("grpc.port", "the gRPC face", settings.grpc.host, settings.grpc.port, "--grpc-port")
    private = settings.grpc.private_listen
    if private is None or private.startswith("unix:"):
        return [public]
    return [
        public,
        Listener("grpc.private_listen", "the private listener", *split_address(private), "grpc.private_listen"),
    ]


def metrics_listeners(metrics: MetricsSettings) -> list[Listener]:
    """Return the address of the metrics, none where they are not served."""
    if metrics.listen is None:
        return []
    return [Listener("metrics.listen", "the metrics listener", *split_address(metrics.listen), "metrics.listen")]


def all_listeners(settings: Settings) -> list[Listener]:
    """Return every address that `waypost serve` listens on with these settings."""
    return [http_listener(settings), *grpc_listeners(settings), *metrics_listeners(settings.metrics)]


def refuse_taken(listeners: Sequence[Listener], *, shared: bool = False) -> None:
    """Return when all of them can be listened on; raises ListenRefusal with every one that cannot.

    With `shared` several processes will listen on one port (SO_REUSEPORT).
    """
    refusals = [_refuse(one, why) for one in listeners if (why := find_trouble(one, shared=shared)) is not None]
    if refusals:
        first = refusals[0]
        raise ListenRefusal(first.key, first.value, first.fix, others=refusals[1:])


def find_trouble(listener: Listener, *, shared: bool = False) -> str | None:
    """Return why the address cannot be listened on, and what to do; None where it can, or where only trying shows.

    Nothing is left listening. A name of several addresses is in trouble where all of them are.
    """
    try:
        found = socket.getaddrinfo(listener.host.strip("[]"), listener.port, type=socket.SOCK_STREAM)
    except OSError:
        return f"{listener.host} is no address of this machine; choose another host"
    errors = [_try(family, address, shared=shared) for family, *_, address in found]
    if None in errors:
        return None
    error = errors[0]
    assert error is not None
    return explain(error, listener.remedy)


def refusal(listener: Listener, error: OSError) -> ListenRefusal:
    """Return the mistake behind an address that could not be bound."""
    return _refuse(listener, explain(error, listener.remedy))


def _refuse(listener: Listener, why: str) -> ListenRefusal:
    return ListenRefusal(listener.setting, listener.address, f"{listener.purpose} cannot listen there: {why}")


def explain(error: OSError, remedy: str) -> str:
    """Return why an address cannot be listened on, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return f"another process uses that port; choose another ({remedy}), or end that process"
    if error.errno == errno.EADDRNOTAVAIL:
        return "it is no address of this machine; choose another host"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"this user may not listen on that port; choose one from 1024 on ({remedy})"
    why = os.strerror(error.errno) if error.errno else str(error)
    return f"{why}; choose another ({remedy})"


def _try(family: int, address: tuple[object, ...], *, shared: bool) -> OSError | None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            probe.bind(address)
    except OSError as error:
        # gRPC finds another way where the system has no such family of addresses.
        return None if error.errno == errno.EAFNOSUPPORT else error
    return None
