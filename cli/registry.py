"""`waypost registry`: checks the protocol registry against a chain's nodes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cli.options import add_config, add_json, add_network, read_settings
from cli.terminal import Cell, fail, table
from server.catalog.protocols import load_address_book
from server.chains.capabilities.contracts import ReadsPrograms
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import ChainUnknown, GatewayError, NotAvailable
from server.upstream.transport import open_session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from runtime.settings import Settings
    from server.catalog.protocols import AddressBook
    from server.chains.registry import Chain


@dataclass(frozen=True, slots=True)
class Deployed:
    """A registered contract and what stands at its address now.

    `size` is that of the code in bytes, 0 where there is none, None where no node answered; `trouble` then states why.
    """

    protocol: str
    key: str
    address: str
    size: int | None
    trouble: str = ""


async def read_deployed(chain: Chain, book: AddressBook) -> list[Deployed]:
    """Return what stands at every registered address of the chain, in the book's order.

    All are asked for in one turn, so they leave in a few JSON-RPC batches. Raises NotAvailable where something is
    registered and this build does not look for code on chains of that family.
    """
    entries = [
        (slug, key, contract.address)
        for slug, protocol in book.protocols.items()
        for key, contract in protocol.contracts.get(chain.slug, {}).items()
    ]
    if not entries:
        return []
    reader = chain.capability(ReadsPrograms)
    return await asyncio.gather(*(_read_one(reader, *entry) for entry in entries))


def lacking(found: Sequence[Deployed]) -> list[Deployed]:
    """Return those that have no code, or about which no node answered."""
    return [one for one in found if not one.size]


async def _read_one(reader: ReadsPrograms, protocol: str, key: str, address: str) -> Deployed:
    # A view of its own for each: reads of one view at the newest block wait for each other.
    try:
        size = await reader.read_program_size(address, ReadView())
    except GatewayError as error:
        return Deployed(protocol, key, address, None, error.message)
    return Deployed(protocol, key, address, size)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost registry`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    verify = actions.add_parser("verify", help="ask a chain's nodes whether there is code at every registered address")
    verify.add_argument("--chain", required=True, metavar="SLUG", help="the chain whose addresses are checked")
    add_config(verify)
    add_network(verify)
    add_json(verify)


def run(arguments: argparse.Namespace) -> int:
    """Check; the exit code is 1 when an address has no code or could not be read, or nothing could be checked."""
    settings = read_settings(arguments)
    try:
        found = asyncio.run(verify(settings, arguments.chain))
    except (ChainUnknown, NotAvailable) as error:
        return fail(error.message, as_json=arguments.json)
    if not found:
        return fail(f"nothing is registered on {arguments.chain}", as_json=arguments.json)
    missing = lacking(found)
    if arguments.json:
        print(json.dumps([_row(one) for one in found], indent=2))
    else:
        print(table(("protocol", "contract", "address", "code"), [_cells(one) for one in found], bare=True))
        print(f"\n{arguments.chain}: {len(found)} addresses, {len(found) - len(missing)} with code, {_count(missing)}")
    return 1 if missing else 0


async def verify(settings: Settings, slug: str) -> list[Deployed]:
    """Return what stands at every registered address of the chain.

    Raises ChainUnknown, and NotAvailable for chains of a family whose code this build does not read, and for those
    without an endpoint.
    """
    async with open_session() as http:
        chains = Chains.load(settings, http)
        try:
            chain = chains.get(slug)
            if not chain.endpoints:
                raise NotAvailable(f"{slug} has no endpoint to ask: name one in a configuration file (--config)")
            return await read_deployed(chain, load_address_book())
        finally:
            await chains.close()


def _cells(one: Deployed) -> tuple[str, str, str, Cell]:
    state = Cell(f"{one.size} bytes", "good") if one.size else Cell("NO CODE", "bad")
    if one.size is None:
        state = Cell(f"UNKNOWN: {one.trouble}", "doubtful")
    return one.protocol, one.key, one.address, state


def _count(missing: Sequence[Deployed]) -> str:
    unknown = sum(one.size is None for one in missing)
    return f"{len(missing) - unknown} without, {unknown} unknown"


def _row(one: Deployed) -> dict[str, Any]:
    row = {"protocol": one.protocol, "contract": one.key, "address": one.address, "codeSize": one.size}
    return row | ({"trouble": one.trouble} if one.trouble else {})
