"""`waypost serve`: the whole gateway in one process, or in several fresh ones on the same ports."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cli.faces import Ports
from cli.options import (
    DEVNET_KEY,
    add_config,
    add_full,
    add_grpc_port,
    add_http_port,
    add_network,
    config_path,
    given_overrides,
    merge,
    read_settings,
)
from cli.process import run_process
from cli.workers import Parent, run_workers
from server.chains.registry import check_configured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cli.process import Stop
    from runtime.settings import Settings


# The key that the devnet, and nothing else, accepts.

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}
_DEMO = '{"jsonrpc":"2.0","id":1,"method":"getBlockHeight","params":{"chain":"ethereum"}}'


def base_url(settings: Settings, ports: Ports) -> str:
    """Return the JSON-RPC address that a client on this machine pastes: with the devnet's key, or the demo's."""
    key = DEVNET_KEY if settings.profile == "devnet" else "demo"
    return f"http://{_reachable(settings.http.host)}:{ports.http}/{key}"


def greeting(settings: Settings, ports: Ports, examples: Sequence[str] = ()) -> str:
    """Return the text to print: the addresses and lines that work when pasted."""
    base = base_url(settings, ports)
    http, grpc = base.rpartition("/")[0], f"{_reachable(settings.grpc.host)}:{ports.grpc}"
    if settings.profile == "devnet":
        lines = [
            "Waypost is serving local chains.",
            f"  Base URL  {base}  (POST {base}/v1)",
            f"  gRPC      {grpc}  (metadata x-api-key: {DEVNET_KEY})",
            f"  OpenRPC   {http}/openrpc.json",
        ]
    else:
        lines = [
            "Waypost is serving.",
            f"  Base URL  {http}/<key>  (`./waypost keys create NAME` makes a key; without one: {base})",
            f"  gRPC      {grpc}  (metadata x-api-key: <key>)",
            f"  OpenRPC   {http}/openrpc.json",
        ]
        examples = examples or (f"curl -s {base}/v1 -H 'content-type: application/json' -d '{_DEMO}'",)
    if examples:
        lines += ["", "Try:", *(f"  {line}" for line in examples)]
    return "\n".join([*lines, "", "Ctrl-C ends it."])


def _reachable(host: str) -> str:
    """Return a host that a client on this machine can use."""
    return _EVERYWHERE.get(host, f"[{host}]" if ":" in host and not host.startswith("[") else host)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost serve`."""
    add_config(parser)
    add_network(parser)
    add_full(parser)
    add_http_port(parser)
    add_grpc_port(parser)
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        help='processes on the same ports; more than one needs quotas.mode "per-process"',
    )
    parser.add_argument("--worker", type=int, metavar="NUMBER", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal; on the devnet start its nodes first and end them last."""
    settings = read_settings(arguments)
    check_configured(settings)
    if arguments.worker is not None:
        return run_process(lambda stop: _work(settings, stop, arguments.worker), settings.log)
    return run_process(lambda stop: _serve(arguments, settings, stop), settings.log)


async def _serve(arguments: argparse.Namespace, settings: Settings, stop: Stop) -> int:
    async with _local_chains(settings, stop, full=arguments.full) as found:
        if found is None:
            return 0
        overrides = merge(found, given_overrides(arguments))
        settings = read_settings(arguments, found)

        def announce(ports: Ports) -> None:
            print(greeting(settings, ports, _examples(settings, ports) if found else ()), flush=True)

        if settings.workers == 1:
            from cli.gateway import run_gateway  # here: the parent of workers does without the server

            await stop.unless_hurried(run_gateway(settings, stop, announce))
            return 0
        return await run_workers(
            settings.workers,
            stop,
            lambda: announce(Ports(settings.http.port, settings.grpc.port)),
            config=config_path(arguments),
            overrides=overrides,
            grace=settings.server_limits.notice + settings.server_limits.drain,
        )


def _examples(settings: Settings, ports: Ports) -> list[str]:
    from devnet.examples import run_lines

    assert ports.grpc is not None
    return run_lines(base_url(settings, ports), ports.grpc)


async def _work(settings: Settings, stop: Stop, number: int) -> int:
    from cli.gateway import run_gateway  # before the first sign of life: it takes a second

    parent = Parent()
    following = asyncio.create_task(parent.follow(stop))
    gateway = run_gateway(
        settings, stop, lambda ports: parent.report_ready(), worker=number, workers=parent.counts_by_name
    )
    await stop.unless_hurried(gateway)
    following.cancel()
    return 0


@asynccontextmanager
async def _local_chains(settings: Settings, stop: Stop, *, full: bool) -> AsyncIterator[dict[str, Any] | None]:
    """Run the devnet's nodes where the profile asks for them and no chain is configured; with `full` all there are.

    Yields the settings that they bring, empty without them; None when a stop was asked for before they were up.
    """
    if settings.profile != "devnet" or settings.chains:
        yield {}
        return
    # Imported here: everything else serves without the devnet's packages.
    from cli.devnet import run_local_chains

    async with run_local_chains(stop, full=full) as devnet:
        yield None if devnet is None else devnet.settings_overrides()
