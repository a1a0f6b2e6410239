"""The gRPC faces: bound with their limits, and how callers are refused before they close."""

from __future__ import annotations

import asyncio
import fcntl
import resource
import socket
import struct
import termios
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import grpc

from runtime.listening import count_waiting, drop_new_connections, sockets_at
from runtime.logs import get_logger
from server.errors import UpstreamUnavailable
from server.inprocess.channel import MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.certificates import Certificate
    from runtime.renewal import WatchedCertificate
    from server.errors import GatewayError
    from server.rpc.pipeline.interceptor import StagesInterceptor


# Request headers hold a key and a few ids. It is both the limit beyond which gRPC refuses some calls and that beyond
# which it refuses all: no call is refused by chance.
MAX_METADATA_BYTES = 16 * 1024
# Between the transcoder and its server, one connection carries all callers' calls: more than may be in flight, so that
# a call beyond that is refused instead of waiting unseen in its client.
PRIVATE_STREAMS = 4096
_UNLIMITED = 1 << 20
MAX_PENDING_CALLS = 10_000
"""Calls that may wait to be taken up by Python; beyond it gRPC cancels some of them without a reason."""

OPTIONS: tuple[tuple[str, Any], ...] = (
    # Decisions 1.11. Answers are bounded by the message stage already, with an error that states so.
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_send_message_length", MAX_RESPONSE_BYTES),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
    # By default 1,000 and 3,000: a burst was cancelled before any code could answer that the gateway is busy.
    ("grpc.server.max_pending_requests", MAX_PENDING_CALLS),
    ("grpc.server.max_pending_requests_hard_limit", 2 * MAX_PENDING_CALLS),
    # Streams count until they are gone from memory, not only until their client resets them (the default, stated here
    # because the bound on streams means nothing without it); every reset is answered by a ping, and counts until the
    # client has read that.
    ("grpc.http.overload_protection", 1),
    ("grpc.http2.ping_on_rst_stream_percent", 100),
    # One new call of a connection, then the others' turn.
    ("grpc.http2.max_requests_per_read", 1),
    # A call's metadata keep the buffer alive that they were read into: with the default, up to 4 MiB, a few hundred
    # calls held 750 MiB.
    ("grpc.experimental.tcp_read_chunk_size", 4096),
    ("grpc.experimental.tcp_max_read_chunk_size", 8192),
    ("grpc.experimental.tcp_max_read_buffer_size", 16_384),
    # A stream that is not read holds 64 KiB, however fast its client sends; one that is read gets room for its message.
    ("grpc.http2.bdp_probe", 0),
    # Silent connections make room: clients reconnect by themselves when they call.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 300_000),
    # Dead peers (a laptop closed, a NAT that dropped its mapping) are found within two minutes instead of the default
    # two hours.
    ("grpc.keepalive_time_ms", 100_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Clients behind load balancers ping to keep their connection alive, idle ones too; the default answers pings more
    # frequent than five minutes with GOAWAY.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)


class ListenError(OSError):
    """An address cannot be listened on; the message names the setting and the address."""


def open_listener(
    handlers: grpc.GenericRpcHandler,
    interceptor: StagesInterceptor,
    *,
    shared_port: bool,
    streams: int = PRIVATE_STREAMS,
    connections: int | None = None,
) -> grpc.aio.Server:
    """Return a server that is bound to nothing yet.

    `shared_port` lets several processes listen on one port (SO_REUSEPORT); otherwise a port in use is refused, which
    gRPC by default would not notice. `streams` are the calls of one connection at a time, `connections` how many it
    takes, of which no more than half of the file descriptors that this process may have are used.
    """
    bounds: list[tuple[str, int]] = [("grpc.max_concurrent_streams", streams)]
    if connections is not None:
        bounds.append(("grpc.max_allowed_incoming_connections", min(connections, max(1, _descriptors() // 2))))
    return grpc.aio.server(
        handlers=(handlers,),
        interceptors=(interceptor,),
        options=(*OPTIONS, *bounds, ("grpc.so_reuseport", int(shared_port))),
    )


def _descriptors() -> int:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _UNLIMITED if most == resource.RLIM_INFINITY else most


def bind(server: grpc.aio.Server, address: str, setting: str, certificate: WatchedCertificate | None = None) -> int:
    """Bind the server to `host:port` or `unix:/path` and return the port, with TLS where a certificate is given.

    Raises ListenError.
    """
    try:
        if certificate is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, _credentials(certificate))
    except RuntimeError:
        port = 0
    if port == 0:
        raise ListenError(f"{setting}: cannot listen on {address}; is another process using it?")
    return int(port)


def _credentials(certificate: WatchedCertificate) -> grpc.ServerCredentials:
    """Return credentials that follow the certificate: gRPC asks at every handshake, in a thread of its own."""
    served = certificate.current

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        nonlocal served
        if certificate.current is served:
            return None
        served = certificate.current
        return _configuration(served)

    needs_clients = served.client_authorities is not None
    return grpc.dynamic_ssl_server_credentials(_configuration(served), fetch, needs_clients)


def _configuration(certificate: Certificate) -> grpc.ServerCertificateConfiguration:
    pair = certificate.key, certificate.chain
    return grpc.ssl_server_certificate_configuration([pair], certificate.client_authorities)


# A gRPC server that is asked to stop cancels what reaches it from then until its clients have read its GOAWAY, so
# nothing may be in transit at that moment (docs/decisions/0033).

# For how long calls are refused at most before the server stops: then its closed port leads callers elsewhere.
REFUSING = 1.0
# How long handshakes that have begun may take to end, and calls in progress to be held.
HANDSHAKE = 0.1
HELD = 0.05
# How long no call must come before the stop, once clients are to call elsewhere, and how long that may take.
SILENCE = 0.2
SENDING_AWAY = 2.0
# How long calls in progress are waited for beyond that: without any, the end is clean.
FINISHING = 1.0
# How long connections may take to close, and how often in turn none must be found.
CLOSING = 1.0
_QUIET = 5
# RFC 9113, section 6.8: no error, and the highest number there is, so that every call that is in progress goes on.
_GOAWAY = struct.pack(">BHBBIII", 0, 8, 7, 0, 0, 0x7FFFFFFF, 0)
_UNSENT = 4096
# How much later than the stop callers are to come back: another process listens by then, or this one does not.
AFTER = 0.1
# What grpc.aio calls the task of a call that it serves.
_CALL = "rpc_task"

_log = get_logger("waypost.process")


async def refuse_calls(
    interceptor: StagesInterceptor, port: int, seconds: float, *, is_encrypted: bool = False
) -> Callable[[], None]:
    """Refuse every new call with UNAVAILABLE and RetryInfo; return when the server of that port may be stopped.

    That is after `seconds` at most, and a second more while calls are in progress, which go on. Where none is left,
    the connections are closed here, so that what is in transit ends as UNAVAILABLE. Where some are, their clients are
    led elsewhere first (`_send_away`), and held until after the stop: call what is returned then. Into a connection
    that `is_encrypted` nothing of ours can be written: there they are refused for as long, and then held.
    """
    in_progress = [task for task in asyncio.all_tasks() if task.get_name() == _CALL]
    stop_at = monotonic() + min(seconds, REFUSING)
    holding, released = asyncio.Event(), asyncio.Event()
    came = 0.0

    async def refuse() -> GatewayError:
        nonlocal came
        came = monotonic()
        if holding.is_set():
            await released.wait()
        left = max(0.0, stop_at - monotonic()) + AFTER
        message = "this gateway is stopping and takes no more calls; try again, another one will answer"
        return UpstreamUnavailable(message, retry_after_ms=round(left * 1000))

    interceptor.refuse(refuse)
    await asyncio.sleep(stop_at - monotonic() - HANDSHAKE)
    for connection, listens in sockets_at(port):
        if listens:
            drop_new_connections(connection)
    await asyncio.sleep(HANDSHAKE)
    if in_progress:
        await asyncio.wait(in_progress, timeout=FINISHING)
    unfinished = sum(not task.done() for task in in_progress)
    _log.info("the gRPC face closes", in_progress=unfinished)
    if unfinished:
        began = came = monotonic()
        if not is_encrypted:
            _send_away(port)
        while monotonic() - came < SILENCE and monotonic() - began < SENDING_AWAY:  # noqa: ASYNC110  # calls come on their own
            await asyncio.sleep(0.02)
        holding.set()
        await asyncio.sleep(HELD)
    else:
        await _close_connections(port)
    return released.set


def _send_away(port: int) -> None:
    """Have the clients of the port's connections send nothing new there: a GOAWAY of ours, before that of the stop.

    gRPC cancels what comes after the stop, and clients are informed of the stop after it. It offers no other way to a
    GOAWAY.
    """
    for connection, listens in sockets_at(port):
        with suppress(OSError):  # closed by its client meanwhile
            # With more under way gRPC may be in the middle of a frame: a full socket takes the rest of a write later.
            if not listens and struct.unpack("I", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0] < _UNSENT:
                connection.send(_GOAWAY, socket.MSG_DONTWAIT)


async def _close_connections(port: int) -> None:
    """Close what is connected to the port, and what still comes to be by handshakes that had begun."""
    latest, quiet = monotonic() + CLOSING, 0
    while quiet < _QUIET and monotonic() < latest:
        quiet += 1
        for connection, listens in sockets_at(port):
            if listens and not count_waiting(connection):
                continue
            quiet = 0
            if not listens:
                with suppress(OSError):  # closed by its client meanwhile
                    connection.shutdown(socket.SHUT_RDWR)
        await asyncio.sleep(0.01)
