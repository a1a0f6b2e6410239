"""`make screenshots`: the pictures of docs/console.md, of a gateway over local chains that stand still otherwise.

The page's clock stands still, and what differs from run to run (times, hashes of the last blocks, latencies) is set on
its way, so that the same page gives nearly the same picture on the same day.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import tempfile
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
# Histories end today.
NOW = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
STAMP = NOW.strftime("%Y-%m-%dT%H:%M:%SZ")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
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
    blocks: int = 0
    """So many blocks of each chain are made before."""
    scheme: Literal["light", "dark"] = "light"
    width: int = 1280
    height: int = 800


_BLOCKS = 12
_BALANCE = f"#/getBalance?chain=ethereum&address={known.VITALIK}"
_WALLET = f"#/wallet?address={known.VITALIK}"
PICTURES = (
    Picture("chains", "#/", press=("Look at all",), blocks=_BLOCKS, height=680),
    # All are known by now.
    Picture("chains-dark", "#/", blocks=_BLOCKS, scheme="dark", height=680),
    Picture("operations", "#/operations?q=balance"),
    Picture("operation", _BALANCE, press=("Run",)),
    Picture("operation-360", _BALANCE, press=("Run",), width=360),
    Picture("wallet", _WALLET),
    Picture("markets", "#/markets"),
    Picture("usage", "#/usage"),
)


@asynccontextmanager
async def gateway() -> AsyncIterator[tuple[str, Devnet]]:
    """Serve local chains whose heads stand still; yields the base address and the chains."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "waypost.toml"
        async with Devnet.start(progress=print, mines=False) as devnet:
            devnet.write_config(config)
            async with served(config) as (base, _):
                yield base, devnet


async def take(running: Browser, base: str, devnet: Devnet, picture: Picture) -> int:
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
        await page.clock.set_fixed_time(STAMP)
        await context.route(f"{base}/*/v1", _settle)
        await page.route_web_socket(re.compile("/v1/ws$"), _settle_events)
        await page.goto(f"{base}/{picture.address}")
        await page.get_by_role("heading", level=1).wait_for()
        for name in picture.press:
            await page.get_by_role("button", name=name, exact=True).click()
        await _rest(page)
        for _ in range(picture.blocks):
            await asyncio.gather(*(devnet.mine(slug, 1) for slug in devnet.miners))
            # One after the other, as they are announced.
            await asyncio.sleep(0.3)
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
    added: Counter[str] = Counter()

    def pass_on(text: str | bytes) -> None:
        message = settled(json.loads(text))
        event = message.get("params", {}).get("event", {})
        if event.get("kind") == "ADDED":
            name = message["params"]["subscription"]
            added[name] += 1
            block = event["block"]
            late = int(_made_up(event["blockNumber"])[-3:], 16) / 1000
            made = NOW - timedelta(seconds=2 + 3 * (_BLOCKS - added[name]) - late)
            block["timestamp"] = made.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            event["blockHash"], block["parentHash"] = map(_made_up, (event["blockNumber"], block["parentNumber"]))
        elif "blockHash" in event:
            event["blockHash"] = _made_up(event["blockNumber"])
        socket.send(json.dumps(message))

    server.on_message(pass_on)


def _made_up(number: int) -> str:
    """Return a hash for a block."""
    return f"0x{hashlib.sha256(str(number).encode()).hexdigest()}"


def settled(value: Any) -> Any:
    """Return an answer with what differs from run to run set."""
    if isinstance(value, list):
        return [settled(one) for one in value]
    if not isinstance(value, dict):
        return _MOMENT.sub(STAMP, value) if isinstance(value, str) else value
    # The hours and days that figures of usage are of stay.
    fixed = {name: one if name == "start" else settled(one) for name, one in value.items()}
    if "latencyMs" in fixed:
        fixed["latencyMs"] = 2 + int(hashlib.sha256(str(fixed.get("chain")).encode()).hexdigest()[:2], 16) / 40
    if "uptimeSeconds" in fixed:
        fixed["uptimeSeconds"] = _UPTIME
    return fixed


async def main() -> int:
    """Take all pictures; return the exit status."""
    chromium = browser.find()
    if chromium is None:
        print(f"screenshots: {browser.MISSING}")
        return 1 if os.environ.get("CI") else 0
    FOLDER.mkdir(exist_ok=True)
    # All chains are on the board: this one is left out where it is not asked for.
    os.environ["WAYPOST_DEVNET_STARKNET"] = "1"
    failed = 0
    async with gateway() as (base, devnet), browser.launched(chromium) as running:
        for picture in PICTURES:
            size = await take(running, base, devnet, picture)
            failed += size > MOST_BYTES
            print(f"{picture.name:<16} {size:7,} bytes{' are too many' if size > MOST_BYTES else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
