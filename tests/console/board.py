"""The board of chains: what it reads of whom, and when it reads nothing."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import aiohttp
from playwright.async_api import expect

from tests.console.visits import STAGE, Visit, Visits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Locator, Page

CHAINS = 24
_REFUSING = """
window.WebSocket = class extends EventTarget {
  static OPEN = 1;
  readyState = 3;
  constructor() {
    super();
    setTimeout(() => { this.onerror?.(new Event('error')); this.onclose?.(new CloseEvent('close')); }, 5);
  }
  send() {}
  close() {}
};
"""
_HIDE = """
(hidden) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  const state = hidden ? 'hidden' : 'visible';
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
  document.dispatchEvent(new Event('visibilitychange'));
}
"""
_LISTEN = """
(region) => {
  globalThis.said = [];
  const listener = new MutationObserver(() => said.push([Date.now(), region.textContent]));
  listener.observe(region, { childList: true, characterData: true, subtree: true });
}
"""


async def test_all_chains_are_on_it_and_idle_ones_ask_no_node(visit: Visits) -> None:
    opened = await visit()
    await filled(opened.page)
    table = opened.page.get_by_role("table", name="Chains", exact=True)
    look = opened.page.get_by_role("button", name="Look at")
    idle = table.get_by_role("row").filter(has_text="idle").filter(has=look)
    slugs = [text.split()[0] for text in await idle.all_inner_texts()]
    assert slugs
    before = await figures("waypost_upstream_requests")
    await asyncio.sleep(3)
    after = await figures("waypost_upstream_requests")
    asked = {label for label in after if after[label] != before.get(label)}
    assert not [label for label in asked for slug in slugs if f'chain="{slug}"' in label]


async def test_a_look_follows_a_chain(visit: Visits) -> None:
    opened = await visit()
    await filled(opened.page)
    row = await looked_at(opened.page, "base")
    head = row.get_by_role("link").nth(1)
    first = await head.inner_text()
    await expect(head).not_to_have_text(first)
    await expect(row).to_contain_text(re.compile(r"\d ms|µs|\d s"))
    assert opened.calls("getChainHealth")


async def test_a_socket_that_is_refused_leads_to_polls_every_five_seconds(visit: Visits) -> None:
    async def refuse(opened: Visit) -> None:
        await opened.context.add_init_script(_REFUSING)
        await opened.page.clock.install()

    opened = await visit(prepare=refuse)
    await filled(opened.page)
    if "idle" in await row_of(opened.page, "base").inner_text():
        await opened.page.get_by_role("button", name="Look at base").click()
    for _ in range(15):
        await pass_time(opened.page, 1)
    await expect(opened.page.get_by_text("opens no socket")).to_be_visible()
    head = row_of(opened.page, "base").get_by_role("link").nth(1)
    first = await head.inner_text()
    before = len(opened.calls("getHealth")), len(opened.calls("getChainHealth"))
    for _ in range(30):
        await pass_time(opened.page, 1)
    after = len(opened.calls("getHealth")), len(opened.calls("getChainHealth"))
    assert 5 <= after[0] - before[0] <= 7
    assert after[1] > before[1]
    async with asyncio.timeout(20):
        while await head.inner_text() == first:
            await pass_time(opened.page, 5)


async def test_nothing_is_read_while_the_tab_is_hidden(visit: Visits) -> None:
    opened = await visit(prepare=lambda one: one.page.clock.install())
    await filled(opened.page)
    await looked_at(opened.page, "base")
    assert await open_streams() > 0
    await opened.page.evaluate(_HIDE, True)
    await pass_time(opened.page, 2)
    await streams_ended()
    await no_requests(opened, seconds=120)
    await opened.page.evaluate(_HIDE, False)
    await pass_time(opened.page, 2)
    await expect(row_of(opened.page, "base")).to_contain_text("followed")
    async with asyncio.timeout(20):
        while await open_streams() == 0:
            await pass_time(opened.page, 1)


async def test_it_stops_after_ten_minutes_untouched_and_goes_on_when_told(visit: Visits) -> None:
    opened = await visit(prepare=lambda one: one.page.clock.install())
    await filled(opened.page)
    await looked_at(opened.page, "base")
    await opened.page.clock.fast_forward(595_000)
    await expect(opened.page.get_by_text("Paused")).to_have_count(0)
    await opened.page.clock.fast_forward(10_000)
    await expect(opened.page.get_by_text("Paused")).to_be_visible()
    await pass_time(opened.page, 2)
    await streams_ended()
    await no_requests(opened, seconds=120)
    await opened.page.get_by_role("button", name="Go on").click()
    await expect(opened.page.get_by_text("Paused")).to_have_count(0)
    async with asyncio.timeout(20):
        while await open_streams() == 0:
            await pass_time(opened.page, 1)


async def test_moving_heads_are_announced_politely_and_seldom(visit: Visits) -> None:
    opened = await visit(prepare=lambda one: one.page.clock.install())
    await filled(opened.page)
    region = opened.page.get_by_role("status", name="Announcements")
    await expect(region).to_have_attribute("aria-live", "polite")
    await region.evaluate(_LISTEN)
    await looked_at(opened.page, "base")
    # The page's clock is ahead of the chains': it goes on until they have made blocks, and less than ten minutes.
    said: list[tuple[int, str]] = []
    async with asyncio.timeout(50):
        while sum("at block" in text for _, text in said) < 2:
            await pass_time(opened.page, 1)
            await asyncio.sleep(0.1)
            said = await opened.page.evaluate("said")
    assert all(later - earlier >= 10_000 for (earlier, _), (later, _) in pairwise(said)), said


async def test_trouble_and_silence_differ_from_each_other(visit: Visits) -> None:
    def change(method: str, params: Any, answer: dict[str, Any]) -> None:
        if method == "getHealth":
            states = {"ok": ["ethereum"], "degraded": ["base"], "down": ["polygon"], "unknown": ["solana"]}
            answer["result"]["data"]["chains"] = states
        if method == "getChainHealth" and params["chain"] == "ethereum":
            del answer["result"]
            answer["error"] = {"code": 503, "message": "no node answered", "data": {"reason": "UPSTREAM_UNAVAILABLE"}}
        if method == "getChainHealth" and params["chain"] == "polygon":
            answer["result"]["data"] |= {"status": "down", "reason": "hangs", "blockHeight": None, "latencyMs": None}

    opened = await visit(prepare=lambda one: one.alter(change))
    page = opened.page
    await expect(row_of(page, "ethereum")).to_contain_text("no node answered")
    await expect(row_of(page, "polygon")).to_contain_text("down")
    await expect(row_of(page, "solana")).to_contain_text("idle")
    for slug in ("polygon", "solana"):
        await expect(row_of(page, slug)).to_contain_text("no latency")
    assert not re.search(r"\d", (await row_of(page, "solana").inner_text()).replace("solana", ""))


def row_of(page: Page, slug: str) -> Locator:
    """Return a chain's row."""
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader").get_by_role("link", name=slug, exact=True))


