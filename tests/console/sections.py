"""Every section opens, in each width and theme, and is reached by links and by the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from tests.console.visits import NARROW, SECTIONS, WIDE, Visits, settled

if TYPE_CHECKING:
    from playwright.async_api import Page

_GROUND = "getComputedStyle(document.documentElement).backgroundColor"
_ANIMATIONS = "document.getAnimations().filter((one) => one.playState === 'running').length"


@pytest.mark.parametrize("section", SECTIONS)
async def test_a_section_opens_and_fits_both_widths_in_both_themes(visit: Visits, section: str) -> None:
    opened = await visit(f"#/{section}", viewport=NARROW, reduced_motion="reduce")
    await opened.heading()
    await expect(opened.page).to_have_title(f"{section.title()} · Waypost")
    await settled(opened.page)
    await opened.fits()
    grounds = set()
    for theme in ("light", "dark"):
        await opened.page.get_by_label("Theme").select_option(theme)
        grounds.add(await opened.page.evaluate(_GROUND))
        for viewport in (WIDE, NARROW):
            await opened.page.set_viewport_size(viewport)
            await opened.fits()
    assert len(grounds) == 2
    assert await opened.page.evaluate(_ANIMATIONS) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_theme_is_the_systems_until_another_is_chosen(visit: Visits, scheme: str) -> None:
    opened = await visit(color_scheme=scheme)
    other = {"light": "dark", "dark": "light"}[scheme]
    ground = await opened.page.evaluate(_GROUND)
    await opened.page.get_by_label("Theme").select_option(other)
    assert await opened.page.evaluate(_GROUND) != ground
    await opened.page.reload()
    await expect(opened.page.get_by_label("Theme")).to_have_value(other)
    await opened.page.get_by_label("Theme").select_option("system")
    assert await opened.page.evaluate(_GROUND) == ground


async def test_links_lead_to_sections_and_back(visit: Visits) -> None:
    opened = await visit()
    sections = opened.page.get_by_role("navigation", name="Sections")
    for section in SECTIONS[1:]:
        link = sections.get_by_role("link", name=section.title())
        await link.click()
        await opened.heading()
        await expect(link).to_have_attribute("aria-current", "page")
        assert opened.page.url.endswith(f"#/{section}")
    await opened.page.go_back()
    await expect(sections.get_by_role("link", name="Markets")).to_have_attribute("aria-current", "page")


async def test_the_keyboard_leads_everywhere(visit: Visits) -> None:
    opened = await visit()
    page = opened.page
    await opened.heading()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await page.keyboard.press("Shift+Tab")
    await until_focused(page, "Key:", "Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("API key")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Key:")).to_be_focused()
    await until_focused(page, "Markets", "Shift+Tab")
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await expect(page).to_have_title("Markets · Waypost")


async def until_focused(page: Page, name: str, key: str = "Tab", most: int = 60) -> None:
    """Press the key until what has the focus begins with this name."""
    for _ in range(most):
        if (await focused(page)).startswith(name):
            return
        await page.keyboard.press(key)
    raise AssertionError(f"{name} is not reached by {most} times {key}")


async def focused(page: Page) -> str:
    """Return the label of what has the focus, or its text."""
    label = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent"
    return str(await page.evaluate(f"({label} ?? document.activeElement.textContent).trim()"))
