"""The wallet: one call first, the rest when it is opened, and nothing that is missing looks like zero."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error, expect

from devnet import known, known_nft
from tests.console.filled import read_collection, read_details
from tests.console.visits import BASE, Visits, settled

if TYPE_CHECKING:
    from playwright.async_api import Request, Route

WALLET = f"#/wallet?address={known.VITALIK}"


async def test_an_address_gives_its_portfolio_by_one_call(visit: Visits) -> None:
    opened = await visit("#/wallet")
    page = opened.page
    await page.get_by_label("Address or name").fill(known.VITALIK)
    await page.get_by_role("button", name="Read", exact=True).click()
    await expect(page.get_by_role("table", name="Assets").get_by_role("row").nth(1)).to_be_visible()
    assert page.url.endswith(WALLET)
    assert [call["method"] for call in opened.calls() if call["method"] != "getHealth"] == ["getPortfolio"]
    await page.get_by_role("button", name="Figures of Value by chain and token").click()
    await expect(page.get_by_role("table", name="Figures: value by chain and token")).to_be_visible()


async def test_a_name_is_resolved_first_and_one_that_is_not_registered_is_said_at_the_field(visit: Visits) -> None:
    opened = await visit("#/wallet?address=vitalik.eth")
    page = opened.page
    await expect(page.get_by_role("main")).to_contain_text(known.VITALIK)
    await expect(page.get_by_role("table", name="Assets")).to_be_visible()
    field = page.get_by_label("Address or name")
    await field.fill("nobody-has-registered-this.eth")
    await field.press("Enter")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_role("table", name="Assets")).to_have_count(0)
    await field.fill("no address <b>at all</b>")
    await field.press("Enter")
    await expect(field).to_have_accessible_description(re.compile("address|name"))
    await expect(field).to_have_attribute("aria-invalid", "true")


async def test_an_address_that_is_left_while_it_is_read_is_not_shown_beside_the_next(visit: Visits) -> None:
    opened = await visit("#/wallet")
    page = opened.page
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        asked = json.dumps(route.request.post_data_json)
        answer = await route.fetch()
        if known.VITALIK in asked and "getPortfolio" in asked:
            await held.wait()
        with suppress(Error):  # the page has left it
            await route.fulfill(response=answer)

    await opened.context.route(f"{BASE}/*/v1", hold)
    await opened.go(WALLET)
    await expect(page.get_by_text("Reading the portfolio")).to_be_visible()
    await opened.go(f"#/wallet?address={known.ALICE}")
    await expect(page.get_by_role("table", name="Assets")).to_be_visible()
    await settled(page)
    before = await page.get_by_role("main").inner_text()
    held.set()
    await asyncio.sleep(0.5)
    assert await page.get_by_role("main").inner_text() == before
    # Nor what was read of it in full.
    await opened.go(WALLET)
    await read_details(opened, "ethereum")
    await expect(page.get_by_role("region", name="Approvals on ethereum").first).to_be_visible()
    await opened.go(f"#/wallet?address={known.ALICE}")
    await expect(page.get_by_role("region", name="Approvals on ethereum")).to_have_count(0)
    await settled(page)
    await expect(page.get_by_role("table", name="Assets")).to_be_visible()
    await expect(page.get_by_role("region", name="Approvals on ethereum")).to_have_count(0)


async def test_details_of_a_chain_are_read_when_asked_for_at_most_ten_calls_a_second(visit: Visits) -> None:
    opened = await visit(WALLET)
    page = opened.page
    await expect(page.get_by_role("table", name="Assets")).to_be_visible()
    before = len(opened.requests)
    for chain in ("ethereum", "base", "polygon", "arbitrum"):
        details = page.get_by_role("region", name="Details by chain").locator("details").filter(has_text=chain).first
        await details.locator("summary").click()
        await expect(details.get_by_role("button", name=f"of {chain}")).to_contain_text(re.compile(r"\(\d+ units\)"))
    assert opened.requests[before:] == []
    for chain in ("ethereum", "base", "polygon", "arbitrum"):
        await page.get_by_role("button", name=f"of {chain}").click()
    await settled(page)
    # By the browser's clock, in milliseconds: ours hears of requests in heaps.
    posted = [(one.timing["startTime"], called(one)) for one in opened.requests[before:]]
    assert sum(count for _, count in posted) >= 12
    for begin, _ in posted:
        assert sum(count for at, count in posted if begin <= at < begin + 950) <= 10, posted
    for part in ("Approvals", "Positions", "Transfers"):
        await expect(page.get_by_role("region", name=f"{part} on ethereum").first).to_be_visible()


async def test_an_approval_is_a_share_and_its_revoke_transaction_is_shown(visit: Visits) -> None:
    opened = await visit(WALLET, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    await read_details(opened, "ethereum")
    approvals = page.get_by_role("table", name="Approvals on ethereum")
    await expect(approvals).to_contain_text(re.compile("unlimited|% of the balance|more than the balance"))
    await approvals.get_by_role("button", name="Revoke transaction").first.click()
    shown = page.get_by_role("region", name="Unsigned revoke transaction")
    await expect(shown).to_contain_text("0x095ea7b3")
    await expect(page.get_by_text(re.compile("signs and sends nothing|neither signs|signs nothing"))).to_be_visible()
    await shown.get_by_role("button", name="Copy the unsigned transaction").click()
    assert "0x095ea7b3" in await page.evaluate("navigator.clipboard.readText()")


async def test_tokens_of_a_collection_have_names_attributes_and_links_alone(visit: Visits) -> None:
    opened = await visit(WALLET)
    await read_collection(opened, known_nft.LIGHTHOUSES)
    tokens = opened.page.get_by_role("region", name="NFTs").get_by_role("list")
    await expect(tokens.get_by_role("listitem").first.get_by_role("heading")).to_be_visible()
    await expect(opened.page.locator("main img, main iframe, main object, main video")).to_have_count(0)
    assert len(opened.calls("getNftMetadata")) <= 12


async def test_what_is_missing_differs_from_zero(visit: Visits) -> None:
    failed, unpriced, unread = "polygon", "ethereum", "base"

    def change(method: str, params: Any, answer: dict[str, Any]) -> None:
        if method == "getPortfolio":
            for place, row in enumerate(answer["result"]["data"]["chains"]):
                if row["chain"] == failed:
                    answer["result"]["data"]["chains"][place] = {
                        "chain": failed,
                        "status": "error",
                        "error": {"code": 503, "reason": "UPSTREAM_UNAVAILABLE", "message": "no node answered"},
                    }
                elif row["chain"] == unpriced:
                    row["assets"] = [one | {"priceUsd": None, "valueUsd": None} for one in row["assets"]]
                    row |= {"unpriced": len(row["assets"]), "totalUsd": 0}
                elif row["chain"] == unread:
                    row["unread"] = [known.ALICE]

    opened = await visit(WALLET, prepare=lambda one: one.alter(change))
    page = opened.page
    rows = page.get_by_role("table", name="Assets").get_by_role("row")
    await expect(rows.filter(has_text=unpriced).filter(has_text="no price").first).to_be_visible()
    for slug, words in ((failed, "could not be read"), (unread, "could not be read")):
        await expect(rows.filter(has_text=slug).filter(has_text=words).first).to_be_visible()
    missing = rows.filter(has_text=re.compile("no price|could not be read"))
    for text in await missing.all_inner_texts():
        assert not re.search(r"\$0(?![.\d])|\$0\.00|\t0\t", text), text
    await expect(page.get_by_role("list", name="Chains that could not be read")).to_contain_text("no node answered")
    await page.get_by_role("button", name=f"Read {failed} again").click()
    await settled(page)
    assert opened.calls("getPortfolio")[-1]["params"]["chains"] == [failed]


def called(request: Request) -> int:
    """Return how many calls a request makes."""
    posted = request.post_data_json if request.method == "POST" else []
    return len(posted) if isinstance(posted, list) else 1
