"""Each section with real content on it: what is looked at by axe-core, and what pictures show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from playwright.async_api import expect

from devnet import known, known_nft
from tests.console.board import filled, looked_at
from tests.console.markets import part
from tests.console.operations import BALANCE, answered, listed
from tests.console.visits import settled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.console.visits import Visit


@dataclass(frozen=True)
class Filled:
    """Where a section with content is found, and what fills it."""

    address: str
    fill: Callable[[Visit], Awaitable[None]]


async def board(opened: Visit) -> None:
    """Two chains are followed, and the figures of block times shown."""
    await filled(opened.page)
    for slug in ("base", "solana"):
        await looked_at(opened.page, slug)
    await open_figures(opened)


async def catalogue(opened: Visit) -> None:
    """The published methods are listed too."""
    await listed(opened.page)
    await opened.page.get_by_role("button", name="Search published contracts too").click()
    await expect(opened.page.get_by_role("link", name="svc_").first).to_be_visible()


async def operation(opened: Visit) -> None:
    """The answer of a call."""
    assert await answered(opened.page) is None


async def refused(opened: Visit) -> None:
    """An error at its field."""
    assert await answered(opened.page) is not None


async def watch(opened: Visit) -> None:
    """Events of a watch."""
    assert await answered(opened.page) is None


async def wallet(opened: Visit) -> None:
    """The portfolio, the details of a chain with a revoke transaction, tokens of a collection."""
    page = opened.page
    await expect(page.get_by_role("table", name="Assets")).to_be_visible()
    await read_details(opened, "ethereum")
    await page.get_by_role("button", name="Revoke transaction").first.click()
    await expect(page.get_by_role("region", name="Unsigned revoke transaction")).to_contain_text("0x")
    await read_collection(opened, known_nft.LIGHTHOUSES)
    await open_figures(opened)


async def markets(opened: Visit) -> None:
    """All four parts, with their figures."""
    for name in ("Gas", "Funding", "Best yields", "Prices"):
        await part(opened.page, name)
    await open_figures(opened)


async def usage(opened: Visit) -> None:
    """What the key was used for."""
    for name in ("Operations", "Chains", "Over time"):
        await part(opened.page, name)
    await open_figures(opened)


FILLED = {
    "chains": Filled("#/chains", board),
    "operations": Filled("#/operations", catalogue),
    "operation": Filled(BALANCE, operation),
    "refused": Filled("#/getBalance?chain=ethereum&address=0x12", refused),
    "watch": Filled("#/watchBlocks?chain=base", watch),
    "wallet": Filled(f"#/wallet?address={known.VITALIK}", wallet),
    "markets": Filled("#/markets", markets),
    "usage": Filled("#/usage", usage),
}


async def read_details(opened: Visit, chain: str) -> None:
    """Open a chain's details and read them."""
    details = opened.page.get_by_role("region", name="Details by chain").locator("details").filter(has_text=chain)
    await details.first.locator("summary").click()
    await details.first.get_by_role("button", name=f"of {chain}").click()
    await settled(opened.page)


async def read_collection(opened: Visit, contract: str) -> None:
    """Read what the wallet has of a collection."""
    page = opened.page
    await page.get_by_label("Collection", exact=True).fill(contract)
    await page.get_by_role("button", name="Read NFTs").click()
    tokens = page.get_by_role("region", name="NFTs").get_by_role("list")
    await expect(tokens.get_by_role("listitem").first).to_be_visible()
    await settled(page)


async def open_figures(opened: Visit) -> None:
    """Show the table behind every plot."""
    buttons = opened.page.get_by_role("button", name="Figures of", expanded=False)
    while await buttons.count():
        await buttons.first.click()
