"""One browser for all tests of the console; each page is a context of its own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from scripts.browser import launched
from tests.console.visits import STAGE, Visit, Visits, visiting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with launched(STAGE["chromium"]) as running:
        yield running


@pytest.fixture
async def visit(browser: Browser) -> AsyncIterator[Visits]:
    """Return what opens the page, as `visiting` does; what it must never do is looked for at the end.

    One that was opened before is closed: it would go on working beside the next.
    """
    async with AsyncExitStack() as stack:

        async def opened(address: str = "#/", **options: Any) -> Visit:
            await stack.aclose()
            return await stack.enter_async_context(visiting(browser, address, **options))

        yield opened
