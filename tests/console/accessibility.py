"""axe-core finds nothing against WCAG 2.2 A and AA in any section, in both themes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.filled import FILLED
from tests.console.visits import NARROW, STAGE, WIDE, Visits

if TYPE_CHECKING:
    from tests.console.visits import Visit

_AXE = Path(STAGE["axe"]).read_text()
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_RUN = "(tags) => axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })"


@pytest.mark.parametrize("section", FILLED)
async def test_a_section_with_its_content_violates_nothing(visit: Visits, section: str) -> None:
    # The page's own policy would let no script in that the gateway does not serve.
    opened = await visit(FILLED[section].address, bypass_csp=True, reduced_motion="reduce")
    await FILLED[section].fill(opened)
    await opened.page.evaluate(_AXE)
    found = []
    for viewport, theme in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light")):
        await opened.page.set_viewport_size(viewport)
        await opened.page.get_by_label("Theme").select_option(theme)
        # What is scrolled half under the bar is no target there.
        await opened.page.evaluate("scrollTo(0, 0)")
        found += [f"{theme} {viewport['width']}: {one}" for one in await violations(opened)]
    assert not found, "\n".join(found)


async def violations(opened: Visit) -> list[str]:
    """Return what is violated where, in a line each."""
    results: dict[str, Any] = await opened.page.evaluate(_RUN, _RULES)
    return [
        f"{one['id']} ({one['help']}): {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in results["violations"]
        for node in one["nodes"][:3]
    ]
