"""A Chromium that is installed already, found and started for tests and pictures of the console."""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from playwright.async_api import async_playwright

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser

VARIABLE = "WAYPOST_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = (
    f"no Chromium is installed: none of {', '.join(NAMES)} is on the PATH. Install one (`apt-get install chromium`), "
    f"or name it: {VARIABLE}=/path/to/chromium"
)
# It calls nowhere by itself; /dev/shm is small in containers.
_SWITCHES = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


def find() -> str | None:
    """Return the path of the installed browser: of the one that WAYPOST_CHROMIUM names, else of the first found."""
    if named := os.environ.get(VARIABLE):
        return shutil.which(named)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@asynccontextmanager
async def launched(path: str) -> AsyncIterator[Browser]:
    """Run the browser. Root has no sandbox for it."""
    switches = [*_SWITCHES, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=switches)
        try:
            yield browser
        finally:
            await browser.close()
