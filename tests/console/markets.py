"""Markets and usage: what stands beside each other, what is filtered, and what is away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playwright.async_api import expect

from tests.console.board import open_streams, streams_ended, until
from tests.console.operations import BALANCE, answered
from tests.console.visits import Visits, settled

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page


async def test_prices_move_while_they_are_seen_and_are_plotted_with_their_figures(visit: Visits) -> None:
    opened = await visit("#/markets")
    page = opened.page
    prices = await part(page, "Prices")
    table = prices.get_by_role("table").first
    await expect(table.get_by_role("row").nth(1)).to_contain_text("$")

    async def are_watched() -> bool:
        return await open_streams() > 0

    await until(are_watched, True)
    await table.get_by_role("checkbox", checked=False).first.check()
    figures = prices.get_by_role("button", name="Figures of History").first
    await figures.click()
    await expect(prices.get_by_role("table", name="Prices by day")).to_be_visible()
    await opened.go("#/usage")
    await opened.heading("Usage")
    await streams_ended()


async def test_yields_are_filtered_and_sorted(visit: Visits) -> None:
    opened = await visit("#/markets?part=yields")
    yields = await part(opened.page, "Best yields")
    table = yields.get_by_role("table", name="Pools by yield")
    rows = table.get_by_role("rowheader")
    await expect(rows.first).to_be_visible()
    every = await rows.count()
    await yields.get_by_label("Token", exact=True).fill("USDC")
    await expect(rows.first).to_contain_text("USDC")
    assert 0 < await rows.count() < every
    rates = [rate async for rate in in_per_cent(table)]
    assert rates == sorted(rates, reverse=True)
    await table.get_by_role("button", name="APY").click()
    await expect(table.get_by_role("columnheader", name="APY")).to_have_attribute("aria-sort", "ascending")
    rates = [rate async for rate in in_per_cent(table)]
    assert rates == sorted(rates)
    await table.get_by_role("button", name="APY").focus()
    await opened.page.keyboard.press("Enter")
    await expect(table.get_by_role("columnheader", name="APY")).to_have_attribute("aria-sort", "descending")


async def test_funding_of_both_venues_and_gas_of_all_chains_are_shown(visit: Visits) -> None:
    opened = await visit("#/markets?part=funding")
    funding = await part(opened.page, "Funding")
    await expect(funding.get_by_role("row").filter(has_text="BTC").first).to_contain_text("%")
    gas = await part(opened.page, "Gas")
    await expect(gas.get_by_role("row").filter(has_text="ethereum").first).to_contain_text("$")
    await expect(gas).to_contain_text("logarithmic")


async def test_a_source_that_is_away_differs_from_zero(visit: Visits) -> None:
    def change(method: str, params: Any, answer: dict[str, Any]) -> None:
        data = answer.get("result", {}).get("data")
        if method == "getFundingRates":
            data |= {"venueB": [], "unavailable": ["venueB"]}
        elif method == "getYieldsBest":
            del answer["result"]
            answer["error"] = {"code": 503, "message": "no source answered", "data": {"reason": "UPSTREAM_UNAVAILABLE"}}
        elif method == "compareGas":
            data["notAllowed"] = ["polygon"]

    opened = await visit("#/markets", prepare=lambda one: one.alter(change))
    funding = await part(opened.page, "Funding")
    await expect(funding).to_contain_text("they are not zero")
    row = funding.get_by_role("row").filter(has_text="BTC").first
    await expect(row).to_contain_text("away")
    await expect(row).not_to_contain_text("0.00 %")
    yields = await part(opened.page, "Best yields")
    await expect(yields.get_by_role("alert")).to_contain_text("no source answered")
    await expect(yields.get_by_role("button", name="Try again")).to_be_visible()
    gas = await part(opened.page, "Gas")
    await expect(gas).to_contain_text("polygon")


async def test_what_the_key_used_is_added_up(visit: Visits) -> None:
    opened = await visit(BALANCE)
    assert await answered(opened.page) is None
    await opened.go("#/usage")
    page = opened.page
    totals = page.get_by_role("region", name="Over time").locator("dl").first
    await expect(totals).to_contain_text("Requests")
    await expect(totals).to_contain_text(re.compile(r"Units\s*\d"))
    operations = await part(page, "Operations")
    await expect(operations.get_by_role("table").first).to_contain_text("get")


async def test_nothing_that_was_used_is_no_share_of_nothing(visit: Visits) -> None:
    def change(method: str, params: Any, answer: dict[str, Any]) -> None:
        if method == "getUsage":
            data = answer["result"]["data"]
            data["rows" if "rows" in data else "usage"] = []
            data["total"] = {name: type(value)() for name, value in data["total"].items()}

    opened = await visit("#/usage", prepare=lambda one: one.alter(change))
    region = opened.page.get_by_role("region", name="Over time")
    await expect(region.locator("dl").first).to_contain_text("no requests")
    await expect(region.locator("dl").first).not_to_contain_text(re.compile(r"\b0(\.0)? %"))


async def part(page: Page, name: str) -> Locator:
    """Bring a part into view; return it once it is read."""
    found = page.get_by_role("region", name=name, exact=True).first
    await found.scroll_into_view_if_needed()
    await expect(found.locator("header + *")).to_be_visible()
    await settled(page)
    return found


async def in_per_cent(table: Locator):  # type: ignore[no-untyped-def]
    """Yield the rates of a table, row by row."""
    for text in await table.get_by_role("row").all_inner_texts():
        if rate := re.search(r"(-?\d+(?:\.\d+)?)\s*%", text):
            yield float(rate[1])
