"""`make screenshots`: the pictures of docs/console.md, of a gateway over local chains that make no blocks.

The page's clock stands still, and what differs from run to run (times, hashes of the last blocks, latencies) is set on
its way, so that the same page gives the same picture.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from devnet import known
from devnet.launcher import Devnet
from scripts import browser
from scripts.clients import ROOT, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, Page, Route, WebSocketRoute

FOLDER = ROOT / "docs" / "console"
MOST_BYTES = 150_000
NOW = "2026-01-15T12:00:00Z"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_HASH = re.compile(r"^(?:0x)?[0-9a-fA-F]{64}$|^[1-9A-HJ-NP-Za-km-z]{43,44}$")
_UPTIME = 86_400
_READING = re.compile(r"^Reading .*…$")

# What the browser measures however its clock stands, the gateway's port of this run, and units that streams have begun.
_LEVEL = """
() => {
  for (const one of document.querySelectorAll('main dt'))
    if (one.textContent === 'Time') one.nextElementSibling.textContent = '1.8 ms';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    text.data = text.data.replaceAll(location.host, '127.0.0.1:8080');
  }
  document.querySelector('.spent b').textContent = '48';
}
"""


@dataclass(frozen=True)
class Picture:
    """A picture: what is opened and pressed before it is taken."""

    name: str
    address: str
    press: tuple[str, ...] = ()
    scheme: Literal["light", "dark"] = "light"
    width: int = 1280
    height: int = 800


_BALANCE = f"#/getBalance?chain=ethereum&address={known.VITALIK}"
_WALLET = f"#/wallet?address={known.VITALIK}"
PICTURES = (
    Picture("chains", "#/", press=("Look at all",)),
    # All are known by now.
    Picture("chains-dark", "#/", scheme="dark"),
    Picture("operations", "#/operations?q=balance"),
    Picture("operation", _BALANCE, press=("Run",)),
    Picture("operation-360", _BALANCE, press=("Run",), width=360),
    Picture("wallet", _WALLET),
    Picture("markets", "#/markets"),
    Picture("usage", "#/usage"),
)


@asynccontextmanager
async def gateway() -> AsyncIterator[str]:
    """Serve local chains whose heads stand still; yields the base address."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "waypost.toml"
        async with Devnet.start(progress=print, mines=False) as devnet:
            devnet.write_config(config)
            async with served(config) as (base, _):
                yield base


async def take(running: Browser, base: str, picture: Picture) -> int:
    """Take a picture; return its bytes."""
    context = await running.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
        timezone_id="UTC",
        locale="en-GB",
    )
    try:
        page = await context.new_page()
        await page.clock.set_fixed_time(NOW)
        await context.route(f"{base}/*/v1", _settle)
        await page.route_web_socket(re.compile("/v1/ws$"), _settle_events)
        await page.goto(f"{base}/{picture.address}")
        await page.get_by_role("heading", level=1).wait_for()
        for name in picture.press:
            await page.get_by_role("button", name=name, exact=True).click()
        await _rest(page)
        path = FOLDER / f"{picture.name}.png"
        await page.screenshot(path=path, animations="disabled", caret="hide")
        return path.stat().st_size
    finally:
        await context.close()


async def _rest(page: Page) -> None:
    """Wait until nothing is read, and nothing changes any more."""
    before = ""
    for _ in range(40):
        await asyncio.sleep(1)
        text = await page.get_by_role("main").inner_text()
        if text == before and not await page.get_by_text(_READING).count():
            break
        before = text
    await page.evaluate(_LEVEL)


async def _settle(route: Route) -> None:
    response = await route.fetch()
    answered = await response.json()
    await route.fulfill(
        status=response.status,
        headers={**response.headers, "x-request-id": "5df20b91616c74573a96"},
        json=settled(answered),
    )


def _settle_events(socket: WebSocketRoute) -> None:
    server = socket.connect_to_server()
    server.on_message(lambda text: socket.send(json.dumps(settled(json.loads(text)))))


def settled(value: Any) -> Any:
    """Return an answer with what differs from run to run set."""
    if isinstance(value, list):
        return [settled(one) for one in value]
    if not isinstance(value, dict):
        return _MOMENT.sub(NOW, value) if isinstance(value, str) else value
    fixed = {name: settled(one) for name, one in value.items()}
    if "latencyMs" in fixed:
        fixed["latencyMs"] = 2 + int(hashlib.sha256(str(fixed.get("chain")).encode()).hexdigest()[:2], 16) / 40
    if "uptimeSeconds" in fixed:
        fixed["uptimeSeconds"] = _UPTIME
    number = fixed.get("blockNumber")
    for name, one in fixed.items():
        if number is not None and isinstance(one, str) and _HASH.match(one):
            fixed[name] = f"0x{hashlib.sha256(f'{name}{number}'.encode()).hexdigest()}"
    return fixed


async def main() -> int:
    """Take all pictures; return the exit status."""
    chromium = browser.find()
    if chromium is None:
        print(f"screenshots: {browser.MISSING}")
        return 1 if os.environ.get("CI") else 0
    FOLDER.mkdir(exist_ok=True)
    failed = 0
    async with gateway() as base, browser.launched(chromium) as running:
        for picture in PICTURES:
            size = await take(running, base, picture)
            failed += size > MOST_BYTES
            print(f"{picture.name:<16} {size:7,} bytes{' are too many' if size > MOST_BYTES else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
