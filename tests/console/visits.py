"""A page of the console in a browser, and what it must never do: errors, violations of its policy, requests to another
origin, its key where it can be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import expect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, Route

STAGE: dict[str, str] = json.loads(os.environ["WAYPOST_CONSOLE"])
BASE, KEY = STAGE["base"], STAGE["key"]
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 360, "height": 740}
SECTIONS = ("chains", "operations", "wallet", "markets", "usage")
PLACE = "waypost.key"

# Answers of the local chains under load; what is promised in time is measured apart.
expect.set_options(timeout=10_000)

_RECORDER = """
addEventListener('securitypolicyviolation', (event) =>
  recordViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`));
"""
_GIVE_KEY = f"if (location.origin === {BASE!r}) sessionStorage.setItem({PLACE!r}, {KEY!r});"
_OVERFLOW = """
() => [...document.querySelectorAll('body *')].filter((one) => {
  const box = one.getBoundingClientRect();
  if (box.width === 0 || box.right <= innerWidth + 1) return false;
  for (let around = one.parentElement; around !== null; around = around.parentElement)
    if (around !== document.body && getComputedStyle(around).overflowX !== 'visible') return false;
  return true;
}).map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 60)}`).slice(0, 5)
"""


class Visit:
    """An open page and what was recorded of it since."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.context, self.page = context, page
        self.errors: list[str] = []
        self.written: list[str] = []
        self.violations: list[str] = []
        self.elsewhere: list[str] = []
        self.addresses: list[str] = []
        self.requests: list[Request] = []
        self.sockets: list[str] = []

    async def watch(self) -> None:
        """Record from now on."""
        await self.context.expose_function("recordViolation", lambda text: self.violations.append(text))
        await self.context.add_init_script(_RECORDER)
        await self.context.route(lambda url: not of_the_page(url), self._refuse)
        self.page.on("console", self._read)
        self.page.on("pageerror", lambda error: self.errors.append(f"{error.message}\n{error.stack}"))
        self.page.on("framenavigated", lambda frame: self.addresses.append(frame.url))
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("websocket", lambda socket: self._note(socket.url))

    async def _refuse(self, route: Route) -> None:
        self.elsewhere.append(route.request.url)
        await route.abort()

    def _note(self, socket: str) -> None:
        self.sockets.append(socket)
        if not of_the_page(socket):
            self.elsewhere.append(socket)

    def _read(self, message: ConsoleMessage) -> None:
        self.written.append(f"{message.text} ({message.location})")
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location})")

    async def alter(self, change: Callable[[str, Any, dict[str, Any]], object]) -> None:
        """Change answers on their way: `change(method, params, answer)` for each item that the page calls."""

        async def pass_on(route: Route) -> None:
            asked = route.request.post_data_json
            response = await route.fetch()
            answered = await response.json()
            if isinstance(asked, list) and isinstance(answered, list):
                calls = {call["id"]: call for call in asked}
                for answer in answered:
                    call = calls[answer["id"]]
                    change(call["method"], call.get("params"), answer)
            await route.fulfill(response=response, json=answered)

        await self.context.route(f"{BASE}/*/v1", pass_on)

    async def go(self, address: str) -> None:
        """Open a deep link in the page that is open."""
        await self.page.evaluate("address => { location.hash = address }", address)

    async def heading(self, name: str | None = None) -> Locator:
        """Return the section's one heading, once it is there."""
        found = self.page.get_by_role("heading", level=1)
        await (expect(found).to_be_visible() if name is None else expect(found).to_have_text(name))
        return found

    async def fits(self) -> None:
        """Check that the page does not scroll sideways."""
        width, shown = await self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= shown, (width, shown, await self.page.evaluate(_OVERFLOW))

    def calls(self, method: str | None = None) -> list[dict[str, Any]]:
        """Return what was called over HTTP since the beginning, of one method or of all."""
        posted = [one.post_data_json for one in self.requests if urlsplit(one.url).path.endswith("/v1")]
        items = [call for body in posted for call in (body if isinstance(body, list) else [body]) if call]
        return [call for call in items if method in (None, call["method"])]

    async def findings(self) -> list[str]:
        """Return what the page did that it must not."""
        found = [f"error: {one}" for one in self.errors]
        found += [f"policy: {one}" for one in self.violations]
        found += [f"elsewhere: {one}" for one in self.elsewhere]
        shown = await self.page.evaluate(
            "[location.href, JSON.stringify(history.state), document.title, document.documentElement.outerHTML]"
        )
        asked = [one.url for one in self.requests] + self.sockets
        places = {"address": self.addresses, "console": self.written, "page": shown, "request": asked}
        found += [f"key: {place}" for place, texts in places.items() if any(KEY in text for text in texts)]
        return found


Visits = Callable[..., Awaitable[Visit]]
"""Opens the page; the fixture `visit`."""


async def settled(page: Page) -> None:
    """Wait until nothing is being read any more."""
    await expect(page.get_by_text(re.compile("^Reading .*…$"))).to_have_count(0, timeout=40_000)


def of_the_page(url: str) -> bool:
    """Whether an address belongs to the gateway's own origin, or loads nothing."""
    parts = urlsplit(url)
    return parts.scheme in {"data", "blob", "about"} or parts.netloc == urlsplit(BASE).netloc


@asynccontextmanager
async def visiting(
    browser: Browser,
    address: str = "#/",
    *,
    own_key: bool = True,
    prepare: Callable[[Visit], Any] | None = None,
    **options: Any,
) -> AsyncIterator[Visit]:
    """Open the page; fails at the end where it did what it must not. `options` are the context's."""
    context = await browser.new_context(**{"viewport": WIDE, "color_scheme": "light", **options})
    try:
        visit = Visit(context, await context.new_page())
        visit.page.set_default_timeout(10_000)
        await visit.watch()
        if own_key:
            await context.add_init_script(_GIVE_KEY)
        if prepare is not None:
            await prepare(visit)
        await visit.page.goto(f"{BASE}/{address}")
        yield visit
        # What is on its way is not waited for.
        await context.unroute_all(behavior="ignoreErrors")
        assert await visit.findings() == []
    finally:
        await context.close()
