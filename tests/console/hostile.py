"""What chains, tokens and nodes say is text: it runs and loads nothing, turns no text around it, widens nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_nft
from tests.console.board import until
from tests.console.filled import FILLED, read_collection, read_details
from tests.console.visits import NARROW, WIDE, Visits, settled

if TYPE_CHECKING:
    from playwright.async_api import Page

    from tests.console.visits import Visit

MARKUP = (
    "<img src=/ran-img onerror=recordViolation('ran')><svg onload=recordViolation('ran')></svg>"
    "<script>recordViolation('ran')</script><a href=javascript:recordViolation('ran')>link</a>"
)
LINKS = ("javascript:recordViolation('ran')", "data:text/html,<script>alert(1)</script>", "http://elsewhere.example/x")
TURNED = "\u202eevil\u2066\u200b\u2069\u200f\u0000\u0007"
LONG = "W" * 10_240
HOSTILE = MARKUP + TURNED + LONG
# Members of answers that strangers fill.
_SAID = {"name", "symbol", "title", "memo", "description", "message", "coin", "ticker", "pool", "version"}
_MAKE_HTML = """
() => {
  try { document.createElement('p').innerHTML = '<b>x</b>'; } catch (error) { return error.name; }
  return 'let in';
}
"""
_CONTROLS = r"""
() => {
  const controls = /[\u0000-\u0008\u000e-\u001f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === Node.TEXT_NODE) {
      if (controls.test(node.data)) found.push(`text: ${node.parentElement.outerHTML.slice(0, 200)}`);
      const isolated = node.parentElement.closest('bdi, pre, code, textarea, option, script, style');
      if (node.data.includes("recordViolation('ran')") && isolated === null)
        found.push(`not isolated: ${node.parentElement.outerHTML.slice(0, 200)}`);
    } else for (const { name, value } of node.attributes)
      if (name !== 'value' && controls.test(value)) found.push(`${name} of ${node.tagName}`);
  }
  for (const one of document.querySelectorAll('main :is(img, iframe, script, object, embed, style)'))
    found.push(one.outerHTML.slice(0, 200));
  for (const one of document.querySelectorAll('a[href]')) {
    const isSafe = one.protocol === 'https:' && one.rel.includes('noopener') && one.rel.includes('noreferrer');
    if (!isSafe && !one.href.startsWith(location.origin)) found.push(one.outerHTML.slice(0, 200));
  }
  return found;
}
"""


@pytest.mark.parametrize("section", ["chains", "operation", "wallet", "markets"])
async def test_what_strangers_say_is_text(visit: Visits, section: str) -> None:
    opened = await visit(FILLED[section].address, viewport=WIDE, prepare=lambda one: one.alter(fill_with_hostile_text))
    if section == "wallet":
        await read_details(opened, "ethereum")
        await read_collection(opened, known_nft.LIGHTHOUSES)
    else:
        await FILLED[section].fill(opened)
    await shown_as_text(opened)


async def test_errors_are_text_too(visit: Visits) -> None:
    def fail(method: str, params: Any, answer: dict[str, Any]) -> None:
        if method == "getHealth":
            return
        answer.pop("result", None)
        said = {"reason": MARKUP, "field": "address", "requestId": MARKUP}
        answer["error"] = {"code": 503, "message": HOSTILE, "data": said}

    for address in (FILLED["operation"].address, FILLED["wallet"].address, "#/markets", "#/usage"):
        opened = await visit(address, prepare=lambda one: one.alter(fail))
        if "getBalance" in address:
            await opened.page.get_by_role("button", name="Run", exact=True).click()
        await opened.page.get_by_role("alert").filter(has_text="recordViolation").first.wait_for()
        await shown_as_text(opened)


async def test_a_link_that_is_made_by_others_runs_nothing(visit: Visits) -> None:
    for hash_ in (
        f"#/{MARKUP}",
        f"#/wallet?address={MARKUP}",
        f"#/getBalance?chain={MARKUP}&address={TURNED}{LONG[:2000]}",
        f"#/operations?q={MARKUP}",
        "#/%E0%A4%A",
        "#/__proto__?constructor=1&__proto__=2",
        "#/getPrices?items=%7Bnot%20json",
    ):
        opened = await visit(hash_)
        await opened.heading()
        await settled(opened.page)
        await opened.page.set_viewport_size(NARROW)
        await opened.fits()


async def test_the_document_is_text_too(visit: Visits) -> None:
    async def prepare(opened: Visit) -> None:
        async def change(route: Any) -> None:
            response = await route.fetch()
            document = await response.json()
            for method in document["methods"]:
                method["summary"] = HOSTILE
                method["description"] = HOSTILE
                for param in method["params"]:
                    param["description"] = HOSTILE
            await route.fulfill(response=response, json=document)

        await opened.context.route("**/openrpc.json", change)

    opened = await visit(FILLED["operation"].address, prepare=prepare)
    await opened.heading("getBalance")
    await shown_as_text(opened)
    await opened.go("#/operations")
    await opened.heading("Operations")
    await shown_as_text(opened)


async def test_trusted_types_let_no_text_become_html(visit: Visits) -> None:
    opened = await visit()
    await opened.heading()
    refused = await opened.page.evaluate(_MAKE_HTML)
    assert refused == "TypeError"

    async def are_violated() -> bool:
        return bool(opened.violations)

    await until(are_violated, True)
    assert all("require-trusted-types-for" in one for one in opened.violations)
    opened.violations.clear()
    opened.errors.clear()


def fill_with_hostile_text(method: str, params: Any, answer: dict[str, Any]) -> None:
    """Put hostile text into everything that strangers name; links into what may be one."""
    if "result" in answer:
        answer["result"] = changed(answer["result"], method)


def changed(value: Any, method: str) -> Any:
    if isinstance(value, list):
        return [changed(one, method) for one in value]
    if not isinstance(value, dict):
        return value
    filled = {
        name: HOSTILE if name in _SAID and isinstance(one, str) else changed(one, method) for name, one in value.items()
    }
    if method == "getNftMetadata" and isinstance(filled.get("metadata"), dict):
        filled["metadata"] |= {
            "image": LINKS[0],
            "external_url": LINKS[1],
            "animation_url": LINKS[2],
            "attributes": [{"trait_type": HOSTILE, "value": HOSTILE}, {"trait_type": {}, "value": [MARKUP]}, None, 7],
        }
    if method == "getBalance" and "balanceRaw" in filled:
        filled |= {"symbol": HOSTILE, MARKUP: LINKS, "__proto__": TURNED}
    return filled


async def shown_as_text(opened: Visit) -> None:
    """Check what was made of hostile text, at both widths."""
    page: Page = opened.page
    assert "<img src=/ran-img" in await page.get_by_role("main").inner_text()
    assert await page.evaluate(_CONTROLS) == []
    for viewport in (NARROW, WIDE):
        await page.set_viewport_size(viewport)
        await opened.fits()
    assert not [one.url for one in opened.requests if "ran-img" in one.url]
    assert "ran" not in opened.violations
