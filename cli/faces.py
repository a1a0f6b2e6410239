"""The JSON-RPC face and what every serving process has; none of it brings the server in (that is cli/gateway.py)."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from aiohttp import web

from cli.addresses import http_listener, metrics_listeners, refusal
from cli.reloader import FixedFaces
from runtime.config_errors import ConfigError
from runtime.exposition import figures_socket, serve_figures, start_metrics
from runtime.handshakes import TlsSite
from runtime.heap import settle_heap
from runtime.listening import ask_for_descriptors
from runtime.logs import get_logger
from runtime.metrics import set_build
from runtime.renewal import WatchedCertificate
from runtime.telemetry import open_telemetry
from runtime.version import VERSION
from transcoder.app import CONNECTIONS, create_app
from transcoder.console_files import ConsoleFiles
from transcoder.serving import BACKLOG, Runner

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from cli.control import Control
    from cli.process import Stop
    from runtime.settings import Settings, TlsClientSettings, TlsSettings
    from transcoder.kept import KeptAnswers

LARGEST_MESSAGE = 64 << 20
# A little longer than load balancers keep idle connections (60 s is usual), so that they close first.
KEEPALIVE_SECONDS = 75.0
RUNTIME_FOLDER = "WAYPOST_RUNTIME_DIR"
"""Environment variable by which the parent of several workers names the folder of the sockets between them."""
# How long before the end of the notice no new connection begins, so that handshakes on their way end: distant clients'
# round trips are shorter.
CLOSING = 0.5

# A transcoder in its own process finds a dead server within half a minute and spreads calls over all its addresses.
CHANNEL_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
)

_log = get_logger("waypost.process")


@dataclass(frozen=True)
class Ports:
    """The ports that were bound; None for a face that this process does not have."""

    http: int | None
    grpc: int | None


async def run_transcoder(
    settings: Settings, stop: Stop, announce: Callable[[Ports], None], control: Control, *, worker: int = 0
) -> None:
    """Run the JSON-RPC face alone, in front of the server at `transcoder.grpc_target`, until a stop is asked for.

    `control` opens what has it reload: log level alone, as all else is the server's.
    """
    target, credential = settings.transcoder.grpc_target, settings.transcoder.credential
    if target is None or credential is None:
        fix = "name the server's private listener, for example --grpc-target 127.0.0.1:50052"
        raise ConfigError("transcoder.grpc_target", "", fix)
    ending = Ending(settings.server_limits.drain, stop)
    async with AsyncExitStack() as stack:
        await open_observability(stack, settings, worker)
        channel = await stack.enter_async_context(open_channel(target, settings.transcoder.tls))
        secret = credential.get_secret_value()
        runner = await open_http(
            stack, settings, channel, ending, secret, is_stopping=stop.requested.is_set, generation=control.generation
        )
        port = runner.addresses[0][1]
        _log.info("serving", profile=settings.profile, http_port=port, worker=worker)
        settle_heap()
        await control.open(stack, settings, FixedFaces(settings), port)
        announce(Ports(port, None))
        await stop.requested.wait()
        await leave_http(runner, settings.server_limits.notice)
        _log.info("draining", grace_seconds=settings.server_limits.drain)
        ending.begin()


def follow(stack: AsyncExitStack, listener: str, tls: TlsSettings) -> Callable[[], SSLContext] | None:
    """Return what returns the listener's present TLS, followed for as long as the stack; None without TLS."""
    if tls.files is None:
        return None
    certificate = WatchedCertificate(listener, tls.files)
    certificate.watch()
    stack.push_async_callback(certificate.close)
    return lambda: certificate.current.context


def open_channel(target: str, tls: TlsClientSettings) -> grpc.aio.Channel:
    """Return the channel of a transcoder to its server: with TLS where authorities are given."""
    if tls.ca_file is None:
        return grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
    key, chain = (None if path is None else path.read_bytes() for path in (tls.key_file, tls.cert_file))
    credentials = grpc.ssl_channel_credentials(tls.ca_file.read_bytes(), key, chain)
    named = () if tls.server_name is None else (("grpc.ssl_target_name_override", tls.server_name),)
    return grpc.aio.secure_channel(target, credentials, options=(*CHANNEL_OPTIONS, *named))


class Ending:
    """How long what is in progress may still take."""

    def __init__(self, grace: float, stop: Stop) -> None:
        self._grace = grace
        self._stop = stop
        self._began: float | None = None

    def begin(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    def remaining(self) -> float:
        """Return the seconds left: none once in a hurry, or when it never got to serving."""
        if self._began is None or self._stop.hurried.is_set():
            return 0.0
        return max(0.0, self._grace - (time.monotonic() - self._began))


async def open_http(
    stack: AsyncExitStack,
    settings: Settings,
    channel: Any,
    ending: Ending,
    credential: str | None = None,
    *,
    is_stopping: Callable[[], bool] = lambda: False,
    workers: Callable[[], dict[str, int] | None] = lambda: None,
    generation: Callable[[], int | None] = lambda: None,
    kept: KeptAnswers | None = None,
) -> Runner:
    """Open the JSON-RPC face for as long as the stack. Raises ConfigError for an address that cannot be had."""
    http = settings.http
    most, wanted = ask_for_descriptors(), max(http.max_connections, http.max_sockets)
    if most < wanted:
        _log.warning("few file descriptors: raise the hard limit (ulimit -Hn, LimitNOFILE)", limit=most, wanted=wanted)
    app = create_app(
        channel,
        http,
        credential=credential,
        is_stopping=is_stopping,
        workers=workers,
        generation=generation,
        kept=kept,
        profile=settings.profile,
        console=ConsoleFiles(settings.profile) if settings.console.enabled else None,
    )
    runner = Runner(app, keepalive_timeout=KEEPALIVE_SECONDS)
    stack.push_async_callback(lambda: runner.close(ending.remaining()))
    await runner.setup()
    try:
        shared = settings.workers > 1 or None
        tls = follow(stack, "http", http.tls)
        if tls is None:
            site = web.TCPSite(runner, http.host, http.port, backlog=BACKLOG, reuse_port=shared)
        else:
            room = app[CONNECTIONS]
            site = TlsSite(runner, http.host, http.port, tls, room, backlog=BACKLOG, reuse_port=shared)
        await site.start()
    except OSError as error:
        raise refusal(http_listener(settings), error) from None
    return runner


async def leave_http(runner: Runner | None, notice: float) -> None:
    """Send the callers away with their next answers for the time of the notice; then stop listening."""
    if runner is None:
        return
    runner.leave()
    closing = min(notice / 4, CLOSING)
    await asyncio.sleep(notice - closing)
    await runner.stop_listening(closing)


async def open_observability(stack: AsyncExitStack, settings: Settings, worker: int) -> None:
    """Trace and serve metrics for as long as the stack, where that is asked for.

    One of several workers gives its metrics to its parent, which serves those of all. Raises ConfigError as `open_http`
    does.
    """
    set_build(VERSION, settings.profile)
    await open_telemetry(stack, settings)
    listen, folder = settings.metrics.listen, os.environ.get(RUNTIME_FOLDER)
    if listen is None:
        return
    try:
        if settings.workers > 1 and folder:
            runner = await serve_figures(figures_socket(Path(folder), worker))
        else:
            runner, _ = await start_metrics(listen, tls=follow(stack, "metrics", settings.metrics.tls))
    except OSError as error:
        raise refusal(metrics_listeners(settings.metrics)[0], error) from None
    stack.push_async_callback(runner.cleanup)
