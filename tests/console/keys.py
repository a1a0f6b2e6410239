"""The key of a tab: which one it has, how another is entered and forgotten, and where it never is."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from tests.console.board import looked_at
from tests.console.filled import filled
from tests.console.operations import BALANCE
from tests.console.visits import BASE, KEY, PLACE, SECTIONS, Visit, Visits, settled

TICKETS = "/-/console/tickets"
UNKNOWN_TICKET = "wt_" + "A" * 43

if TYPE_CHECKING:
    from playwright.async_api import Route


async def test_on_the_devnet_a_tab_begins_with_the_key_that_works_there(visit: Visits) -> None:
    opened = await visit(own_key=False)
    await expect(opened.page.get_by_role("button", name="Key: local")).to_be_visible()
    await opened.heading("Chains")
    await expect(opened.page.get_by_role("alert")).to_have_count(0)


async def test_a_key_is_entered_kept_for_the_tab_and_forgotten(visit: Visits) -> None:
    opened = await visit(own_key=False)
    page = opened.page
    panel = page.get_by_role("button", name="Key:")
    await panel.click()
    await page.get_by_label("API key").fill("no key, as of its blanks")
    await page.get_by_label("API key").press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("letters, digits")
    await expect(page.get_by_label("API key")).to_have_attribute("aria-invalid", "true")
    await enter(opened, KEY)
    for section in SECTIONS:
        await opened.go(f"#/{section}")
        await settled(page)
    await page.reload()
    await expect(panel).to_have_text("Key: own key")
    stored = "[sessionStorage, localStorage].map((place) => JSON.stringify({...place}))"
    session, local = await page.evaluate(stored)
    assert KEY in session
    assert KEY not in local
    assert await page.evaluate("document.cookie") == ""
    assert KEY not in str(await opened.context.cookies())
    await panel.click()
    await page.get_by_role("button", name="Forget").click()
    await expect(panel).to_have_text("Key: local")
    assert KEY not in "".join(await page.evaluate(stored))
    seen = len(opened.requests)
    await page.reload()
    await opened.heading()
    assert not [one.url for one in opened.requests[seen:] if KEY in one.url]


async def test_a_key_that_the_gateway_does_not_know_is_said(visit: Visits) -> None:
    opened = await visit(BALANCE, own_key=False)
    await enter(opened, "no-such-key")
    await opened.page.get_by_role("button", name="Run", exact=True).click()
    await expect(opened.page.get_by_role("alert")).to_contain_text("KEY_INVALID")
    # Browsers write down what is answered with 401, and where: not with the key.
    assert opened.errors
    assert [text for text in opened.errors if "401" not in text or TICKETS not in text] == []
    assert "no-such-key" not in "".join([*opened.written, *opened.sockets, *(one.url for one in opened.requests)])
    opened.errors.clear()


async def test_what_browsers_write_of_a_fault_holds_no_key(visit: Visits) -> None:
    opened = await visit(BALANCE)
    page = opened.page
    now = {"fault": "", "status": 0}

    async def fail(route: Route) -> None:
        if not now["status"]:
            await route.abort("connectionreset")
            return
        error = {"code": now["status"], "message": now["fault"], "data": {"reason": "UPSTREAM_UNAVAILABLE"}}
        answer = json.dumps({"jsonrpc": "2.0", "error": error, "id": None})
        await route.fulfill(status=int(now["status"]), body="<html>" if now["fault"] == "no JSON" else answer)

    await opened.context.route(f"{BASE}/*/v1", fail)
    for fault, status in {"broken": 0, "too busy": 503, "over the quota": 429, "no JSON": 502}.items():
        now.update(fault=fault, status=status)
        opened.errors.clear()
        await page.get_by_role("button", name="Run", exact=True).click()
        shown = {"broken": "cannot be reached", "no JSON": "is no JSON"}.get(fault, fault)
        await expect(page.get_by_role("alert")).to_contain_text(shown)
        # A line was written, with the address; `findings` looks into it for the key.
        assert [text for text in opened.errors if "/wt_" in text]
    opened.errors.clear()


@pytest.mark.parametrize("address", [BALANCE, "#/chains"], ids=["call", "streams"])
async def test_a_ticket_that_is_refused_is_replaced(visit: Visits, address: str) -> None:
    tickets: list[str] = []

    async def spoil_the_first(route: Route) -> None:
        response = await route.fetch()
        answered = await response.json()
        tickets.append(answered["ticket"])
        await route.fulfill(response=response, json=answered if tickets[1:] else {**answered, "ticket": UNKNOWN_TICKET})

    async def prepare(opened: Visit) -> None:
        await opened.context.route(BASE + TICKETS, spoil_the_first)

    opened = await visit(address, prepare=prepare)
    page = opened.page
    if address == BALANCE:
        await page.get_by_role("button", name="Run", exact=True).click()
        await expect(page.get_by_text("Answer of getBalance")).to_be_attached()
    else:
        await filled(page)
        head = (await looked_at(page, "base")).get_by_role("link").nth(1)
        await expect(head).not_to_have_text(await head.inner_text())
    await settled(page)
    await expect(page.get_by_role("alert")).to_have_count(0)
    # A socket that the board closed before it was open counts as refused too.
    assert 2 <= len(tickets) <= 3
    assert opened.errors
    assert [text for text in opened.errors if UNKNOWN_TICKET not in text] == []
    opened.errors.clear()


async def test_streams_go_on_over_a_new_socket_before_their_ticket_ends(visit: Visits) -> None:
    async def shorten(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, json={**await response.json(), "expiresIn": 1.5})

    async def prepare(opened: Visit) -> None:
        await opened.context.route(BASE + TICKETS, shorten)

    opened = await visit("#/chains", prepare=prepare)
    await filled(opened.page)
    await looked_at(opened.page, "base")
    async with asyncio.timeout(20):
        while len(opened.sockets) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert len(set(opened.sockets)) == len(opened.sockets)
    await expect(opened.page.get_by_role("alert")).to_have_count(0)


async def test_without_a_key_the_page_opens_on_the_demo_and_says_how_to_make_one(visit: Visits) -> None:
    opened = await visit(own_key=False, prepare=outside_the_devnet)
    page = opened.page
    await opened.heading("Chains")
    button = page.get_by_role("button", name="Key: demo")
    await button.click()
    await expect(page.get_by_text("waypost keys create NAME")).to_be_visible()
    await expect(page.get_by_role("button", name="Forget")).to_be_disabled()
    await page.keyboard.press("Escape")
    for section in SECTIONS:
        await opened.go(f"#/{section}")
        await opened.heading()
        await opened.fits()
    assert all(f"{BASE}/local/" not in one.url for one in opened.requests)


async def outside_the_devnet(opened: Visit) -> None:
    """Serve the page as a gateway of the public chains does: no key works that is not made."""

    async def as_on_mainnet(route: Route) -> None:
        response = await route.fetch()
        text, count = re.subn(r'(<meta name="waypost-profile" content=")devnet"', r'\1mainnet"', await response.text())
        assert count == 1
        await route.fulfill(response=response, body=text)

    await opened.context.route(f"{BASE}/", as_on_mainnet)


async def enter(opened: Visit, key: str) -> None:
    """Enter a key in the panel, opening it where it is not."""
    panel = opened.page.get_by_role("button", name="Key:")
    if await panel.get_attribute("aria-expanded") == "false":
        await panel.click()
    await opened.page.get_by_label("API key").fill(key)
    await opened.page.get_by_role("button", name="Use", exact=True).click()
    await expect(panel).to_have_text("Key: own key")
    assert PLACE in await opened.page.evaluate("Object.keys(sessionStorage)")