async def filled(page: Page) -> None:
    """Wait until every chain has its row."""
    await expect(page.get_by_role("table", name="Chains", exact=True).get_by_role("rowheader")).to_have_count(CHAINS)


async def looked_at(page: Page, slug: str) -> Locator:
    """Have the board follow a chain; return its row once its head is there."""
    row = row_of(page, slug)
    await expect(row).to_be_visible()
    # One that the gateway knows already is followed by itself.
    if "idle" in await row.inner_text():
        await row.get_by_role("button", name=f"Look at {slug}").click()
    await expect(row.get_by_role("link").nth(1)).to_be_visible()
    return row


async def pass_time(page: Page, seconds: int) -> None:
    """Let the page's clock run, and what it asks be answered."""
    await page.clock.run_for(seconds * 1000)
    await asyncio.sleep(0.03)


async def figures(name: str) -> dict[str, float]:
    """Return the gateway's figures of this name by their labels."""
    async with aiohttp.ClientSession() as session, session.get(STAGE["metrics"]) as response:
        lines = re.findall(rf"^{name}(?:_total)?(\{{[^}}]*\}})? (\S+)$", await response.text(), re.MULTILINE)
    return {labels: float(value) for labels, value in lines}


async def open_streams() -> int:
    return int(sum((await figures("waypost_streams_open")).values()))


async def streams_ended() -> None:
    """Wait until the gateway has neither a stream nor a socket open."""

    async def are_open() -> bool:
        return bool(await open_streams() or sum((await figures("waypost_http_sockets_open")).values()))

    await until(are_open, False)


async def no_requests(opened: Visit, *, seconds: int) -> None:
    """Check that the page asks nothing for so long."""
    before = len(opened.requests)
    await opened.page.clock.fast_forward(seconds * 1000)
    await asyncio.sleep(1)
    assert [one.url for one in opened.requests[before:]] == []
    assert await open_streams() == 0


async def until(looks: Callable[[], Awaitable[bool]], wanted: bool) -> None:
    """Wait until it looks as wanted."""
    for _ in range(200):
        if await looks() == wanted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{looks.__name__} stays {not wanted}")
