"""Operations: found, filled in from the document, run; errors at their field; watches; the same call elsewhere."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from playwright.async_api import expect

from tests.console.sections import focused, until_focused
from tests.console.visits import BASE, KEY, Visit, Visits

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page, Route

HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
BALANCE = f"#/getBalance?chain=ethereum&address={HOLDER}"
ADDED, ABOUT = "getWeatherOfAccount", "Returns the weather above an account."
_FIRST_OF_EACH = """
(sections) => sections.map((one) => [one.querySelector('h2').textContent, one.querySelector('li a')?.textContent])
  .filter(([, name]) => name !== undefined)
"""


async def test_the_first_operation_of_every_service_answers_with_its_examples(visit: Visits) -> None:
    opened = await visit("#/operations")
    await listed(opened.page)
    services = await opened.page.locator("main section[aria-labelledby]").evaluate_all(_FIRST_OF_EACH)
    assert len(services) > 15, services
    failed = []
    for service, name in services:
        await opened.go(f"#/{name}")
        await opened.heading(name)
        if said := await answered(opened.page):
            failed.append(f"{service} {name}: {said}")
    assert failed == []


async def test_an_answer_has_its_figures_folds_and_is_copied(visit: Visits) -> None:
    opened = await visit(BALANCE, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    assert await answered(page) is None
    result = page.get_by_role("region", name="Result")
    for name in ("Time", "Cost", "Cache", "Request"):
        await expect(result.get_by_role("term").filter(has_text=name)).to_be_visible()
    await expect(result).to_contain_text("1 unit")
    await result.get_by_role("button", name="Copy the JSON").click()
    copied = json.loads(await page.evaluate("navigator.clipboard.readText()"))
    assert copied["address"] == HOLDER.lower() or copied["address"] == HOLDER
    await expect(result).to_contain_text(copied["balanceRaw"])
    fold = result.get_by_role("button", expanded=True).first
    await fold.click()
    await expect(result.get_by_text(copied["balanceRaw"])).to_have_count(0)
    await result.get_by_role("button", name="Raw").click()
    await expect(result).to_contain_text(f'"balanceRaw": "{copied["balanceRaw"]}"')


async def test_an_error_is_said_at_its_field_in_the_gateways_words(visit: Visits) -> None:
    opened = await visit("#/getBalance?chain=ethereum&address=0x12")
    page = opened.page
    await page.get_by_role("button", name="Run", exact=True).click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("INVALID_ARGUMENT")
    field = page.get_by_label("address", exact=True)
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(field).to_be_focused()
    await expect(field).to_have_accessible_description(re.compile("an EVM address is 0x and 40 hex digits"))
    await field.fill(HOLDER)
    assert await answered(page) is None
    await expect(alert).to_have_count(0)
    assert await field.get_attribute("aria-invalid") is None


async def test_an_error_in_an_item_is_said_at_its_field(visit: Visits) -> None:
    opened = await visit("#/getPrices")
    page = opened.page
    await page.get_by_role("button", name="Add an item").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("alert").first).to_be_visible()
    await expect(page.locator("[aria-invalid=true], [aria-describedby$=-wrong]").first).to_be_visible()


async def test_a_watch_is_started_and_stopped(visit: Visits) -> None:
    opened = await visit("#/watchBlocks?chain=base")
    page = opened.page
    await page.get_by_role("button", name="Start", exact=True).click()
    events = page.get_by_role("list", name="Events, newest first").get_by_role("listitem")
    await expect(events.first).to_contain_text("blockNumber")
    await page.get_by_role("button", name="Stop", exact=True).click()
    result = page.get_by_role("region", name="Result")
    await expect(result).to_contain_text("stopped")
    counted = await result.get_by_text(re.compile(r"^\d+ events?$")).first.inner_text()
    await page.wait_for_timeout(1500)
    await expect(result).to_contain_text(counted)


async def test_a_watch_that_cannot_be_says_why_at_its_field(visit: Visits) -> None:
    opened = await visit("#/watchBlocks?chain=nowhere")
    await opened.page.get_by_role("button", name="Start", exact=True).click()
    await expect(opened.page.get_by_role("alert")).to_contain_text("nowhere")
    await expect(opened.page.get_by_label("chain", exact=True)).to_have_attribute("aria-invalid", "true")


async def test_published_methods_are_found_and_answer(visit: Visits) -> None:
    opened = await visit("#/operations")
    page = opened.page
    await listed(page)
    assert not [one for one in opened.requests if "apps=all" in one.url]
    await page.get_by_role("button", name="Search published contracts too").click()
    await page.get_by_role("searchbox", name="Search operations").fill("svc_")
    first = page.get_by_role("link", name=re.compile("^svc_")).first
    name = await first.inner_text()
    await first.click()
    await opened.heading(name)
    # A link to it works in a tab of its own.
    link = await visit(f"#/{name}")
    await link.heading(name)


async def test_an_operation_that_is_added_to_the_document_is_found_and_runs(visit: Visits) -> None:
    asked: list[Any] = []

    async def prepare(one: Visit) -> None:
        await with_one_more(one, asked)

    opened = await visit("#/operations", prepare=prepare)
    page = opened.page
    await page.get_by_role("searchbox", name="Search operations").fill("weather")
    found = page.locator("main section").get_by_role("link")
    await expect(found).to_have_text([ADDED])
    await expect(page.get_by_role("main")).to_contain_text(ABOUT)
    await found.click()
    await opened.heading(ADDED)
    await expect(page.get_by_role("main")).to_contain_text("7 units")
    await page.get_by_label("address", exact=True).fill(HOLDER)
    await page.get_by_label("chain", exact=True).select_option("base")
    assert await answered(page) is None
    assert asked == [{"chain": "base", "address": HOLDER}]


async def test_what_is_typed_is_in_the_link_and_the_key_never(visit: Visits) -> None:
    opened = await visit("#/getBalance?chain=base")
    page = opened.page
    await expect(page.get_by_label("chain", exact=True)).to_have_value("base")
    await page.get_by_label("address", exact=True).fill(HOLDER)
    await page.wait_for_url(re.compile(f"address={HOLDER}"))
    steps = await page.evaluate("history.length")
    await page.get_by_label("chain", exact=True).select_option("polygon")
    await page.wait_for_url(re.compile("chain=polygon"))
    assert await page.evaluate("history.length") == steps
    await page.get_by_label("address", exact=True).fill(KEY)
    await page.wait_for_timeout(600)
    assert KEY not in page.url
    await page.get_by_label("address", exact=True).fill(HOLDER)
    await page.wait_for_url(re.compile(f"address={HOLDER}"))
    again = await visit(page.url.removeprefix(f"{BASE}/"))
    await expect(again.page.get_by_label("address", exact=True)).to_have_value(HOLDER)
    await expect(again.page.get_by_label("chain", exact=True)).to_have_value("polygon")


async def test_the_same_call_is_shown_in_four_languages_without_the_key(visit: Visits) -> None:
    opened = await visit(BALANCE, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    region = page.get_by_role("region", name="The same call")
    tabs = region.get_by_role("tab")
    await expect(tabs).to_have_text(["curl", "grpcurl", "Python", "TypeScript"])
    await tabs.first.focus()
    for place in range(4):
        await expect(tabs.nth(place)).to_be_focused()
        await expect(tabs.nth(place)).to_have_attribute("aria-selected", "true")
        await expect(region.get_by_role("tabpanel")).to_contain_text("WAYPOST_KEY")
        await expect(region.get_by_role("tabpanel")).to_contain_text(HOLDER)
        await page.keyboard.press("ArrowRight")
    await expect(tabs.first).to_be_focused()
    await region.get_by_role("button", name="Show the key").click()
    await expect(region).not_to_contain_text(KEY)
    await region.get_by_role("button", name="Show it here").click()
    await expect(region).to_contain_text(KEY)
    await region.get_by_role("button", name="Copy the curl call").click()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert "$WAYPOST_KEY" in copied
    assert KEY not in copied
    await region.get_by_role("button", name="Hide the key").click()


async def test_the_keyboard_searches_runs_and_folds(visit: Visits) -> None:
    opened = await visit("#/operations")
    page = opened.page
    # Once the number is announced the page listens to keys.
    await expect(page.get_by_role("status").filter(has_text=re.compile(r"^\d+ operations$"))).to_have_count(1)
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox", name="Search operations")).to_be_focused()
    await page.keyboard.type("balance of an account")
    await page.get_by_role("link", name="getBalance", exact=True).wait_for()
    await until_focused(page, "getBalance")
    await page.keyboard.press("Enter")
    await opened.heading("getBalance")
    await until_focused(page, "Run")
    await page.keyboard.press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    await expect(result.get_by_role("button", expanded=True).first).to_be_visible()
    assert await focused(page) == "Run"
    await expect(page.get_by_role("status").filter(has_text="Answer of getBalance")).to_have_count(1)
    await until_focused(page, "▾")
    await page.keyboard.press("Space")
    await expect(result.get_by_role("button", expanded=False).first).to_be_focused()


async def test_a_call_that_takes_long_is_stopped(visit: Visits) -> None:
    async def never(route: Route) -> None:
        if "getBalance" not in (route.request.post_data or ""):
            await route.fallback()

    opened = await visit(BALANCE, prepare=lambda one: one.context.route(f"{BASE}/*/v1", never))
    await opened.page.get_by_role("button", name="Run", exact=True).click()
    await opened.page.get_by_role("button", name="Stop", exact=True).click()
    await expect(opened.page.get_by_role("region", name="Result")).to_contain_text("Stopped")


async def listed(page: Page) -> Locator:
    """Wait for the list of operations; return its links."""
    links = page.locator("main section[aria-labelledby]").get_by_role("link")
    await expect(links.first).to_be_visible()
    return links


async def answered(page: Page) -> str | None:
    """Run what the form holds; return what it failed with, None where data came."""
    button = page.get_by_role("button", name=re.compile("^(Run|Start)$"))
    is_watch = await button.inner_text() == "Start"
    await button.click()
    result = page.get_by_role("region", name="Result")
    alert = result.get_by_role("alert")
    data = result.get_by_role("listitem").first if is_watch else result.get_by_role("button", name="Raw")
    await expect(data.or_(alert).first).to_be_visible()
    if is_watch:
        await page.get_by_role("button", name="Stop", exact=True).click()
    return await alert.first.inner_text() if await alert.count() else None


async def with_one_more(opened: Visit, asked: list[Any]) -> None:
    """Add an operation to the document; the gateway answers it as getBalance. Its params go into the list."""

    async def add(route: Route) -> None:
        response = await route.fetch()
        document: dict[str, Any] = await response.json()
        (balance,) = (one for one in document["methods"] if one["name"] == "getBalance")
        document["methods"].append(balance | {"name": ADDED, "summary": ABOUT, "description": "", "x-cost": 7})
        await route.fulfill(response=response, json=document)

    async def answer(route: Route) -> None:
        calls = json.loads(route.request.post_data or "[]")
        asked.extend(call["params"] for call in calls if call["method"] == ADDED)
        await route.continue_(post_data=json.dumps(calls).replace(ADDED, "getBalance"))

    await opened.context.route(f"{BASE}/openrpc.json", add)
    await opened.context.route(f"{BASE}/*/v1", answer)
