"""`waypost check`: validates a configuration and reports what each chain will use."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from cli.apps import configured_catalogue
from cli.options import add_config, add_json, add_network, config_path, read_settings
from cli.terminal import Cell, paint, table
from runtime.operations import load_operations
from runtime.settings import SOURCES
from server.apis.endpoints import source_endpoints
from server.catalog.calendar import open_calendar
from server.chains.facts import load_facts
from server.chains.registry import check_configured

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from cli.terminal import Style
    from runtime.settings import EndpointSettings, Settings
    from server.chains.facts import ChainFacts, PublicEndpoint


_STYLES: dict[str, Style] = {"configured": "good", "built-in": "", "none": "doubtful"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost check`."""
    add_config(parser)
    add_network(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Report; a wrong configuration is a ConfigError, which the command answers with exit code 1."""
    settings = read_settings(arguments)
    validate(settings)
    report = describe(settings)
    if arguments.json:
        print(json.dumps(report, indent=2))
        return 0
    file = config_path(arguments)
    print(f"configuration  {file if file is not None else 'none: every default'}")
    for name, value in report["settings"].items():
        print(f"{name:<14} {value}")
    print()
    print(table(("chain", "source", "endpoints"), [_chain_cells(row) for row in report["chains"]], bare=True))
    print()
    cells = [(row["name"], row["source"], ", ".join(row["endpoints"]) or "off") for row in report["sources"]]
    print(table(("off-chain", "source", "endpoints"), cells, bare=True))
    print(paint("\nThe configuration is valid.", "good"))
    return 0


def _chain_cells(row: dict[str, Any]) -> tuple[str, Cell, str]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in row["kinds"].items()) or "no endpoint"
    labels = ", ".join(row["endpoints"])
    unread = "" if row["answers"] else "  [no operation reads this chain yet]"
    source = Cell(row["source"], _STYLES[row["source"]])
    return row["chain"], source, f"{kinds}{': ' if labels else ''}{labels}{unread}"


def validate(settings: Settings) -> None:
    """Return where chains, calendar and published apps are what settings may name; raises ConfigError."""
    check_configured(settings)
    open_calendar(settings, load_facts())
    configured_catalogue(settings)


def describe(settings: Settings) -> dict[str, Any]:
    """Return what the configuration amounts to: `settings` in words, and a row for every chain.

    A row has chain, family, source (`configured`, `built-in` or `none`), endpoints (labels), kinds (counts) and
    answers (whether this build has an operation that reads the family); a row of `sources`, of what is read off the
    chains, has name, source and endpoints. No URL and no secret is in it.
    """
    return {
        "settings": {
            "profile": settings.profile,
            "workers": settings.workers,
            "JSON-RPC": f"{settings.http.host}:{settings.http.port}",
            "gRPC": f"{settings.grpc.host}:{settings.grpc.port}",
            "private gRPC": settings.grpc.private_listen or "off",
            "transcoder to": settings.transcoder.grpc_target or "the server in the same process",
            "quota of a key": f"{settings.quotas.default_rate:g}/s, {settings.quotas.default_burst} at once",
            "quota of demo": f"{settings.quotas.demo_rate:g}/s, {settings.quotas.demo_burst} at once",
            "metrics": settings.metrics.listen or "off",
            "log": f"{settings.log.level}, {settings.log.format}",
        },
        "chains": [_row(facts, settings) for facts in load_facts().values()],
        "sources": [_source_row(name, settings) for name in SOURCES],
    }


def _source_row(name: str, settings: Settings) -> dict[str, Any]:
    endpoints = source_endpoints(settings, name)
    source = "configured" if name in settings.sources else "built-in" if endpoints else "none"
    return {"name": name, "source": source, "endpoints": [endpoint.label for endpoint in endpoints]}


def _row(facts: ChainFacts, settings: Settings) -> dict[str, Any]:
    configured = settings.chains.get(facts.slug)
    endpoints: Iterable[EndpointSettings | PublicEndpoint]
    if configured is not None:
        source, endpoints = "configured", configured.endpoints
    elif settings.profile == "devnet":
        # Local nodes are added by `waypost serve --network devnet`; public ones never answer for them.
        source, endpoints = "none", ()
    else:
        source, endpoints = "built-in", facts.endpoints
    endpoints = tuple(endpoints)
    return {
        "chain": facts.slug,
        "family": facts.family,
        "source": source,
        "endpoints": [endpoint.label for endpoint in endpoints],
        "kinds": dict(Counter(endpoint.kind for endpoint in endpoints)),
        "answers": any(facts.family in operation.available for operation in load_operations()),
    }
