"""`waypost server`: the gRPC server alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.addresses import grpc_listeners, metrics_listeners, refuse_taken
from cli.control import Control
from cli.gateway import run_gateway
from cli.options import add_config, add_grpc_port, add_network, read_settings
from cli.process import run_process

if TYPE_CHECKING:
    import argparse

    from cli.faces import Ports
    from cli.process import Stop
    from runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost server`."""
    add_config(parser)
    add_network(parser)
    add_grpc_port(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal."""
    settings = read_settings(arguments, {"workers": 1})

    def read(content: bytes | None) -> Settings:
        return read_settings(arguments, {"workers": 1}, content)

    def announce(ports: Ports) -> None:
        print(f"Waypost serves gRPC on {settings.grpc.host}:{ports.grpc}", flush=True)
        if settings.grpc.private_listen is not None:
            print(f"  and the transcoder on {settings.grpc.private_listen}", flush=True)

    async def main(stop: Stop) -> int:
        await stop.unless_hurried(run_gateway(settings, stop, announce, Control(read), http=False))
        return 0

    refuse_taken([*grpc_listeners(settings), *metrics_listeners(settings.metrics)])
    return run_process(main, settings.log, says_stopped=True)
