"""Whether the contracts of the address book are on a chain."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.chains.capabilities import ReadsPrograms
from server.chains.view import ReadView
from server.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Sequence

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
