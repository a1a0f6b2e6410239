"""`waypost doctor`: what keeps a gateway from serving here, a line for each check with the fix of what failed.

It reads and asks; it makes and changes nothing. Checks run side by side and each has a limit. Endpoints go by their
names: no URL and no key is printed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import aiohttp
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cli.addresses import all_listeners, find_trouble
from cli.check import validate
from cli.endpoint_checks import Reading, check_clock, read_chain, read_source
from cli.options import add_config, add_json, add_network, config_path, read_settings
from cli.terminal import Cell, table
from runtime.config_errors import ConfigError
from runtime.settings import SOURCES
from server.apis.endpoints import source_endpoints
from server.chains.facts import load_facts
from server.chains.registry import endpoints_of
from server.storage.database import inspect_database
from server.storage.failures import STORAGE_FAILURES, describe_database, explain_failure
from server.upstream.transport import open_session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable

    from cli.addresses import Listener
    from cli.terminal import Style
    from runtime.settings import Settings

State = Literal["ok", "failed", "skipped"]

LONGEST_SECONDS = 15.0
"""How long a check may take; those of ports take less."""
_PORT_SECONDS = 3.0
_STYLES: dict[State, Style] = {"ok": "good", "failed": "bad", "skipped": "dim"}
_START = "start them with a gateway: `waypost serve --network devnet` (in the tree: `make run`)"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `fix` where it failed."""

    check: str
    state: State
    found: str
    fix: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost doctor`."""
    add_config(parser)
    add_network(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; the exit code is 1 when a check failed."""
    # What the gateway would log of its endpoints is what is found.
    logging.disable(logging.CRITICAL)
    try:
        findings = _configuration(arguments)
        settings, devnet = _with_devnet(arguments) if all(one.state == "ok" for one in findings) else (None, [])
        findings += devnet
        if settings is not None:
            findings += asyncio.run(examine(settings))
    finally:
        logging.disable(logging.NOTSET)
    is_well = all(one.state != "failed" for one in findings)
    if arguments.json:
        print(json.dumps({"ok": is_well, "checks": [asdict(one) for one in findings]}, indent=2))
    else:
        print(table(("check", "state", "finding"), [_cells(one) for one in findings], bare=True))
    return 0 if is_well else 1


def _cells(one: Finding) -> tuple[str, Cell, str]:
    return one.check, Cell(one.state, _STYLES[one.state]), f"{one.found}; fix: {one.fix}" if one.fix else one.found


def _configuration(arguments: argparse.Namespace) -> list[Finding]:
    """Return whether the configuration is valid, with a finding for each mistake."""
    try:
        settings = read_settings(arguments)
        validate(settings)
    except ConfigError as error:
        return [
            Finding("configuration", "failed", f"{one.key} = {one.value}" if one.value else one.key, one.fix)
            for one in error.every()
        ]
    file = config_path(arguments)
    found = f"valid: {file if file is not None else 'no file, every default'}, profile {settings.profile}"
    return [Finding("configuration", "ok", found)]


def _with_devnet(arguments: argparse.Namespace) -> tuple[Settings, list[Finding]]:
    """Return the settings, on the devnet with the nodes that run, and whether these do."""
    settings = read_settings(arguments)
    if settings.profile != "devnet" or settings.chains:
        return settings, []
    try:
        from devnet.status import running_settings
    except ModuleNotFoundError:
        fix = "install the extra `devnet`, or configure [chains]"
        return settings, [Finding("devnet", "failed", "this installation has no local chains", fix)]
    found = running_settings()
    if found is None:
        return settings, [Finding("devnet", "failed", "the local chains are not running", _START)]
    return read_settings(arguments, found), [Finding("devnet", "ok", f"{len(found['chains'])} local chains run")]


async def examine(settings: Settings) -> list[Finding]:
    """Return what the checks of ports, database, endpoints and clock found, in that order."""
    async with open_session(settings.outbound) as http:
        facts = [one for one in load_facts().values() if endpoints_of(one, settings)]
        sources = [name for name in SOURCES if source_endpoints(settings, name)]
        chains = [_bounded(f"chain {one.slug}", read_chain(one, settings, http)) for one in facts]
        others = [
            _bounded(f"source {name}", read_source(name, source_endpoints(settings, name), http)) for name in sources
        ]
        ports, database, read = await asyncio.gather(
            _ports(settings), _database(settings), asyncio.gather(*chains, *others)
        )
    readings = [one for one in read if isinstance(one, Reading)]
    findings = [_of_reading(one) if isinstance(one, Reading) else one for one in read]
    if not facts and settings.profile != "devnet":
        findings.append(Finding("endpoints", "skipped", "no chain has an endpoint"))
    return [*ports, database, *findings, _of_clock([offset for one in readings for offset in one.offsets])]


async def _bounded(check: str, reading: Awaitable[Reading]) -> Reading | Finding:
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            return await reading
    except TimeoutError:
        fix = "see whether its endpoints can be reached from here, or name others in the configuration"
        return Finding(check, "failed", f"no answer within {LONGEST_SECONDS:g} s", fix)


def _of_reading(one: Reading) -> Finding:
    answering = f"{one.endpoints - len(one.failures)} of {one.endpoints} endpoints answer"
    if not one.failures and not one.trouble:
        return Finding(one.check, "ok", ", ".join(part for part in (answering, one.state) if part))
    labels: dict[str, list[str]] = {}
    for label, why in one.failures.items():
        labels.setdefault(why, []).append(label)
    words = "; ".join(f"{', '.join(some)}: {why}" for why, some in labels.items())
    found = ", ".join(part for part in (answering, one.trouble) if part) + (f": {words}" if words else "")
    fix = "see whether they run and can be reached from here, or name others in the configuration"
    return Finding(one.check, "failed", found, fix)


def _of_clock(offsets: list[float]) -> Finding:
    found = check_clock(offsets)
    if found is None:
        return Finding("clock", "skipped", "no endpoint stated the time (Date header)")
    return Finding("clock", "ok" if found.is_right else "failed", found.words, found.fix)


async def _database(settings: Settings) -> Finding:
    url = settings.storage.url.get_secret_value()
    name = describe_database(url)
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            revision = await inspect_database(url, settings.profile)
    except STORAGE_FAILURES as error:
        cause, fix = explain_failure(error, url)
        return Finding("database", "failed", f"{name} cannot be used: {cause}", fix)
    return Finding("database", "ok", f"{name}, {'made at the first start' if revision is None else 'readable'}")


async def _ports(settings: Settings) -> list[Finding]:
    listeners = all_listeners(settings)
    troubles = await asyncio.gather(*(asyncio.to_thread(find_trouble, one) for one in listeners))
    is_gateway = False
    findings = []
    for one, trouble in zip(listeners, troubles, strict=True):
        check = f"port {one.setting}"
        if trouble is None:
            findings.append(Finding(check, "ok", f"{one.address} is free"))
            continue
        # What listens beside a gateway's first port is the gateway's too.
        is_gateway = is_gateway or await _is_gateway(one, settings)
        if is_gateway:
            findings.append(Finding(check, "ok", f"{one.address} is served by a gateway"))
        else:
            why, _, fix = trouble.partition("; ")
            findings.append(Finding(check, "failed", f"{one.address}: {why}", fix))
    return findings


async def _is_gateway(listener: Listener, settings: Settings) -> bool:
    """Return whether what listens there is a gateway, by its readiness (JSON-RPC face) or its health service (gRPC)."""
    if listener.setting == "grpc.port":
        if settings.grpc.tls.files is not None:
            return False
        async with grpc.aio.insecure_channel(listener.address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            try:
                await stub.Check(health_pb2.HealthCheckRequest(), timeout=_PORT_SECONDS)
            except grpc.aio.AioRpcError:
                return False
            return True
    scheme = "http" if settings.http.tls.files is None else "https"
    within = aiohttp.ClientTimeout(total=_PORT_SECONDS)
    try:
        # Who it is matters, not whether its certificate is trusted here.
        async with (
            aiohttp.ClientSession(timeout=within) as session,
            session.get(f"{scheme}://{listener.address}/readyz", ssl=False) as response,
        ):
            answer: Any = await response.json()
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return False
    return isinstance(answer, dict) and {"ready", "chains"} <= answer.keys()
