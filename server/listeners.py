"""Listeners: grpc.aio servers and the options they are set up with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from server.rpc.stages.messages import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from server.rpc.interceptor import StagesInterceptor

OPTIONS: tuple[tuple[str, Any], ...] = (
    # Decisions 1.11: 64 MiB both ways. Answers are bounded by the message stage already, with an error that says so.
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # Request headers hold a key and a few ids; an error's details go back the same way.
    ("grpc.max_metadata_size", 16 * 1024),
    # More than the in-flight limit, so that a caller beyond it is told so instead of queueing unseen in its client;
    # bounded, so that one connection cannot hold memory without end.
    ("grpc.max_concurrent_streams", 4096),
    # Dead peers (a laptop closed, a NAT that forgot) are found within two minutes instead of the default two hours.
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
    handlers: grpc.GenericRpcHandler, interceptor: StagesInterceptor, *, shared_port: bool
) -> grpc.aio.Server:
    """Return a server that is bound to nothing yet.

    `shared_port` lets several processes listen on one port (SO_REUSEPORT); otherwise a port in use is refused, which
    gRPC by default would not notice.
    """
    return grpc.aio.server(
        handlers=(handlers,),
        interceptors=(interceptor,),
        options=(*OPTIONS, ("grpc.so_reuseport", int(shared_port))),
    )


def bind(server: grpc.aio.Server, address: str, setting: str) -> int:
    """Bind the server to `host:port` or `unix:/path` and return the port. Raises ListenError."""
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if port == 0:
        raise ListenError(f"{setting}: cannot listen on {address}; is another process using it?")
    return int(port)
