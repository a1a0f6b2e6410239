"""Listeners: grpc.aio servers and the options they are set up with."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any

import grpc

from server.rpc.pipeline.call import MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES

if TYPE_CHECKING:
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


def bind(server: grpc.aio.Server, address: str, setting: str) -> int:
    """Bind the server to `host:port` or `unix:/path` and return the port. Raises ListenError."""
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if port == 0:
        raise ListenError(f"{setting}: cannot listen on {address}; is another process using it?")
    return int(port)
