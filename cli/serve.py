"""`waypost serve`: the whole gateway in one process, or in several fresh ones on the same ports."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cli.addresses import all_listeners, refuse_taken
from cli.control import Control, open_control
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
from cli.reloader import listen_for_reload
from cli.template import run_template
from cli.terminal import paint
from cli.worker import Parent
from cli.worker_reload import WorkerControl, WorkersReload, read_configuration, read_content
from cli.workers import run_workers
from runtime.places import COMMAND
from server.chains.registry import check_configured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AsyncExitStack

    from cli.process import Stop
    from cli.workers import Workers
    from runtime.settings import Settings


# The key that the devnet, and nothing else, accepts.

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}
_DEMO = '{"jsonrpc":"2.0","id":1,"method":"getBlockHeight","params":{"chain":"ethereum"}}'


def base_url(settings: Settings, ports: Ports) -> str:
    """Return the JSON-RPC address that a client on this machine pastes: with the devnet's key, or the demo's."""
    key = DEVNET_KEY if settings.profile == "devnet" else "demo"
    scheme = "http" if settings.http.tls.files is None else "https"
    return f"{scheme}://{_reachable(settings.http.host)}:{ports.http}/{key}"


def greeting(settings: Settings, ports: Ports, examples: Sequence[str] = ()) -> str:
    """Return the text to print: the addresses and lines that work when pasted."""
    base = base_url(settings, ports)
    http, grpc = base.rpartition("/")[0], f"{_reachable(settings.grpc.host)}:{ports.grpc}"
    if settings.profile == "devnet":
        lines = [
            paint("Waypost is serving local chains.", "good"),
            f"  Base URL  {base}  (POST {base}/v1)",
            f"  gRPC      {grpc}  (metadata x-api-key: {DEVNET_KEY})",
            f"  OpenRPC   {http}/openrpc.json",
        ]
    else:
        lines = [
            paint("Waypost is serving.", "good"),
            f"  Base URL  {http}/<key>  (`{COMMAND} keys create NAME` makes a key; without one: {base})",
            f"  gRPC      {grpc}  (metadata x-api-key: <key>)",
            f"  OpenRPC   {http}/openrpc.json",
        ]
        examples = examples or (f"curl -s {base}/v1 -H 'content-type: application/json' -d '{_DEMO}'",)
    if settings.console.enabled:
        lines.append(f"  Console   {http}/  (in a browser)")
    if examples:
        lines += ["", paint("Try:", "bold"), *(f"  {line}" for line in examples)]
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
        metavar="N|auto",
        help="processes on the same ports, which share callers' quotas; auto: one for each processor",
    )
    parser.add_argument("--worker", type=int, metavar="NUMBER", help=argparse.SUPPRESS)
    parser.add_argument("--ledger", type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    parser.add_argument("--template", type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal; on the devnet start its nodes first and end them last."""
    if arguments.template is not None:
        forked = run_template(arguments.template)
        if forked is None:
            return 0
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        return run(parser.parse_args(forked))
    content, generation = None, 1
    if arguments.worker is not None and config_path(arguments) is not None:
        content, generation = read_configuration(sys.stdin.buffer)
    else:
        content = read_content(config_path(arguments))
    settings = read_settings(arguments, content=content)
    check_configured(settings)
    if arguments.worker is not None:
        return run_process(lambda stop: _work(arguments, settings, stop, generation), settings.log)
    refuse_taken(all_listeners(settings), shared=settings.workers > 1)
    return run_process(lambda stop: _serve(arguments, settings, stop, content), settings.log, says_stopped=True)


async def _serve(arguments: argparse.Namespace, settings: Settings, stop: Stop, content: bytes | None) -> int:
    async with _local_chains(settings, stop, full=arguments.full) as found:
        if found is None:
            return 0
        overrides = merge(found, given_overrides(arguments))
        settings = read_settings(arguments, found, content)

        def read(content: bytes | None) -> Settings:
            return read_settings(arguments, found, content)

        def announce(ports: Ports) -> None:
            print(greeting(settings, ports, _examples(settings, ports) if found else ()), flush=True)

        if settings.workers == 1:
            from cli.gateway import run_gateway  # here: the parent of workers does without the server

            await stop.unless_hurried(run_gateway(settings, stop, announce, Control(read)))
            return 0

        async def control(stack: AsyncExitStack, workers: Workers) -> None:
            reload = WorkersReload(workers, settings, read, config_path(arguments)).reload
            await open_control(stack, settings, settings.http.port, reload)
            listen_for_reload(reload)

        return await run_workers(
            settings.workers,
            stop,
            lambda: announce(Ports(settings.http.port, settings.grpc.port)),
            config=config_path(arguments),
            content=content,
            overrides=overrides,
            grace=settings.server_limits.notice + settings.server_limits.drain,
            control=control,
            ledger=settings.quotas.backend == "memory",
            metrics=settings.metrics,
        )


def _examples(settings: Settings, ports: Ports) -> list[str]:
    from devnet.examples import run_lines

    assert ports.grpc is not None
    return run_lines(base_url(settings, ports), ports.grpc)


async def _work(arguments: argparse.Namespace, settings: Settings, stop: Stop, generation: int) -> int:
    from cli.gateway import run_gateway  # before the first sign of life: it takes a second

    parent = Parent()
    following = asyncio.create_task(parent.follow(stop))
    control = WorkerControl(parent, lambda content: read_settings(arguments, content=content), generation)
    gateway = run_gateway(
        settings,
        stop,
        lambda ports: parent.report_ready(),
        control,
        worker=arguments.worker,
        workers=parent.counts_by_name,
        ledger=arguments.ledger,
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
    from cli.devnet import run_local_chains  # here: only this command and profile need it

    async with run_local_chains(stop, full=full) as devnet:
        yield None if devnet is None else devnet.settings_overrides()
