"""`waypost transcoder`: the JSON-RPC face alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.addresses import http_listener, metrics_listeners, refuse_taken
from cli.control import Control
from cli.faces import Ports, run_transcoder
from cli.options import add_config, add_http_port, read_settings
from cli.process import run_process

if TYPE_CHECKING:
    import argparse

    from cli.process import Stop
    from runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost transcoder`."""
    add_config(parser)
    add_http_port(parser)
    parser.add_argument(
        "--grpc-target", metavar="TARGET", help="the server's private listener: HOST:PORT or unix:/path"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal."""
    settings = read_settings(arguments, {"workers": 1})

    def read(content: bytes | None) -> Settings:
        return read_settings(arguments, {"workers": 1}, content)

    def announce(ports: Ports) -> None:
        target = settings.transcoder.grpc_target
        scheme = "http" if settings.http.tls.files is None else "https"
        print(f"Waypost serves JSON-RPC on {scheme}://{settings.http.host}:{ports.http} for {target}", flush=True)

    async def main(stop: Stop) -> int:
        await stop.unless_hurried(run_transcoder(settings, stop, announce, Control(read)))
        return 0

    refuse_taken([http_listener(settings), *metrics_listeners(settings.metrics)])
    return run_process(main, settings.log, says_stopped=True)
